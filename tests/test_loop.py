"""The loop that jobs with many calls in flight run on."""

from __future__ import annotations

import asyncio
import gc
import resource
import sys

import pytest

from salesllm import loop


async def _what_holds() -> tuple[str, int, tuple[int, int]]:
    module = type(asyncio.get_running_loop()).__module__
    return module, gc.get_threshold()[0], resource.getrlimit(resource.RLIMIT_NOFILE)


def test_what_holds_within_and_after() -> None:
    pytest.importorskip("uvloop")
    before = gc.get_threshold(), gc.get_freeze_count()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1] // 2, limits[1]))
    module, threshold, files = loop.run(_what_holds())
    assert module.partition(".")[0] == "uvloop"
    assert threshold > before[0][0]
    assert files == (limits[1], limits[1])
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_without_uvloop_and_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop.run(_what_holds())[0].startswith("asyncio.")

    async def fails() -> None:
        raise KeyError("x")

    before = gc.get_threshold()
    with pytest.raises(KeyError):
        loop.run(fails())
    assert gc.get_threshold() == before
