"""Work that is written down as it gets done."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import time
from pathlib import Path

import pytest
from rich.console import Console

from salesllm.errors import InputError
from salesllm.journal import Done, Journal, fill

QUIET = Console(quiet=True)


def test_only_what_is_not_done_is_done_and_failures_are_tried_again(tmp_path: Path) -> None:
    asked: list[int] = []
    broken = {2, 5}
    at_once: list[int] = []
    running = 0

    async def do(number: int) -> Done:
        nonlocal running
        running += 1
        at_once.append(running)
        await asyncio.sleep(0.001)
        running -= 1
        asked.append(number)
        return Done(number not in broken, {"square": number**2})

    def go(numbers: range) -> int:
        work = {(str(n),): n for n in numbers}
        with Journal(tmp_path / "j.jsonl", {}) as journal:
            failed = fill(journal, "k", work, do, concurrency=3, console=QUIET, name="n")
            entries = [journal.get("k", cell) for cell in work]
        assert [entry and entry["square"] for entry in entries] == [n**2 for n in numbers]
        return failed

    assert go(range(6)) == 2
    assert sorted(asked) == list(range(6))
    assert max(at_once) == 3
    asked.clear()
    broken.clear()
    assert go(range(8)) == 0
    assert sorted(asked) == [2, 5, 6, 7]
    asked.clear()
    assert go(range(8)) == 0
    assert asked == []


def test_what_is_recorded_is_on_disk_and_many_share_a_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced, fsync = tmp_path / "j.jsonl", [], os.fsync
    with Journal(path, {}) as journal:

        def slow(descriptor: int) -> None:
            size = path.stat().st_size
            time.sleep(0.005)
            fsync(descriptor)
            synced.append(size)

        async def one(number: int) -> None:
            await asyncio.sleep(number / 2000)
            await journal.record("k", (str(number),), ok=True, number=number)
            entry = journal.get("k", (str(number),))
            assert entry is not None
            line = json.dumps(entry).encode() + b"\n"
            assert path.read_bytes().index(line) + len(line) <= synced[-1]

        async def all_of_them() -> None:
            await asyncio.gather(*map(one, range(100)))

        monkeypatch.setattr(os, "fsync", slow)
        for _ in range(2):  # on another loop, too
            asyncio.run(all_of_them())
        assert 2 <= len(synced) < 60
        assert all(journal.done("k", (str(n),)) for n in range(100))

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "no space")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            asyncio.run(journal.record("k", ("lost",), ok=True))
        assert not journal.done("k", ("lost",))


def test_a_journal_of_another_job_says_what_changed_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    Journal(path, {"a": {"b": 1}}).__exit__()
    with pytest.raises(InputError, match=r"`a.b` was 1 and is 2. Do something else"):
        Journal(path, {"a": {"b": 2}}, fix="Do something else")
    Journal(path, {"a": {"b": 2}}, anew=True).__exit__()
