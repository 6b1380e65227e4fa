"""JSON, JSONL and whole-file writing: strict on the way in, all-or-nothing on the way out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from salesllm.errors import InputError


def read_jsonl(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields (1-based line number, object) for every non-blank line.

    Raises:
        InputError: The file is missing, empty or not UTF-8, or a line is not a JSON object.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError("no such file", path=path, fix="Check the path")
    empty = True
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, text in enumerate(file, start=1):
                if not text.strip():
                    continue
                empty = False
                try:
                    value = json.loads(text)
                except json.JSONDecodeError as error:
                    problem = f"not JSON: {error.msg} at column {error.colno}"
                    fix = "Write one JSON object a line"
                    raise InputError(problem, path=path, line=number, fix=fix) from None
                if not isinstance(value, dict):
                    problem = f"expected a JSON object, found {type(value).__name__}"
                    raise InputError(problem, path=path, line=number)
                yield number, value
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: {error.reason}", path=path, fix="Save it as UTF-8") from None
    if empty:
        raise InputError("the file is empty", path=path, fix="Give a file with at least one line")


def refuse_existing(path: str | Path, field: str) -> None:
    """Raises InputError where a file would be written over: it may have been edited by hand."""
    if Path(path).exists():
        fix = f"Choose another --{field}, or move the file away"
        raise InputError("the file exists", path=path, field=field, fix=fix)


@contextmanager
def atomic_open(path: str | Path) -> Iterator[TextIO]:
    """A text file that appears under its name only once it is complete and synced."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with atomic_open(path) as file:
        file.write(text)


def write_json(path: str | Path, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def write_jsonl(path: str | Path, rows: Iterable[dict[str, Any]]) -> int:
    """Writes one object a line and returns how many there were."""
    count = 0
    with atomic_open(path) as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def read_json(path: str | Path) -> Any:
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", path=path, fix="Check the path") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not JSON: {error}", path=path) from None


def sha256(path: str | Path) -> str:
    """Hex digest of a file's bytes: the fingerprint that results carry of the data they used."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
