"""The journal of a job: append-only, one synced line an event, so that nothing is ever redone."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rich.console import Console

from salesllm.errors import InputError
from salesllm.progress import progress

T = TypeVar("T")
Cell = tuple[str, ...]
"""What a line is about: one piece of the job's work."""


class Journal:
    """What a job has done so far. The latest line of a kind and cell is the one that holds.

    Only line offsets are kept in memory, so a journal of any length can be read back.

    Args:
        path: Made if it does not exist.
        header: What makes the job what it is. It is the first line; a journal with another one
            belongs to another job.
        anew: Throw away whatever is there.
        fix: What to do about a journal of another job.

    Raises:
        InputError: The journal is another job's, is damaged other than by a torn last line, or
            another process is writing to it.
    """

    def __init__(
        self,
        path: Path,
        header: Mapping[str, Any],
        *,
        anew: bool = False,
        fix: str = "Choose another output_dir, or pass --overwrite true to start anew",
    ) -> None:
        self.path, self._fix = path, fix
        self._latest: dict[tuple[str, Cell], tuple[int, bool]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        try:
            self._lock()
            if anew:
                self._file.truncate(0)
            self._load(json.loads(json.dumps(header)))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, kind: str, cell: Cell, *, ok: bool, **content: Any) -> None:
        """Writes a line and waits until the disk has it.

        Args:
            ok: False marks a failure, which is kept for the record and tried again later.
        """
        offset = self._write({"kind": kind, "cell": cell, "ok": ok, **content})
        self._latest[kind, cell] = offset, ok

    def done(self, kind: str, cell: Cell) -> bool:
        return self._latest.get((kind, cell), (0, False))[1]

    def has(self, kind: str, cell: Cell) -> bool:
        """Whether there is a line at all, if only of a failure."""
        return (kind, cell) in self._latest

    def get(self, kind: str, cell: Cell) -> dict[str, Any] | None:
        """The latest line, failures included; None where there is none."""
        if (kind, cell) not in self._latest:
            return None
        self._file.seek(self._latest[kind, cell][0])
        return dict(json.loads(self._file.readline()))

    def cells(self, kind: str) -> list[Cell]:
        """Every cell with a line of this kind, failures included, in the order of first lines."""
        return [cell for found, cell in self._latest if found == kind]

    def kinds(self) -> set[str]:
        """Every kind of line there is."""
        return {kind for kind, _ in self._latest}

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every line but the header, also those that later ones have replaced."""
        self._file.seek(0)
        self._file.readline()
        for line in self._file:
            yield dict(json.loads(line))

    def adopt(self, other: Journal) -> int:
        """Takes over what another journal of the same job has done and this one has not.

        Returns:
            How many lines that were.
        """
        taken = 0
        for kind, cell in other._latest:
            if other.done(kind, cell) and not self.done(kind, cell):
                entry = other.get(kind, cell)
                assert entry is not None  # it is done
                self._latest[kind, cell] = self._write(entry, sync=False), True
                taken += 1
        self._file.flush()
        os.fsync(self._file.fileno())
        return taken

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem, fix = "another process is running this job", "Wait for it, or stop it"
            raise InputError(problem, path=self.path, fix=fix) from None

    def _load(self, header: dict[str, Any]) -> None:
        self._file.seek(0)
        offset = 0
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):  # the process was killed while writing it
                self._file.truncate(offset)
                break
            try:
                entry = json.loads(line)
                if number == 1:
                    changed = list(changes(entry["header"], header))
                else:
                    # Names recur in thousands of cells: each is kept once.
                    cell = tuple(map(sys.intern, entry["cell"]))
                    self._latest[sys.intern(entry["kind"]), cell] = offset, entry["ok"]
            except (ValueError, TypeError, KeyError):
                problem, fix = "not a line of a journal", "Remove the line"
                raise InputError(problem, path=self.path, line=number, fix=fix) from None
            if number == 1 and changed:
                raise InputError(
                    f"the folder holds another run: {changed[0]}",
                    path=self.path,
                    fix=self._fix,
                )
            offset += len(line)
        if offset == 0:
            self._write({"header": header})

    def _write(self, entry: Mapping[str, Any], *, sync: bool = True) -> int:
        offset = self._file.seek(0, os.SEEK_END)
        self._file.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
        if sync:
            self._file.flush()
            os.fsync(self._file.fileno())
        return offset


class Done(NamedTuple):
    """One piece of work as `fill` writes it down; one that is not `ok` is tried again later."""

    ok: bool
    content: Mapping[str, Any]


def fill(
    journal: Journal,
    kind: str,
    work: Mapping[Cell, T],
    do: Callable[[T], Awaitable[Done]],
    *,
    concurrency: int,
    console: Console,
    name: str | Callable[[], str],
) -> int:
    """Does what the journal does not have yet, `concurrency` pieces at a time.

    Args:
        work: Cell to whatever `do` needs to know of it.
        name: What the progress display calls it, or what says it each time anew.

    Returns:
        How many of all the pieces have failed.
    """
    todo = [cell for cell in work if not journal.done(kind, cell)]

    async def complete() -> None:
        queue = iter(todo)

        async def worker() -> None:
            for cell in queue:
                ok, content = await do(work[cell])
                journal.append(kind, cell, ok=ok, **content)
                advance(failed=not ok)

        await asyncio.gather(*(worker() for _ in range(min(concurrency, len(todo)))))

    with progress(console, name, len(work), len(work) - len(todo)) as advance:
        asyncio.run(complete())
    return sum(not journal.done(kind, cell) for cell in work)


def changes(old: Any, new: Any, key: str = "") -> Iterator[str]:
    """Every difference of two JSON values, as a phrase."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            inner = f"{key}.{name}" if key else name
            yield from changes(old.get(name), new.get(name), inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from changes(*pair, f"{key}.{index}")
    elif old != new:
        yield f"`{key}` was {_short(old)} and is {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
