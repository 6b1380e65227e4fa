"""JSON, JSONL and whole-file writing: strict on the way in, all-or-nothing on the way out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

from salesllm.errors import InputError


def read_jsonl(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields (1-based line number, object) for every non-blank line.

    Raises:
        InputError: The file is missing, empty or not UTF-8, a line is not a JSON object, or a text
            in it has half of a surrogate pair, which no tokenizer and no file takes.
    """
    for number, text in read_lines(path):
        try:
            yield number, json_object(text)
        except InputError as error:
            raise error.at(path, number) from None


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yields (1-based line number, text) for every non-blank line.

    Raises:
        InputError: The file is missing, a folder, empty or not UTF-8.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError("a folder, not a file", path=path, fix="Name a file in it")
    if not path.is_file():
        raise InputError("no such file", path=path, fix="Check the path")
    empty = True
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    empty = False
                    yield number, text
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
def all_or_none(paths: Iterable[Path]) -> Iterator[None]:
    """Removes these files, none of which was there before, where not all of them get written."""
    with ExitStack() as undo:
        for path in paths:
            undo.callback(path.unlink, missing_ok=True)
        yield
        undo.pop_all()


class FinishedRun(InputError):
    """The refusal of an output folder in which nothing is left to do."""


def finished_run(folder: str | Path, otherwise: str = "") -> FinishedRun:
    """The refusal of this folder.

    Args:
        otherwise: What else the user may do, added to the advice.
    """
    fix = f"Choose another output_dir, or pass --overwrite true{otherwise}"
    problem = "the folder already holds a finished run"
    return FinishedRun(problem, path=folder, field="output_dir", fix=fix)


def claim_folder(folder: str | Path, overwrite: bool) -> Path:
    """The `summary.json` that a job writes last; on `overwrite` an old one is removed first.

    Raises:
        InputError: The folder holds a finished run.
    """
    summary = Path(folder) / "summary.json"
    if summary.exists() and not overwrite:
        raise finished_run(folder)
    summary.unlink(missing_ok=True)
    return summary


def json_object(text: str) -> dict[str, Any]:
    """The object that one line holds.

    Raises:
        InputError: It is not one, or has a text or number that nothing downstream takes.
    """
    fix = "Write one JSON object a line"
    try:
        value = json.loads(text)
        field = _half_character(value) if "\\u" in text else None  # only an escape can write one
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg} at column {error.colno}", fix=fix) from None
    except RecursionError:
        raise InputError("not read: it is nested too deeply", fix="Flatten the record") from None
    except ValueError:
        raise InputError("not read: it has a number of too many digits", fix="Correct it") from None
    if field is not None:
        problem = "has half of a surrogate pair (\\ud800 to \\udfff), which is not a character"
        raise InputError(problem, field=field or None, fix="Remove it, or write the whole pair")
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object, found {text.strip()[:20]}", fix=fix)
    return value


def _half_character(value: Any, field: str = "") -> str | None:
    """Dotted name of the first text that cannot be encoded; None without one."""
    if isinstance(value, str):
        return field if any("\ud800" <= character <= "\udfff" for character in value) else None
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        if (found := _half_character("".join(value), field)) is not None:
            return found
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    inner = (_half_character(item, f"{field}.{name}".lstrip(".")) for name, item in items)
    return next((found for found in inner if found is not None), None)


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


def jsonl(rows: Iterable[dict[str, Any]]) -> str:
    """One object a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


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
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", path=path) from None


def digest(value: Any) -> str:
    """SHA-256 of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def sha256(path: str | Path) -> str:
    """Hex digest of a file's bytes: the fingerprint that results carry of the data they used."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_CHECKPOINT = (
    "*.safetensors", "*config.json", "customerlm.json", "tokenizer*", "*.jinja", "vocab*",
    "merges.txt",
)  # fmt: skip


def checkpoint_sha256(folders: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of every file of the checkpoints that an answer or a score depends on."""
    files = {file for folder in folders for name in _CHECKPOINT for file in folder.glob(name)}
    return {str(file): sha256(file) for file in sorted(files)}


def require_model(source: str | Path, field: str | None = None) -> None:
    """Refuses what is neither a folder nor, by its form, a model on the Hub.

    The Hub's form is `owner/name`, which most relative paths have as well: where `owner` is a
    folder here, a mistyped path is likelier. Nothing is looked up.

    Raises:
        InputError: It names no model.
    """
    owner, _, name = str(source).partition("/")
    on_the_hub = name and "/" not in name and owner not in ("", ".", "..", "~")
    if Path(source).is_dir() or (on_the_hub and not Path(owner).is_dir()):
        return
    fix = "Check the path, or give the id of a model on the Hub as owner/name"
    if on_the_hub:
        fix = f"Check the path; `{owner}` is a folder here, so this is not looked up on the Hub"
    raise InputError("no such folder", path=source, field=field, fix=fix)
