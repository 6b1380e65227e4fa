"""Progress of a long job: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_PLAIN_SECONDS = 10.0


class Advance(Protocol):
    """Called with how many items got done since the last call, and how many of those failed."""

    def __call__(self, count: int = 1, failed: int = 0) -> None: ...


@contextmanager
def progress(
    console: Console, name: str | Callable[[], str], total: int, done: int = 0
) -> Iterator[Advance]:
    """Shows `name` and how far it is; yields what to call as items get done.

    Args:
        name: What is shown, or what says it each time anew.
    """
    lost, last = 0, time.monotonic()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    bar = Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    )

    def text() -> str:
        return (name if isinstance(name, str) else name()) + (f", {lost} failed" if lost else "")

    def advance(count: int = 1, failed: int = 0) -> None:
        nonlocal lost, done, last
        done, lost = done + count, lost + failed
        bar.update(task, completed=done, description=text())
        now = time.monotonic()
        if not console.is_terminal and (done == total or now - last >= _PLAIN_SECONDS):
            last = now
            console.print(f"{text()}: {done}/{total}", markup=False, highlight=False)

    with bar:
        task = bar.add_task(text(), total=total, completed=done)
        yield advance
