"""Runs coroutines the way thousands of calls in flight want it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_COLLECT_AFTER = (50_000, 20, 100)
"""Python's default, 700 new objects, is a few calls: at 2,000 dialogues, 40 % of the CPU time."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, on uvloop where that is installed.

    Meanwhile the garbage collector leaves alone what was there before, and comes by less often;
    and the process may open as many files as the system allows, for every call in flight is an
    open connection.
    """
    _open_files()
    with _patient_collector(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(main)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


@contextlib.contextmanager
def _patient_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _open_files() -> None:
    """Raises the limit of a shell, which is often 1,024, to that of the system."""
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # macOS names a limit that it does not grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
