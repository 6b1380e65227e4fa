"""Runs that are stopped, killed, continued, grown, or cut into shards."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback
from runs import SCENARIOS, results, run, script, values_of
from scenes import scene

from salesllm.errors import InputError
from salesllm.files import read_jsonl
from salesllm.journal import Journal
from salesllm.scenario import write_scenarios


@pytest.fixture
def values(tmp_path: Path, actors: Loopback) -> dict[str, Any]:
    return values_of(tmp_path, actors.url)


def test_stopped_before_its_summary_it_asks_nobody(
    values: dict[str, Any], actors: Loopback
) -> None:
    first, asked = run(values), len(actors.requests)
    moved = Path(values["output_dir"]).rename(Path(values["scenarios"]).parent / "moved")
    (moved / "summary.json").unlink()
    again = run(values | {"output_dir": moved, "concurrency": 1})
    assert len(actors.requests) == asked
    assert again["results"] == first["results"]


def test_a_finished_run_is_left_alone(values: dict[str, Any], tmp_path: Path) -> None:
    run(values)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in contents(tmp_path)}
    command = script(values, "--concurrency", "1")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "already holds a finished run" in done.stderr
    assert "change judge, intent or alpha to score its dialogues anew" in done.stderr
    assert before == {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in contents(tmp_path)}

    (tmp_path / "out" / "journal.jsonl").unlink()  # as in the folder of a training
    with pytest.raises(InputError, match=r"finished run.*--overwrite true\.$"):
        run(values)


@pytest.mark.parametrize("damaged", ["{", "{}", "[]"])
def test_a_damaged_summary_is_made_anew(
    values: dict[str, Any], actors: Loopback, tmp_path: Path, damaged: str
) -> None:
    whole = run(values)
    (tmp_path / "out" / "summary.json").write_text(damaged)
    actors.requests.clear()
    assert run(values)["results"] == whole["results"]
    assert actors.requests == []


def test_killed_in_the_middle_nothing_is_lost_and_nothing_redone(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    calm = values | {"output_dir": str(tmp_path / "calm")}
    run(calm)
    actors.delay = 0.04
    values["concurrency"] = 2
    journal = tmp_path / "out" / "journal.jsonl"
    finished: set[tuple[str, ...]] = set()
    for kill in itertools.count():
        actors.requests.clear()
        process = subprocess.Popen(script(values), stdout=subprocess.DEVNULL)
        want, deadline = len(finished) + 3, time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            if kill < 3 and len(_finished(journal)) >= want:
                process.send_signal(signal.SIGKILL)
                process.wait()
            time.sleep(0.005)
        # Whatever was finished before this attempt was left alone by it.
        assert len(actors.requests) <= 5 * (12 - len(finished))  # four messages, one judgement
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        before, finished = finished, _finished(journal)
        assert before < finished
        with journal.open("ab") as file:  # as if the kill had come in the middle of a line
            file.write(b'{"kind": "dialogue", "cell": ["A", "C", "en-')
    assert kill == 3
    assert results(tmp_path / "out") == results(tmp_path / "calm")
    entries = [entry for _, entry in read_jsonl(journal)][1:]
    ends = Counter((e["kind"], *e["cell"]) for e in entries if e["kind"] != "speaker")
    assert set(ends.values()) == {1}
    assert len(ends) == 24


def _finished(journal: Path) -> set[tuple[str, ...]]:
    """Cells that have been both simulated and judged, by the whole lines of the journal."""
    if not journal.exists():
        return set()
    lines = journal.read_bytes().split(b"\n")[1:-1]
    entries = [json.loads(line) for line in lines]
    return {tuple(e["cell"]) for e in entries if e["kind"].startswith("selling")}


def test_overwrite_starts_anew(values: dict[str, Any], actors: Loopback) -> None:
    run(values)
    asked = len(actors.requests)
    with pytest.raises(InputError, match=r"`recipe\.rounds` was 4 and is 3"):
        run(values | {"rounds": 3})
    assert len(actors.requests) == asked
    assert run(values | {"rounds": 3, "overwrite": True})["rounds"] == 3
    assert len(actors.requests) > asked


def test_changed_scenarios_do_not_mix_with_old_results(values: dict[str, Any]) -> None:
    run(values)
    write_scenarios(values["scenarios"], [*SCENARIOS[:-1], scene("zh", 7)])
    with pytest.raises(InputError, match="another run: `scenarios_sha256` was"):
        run(values)


def test_one_journal_has_one_writer(tmp_path: Path) -> None:
    path, cell = tmp_path / "journal.jsonl", ("a", "b", "c")
    with Journal(path, {"x": 1}) as journal:
        with pytest.raises(InputError, match="another process is running"):
            Journal(path, {"x": 1})
        journal.append("dialogue", cell, ok=False)
        journal.append("dialogue", cell, ok=True, text="你好")
    with Journal(path, {"x": 1}) as journal:
        assert journal.done("dialogue", cell)
        assert journal.get("dialogue", cell) == {
            "kind": "dialogue", "cell": ["a", "b", "c"], "ok": True, "text": "你好"
        }  # fmt: skip
        assert journal.get("selling", cell) is None
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{}\n", *lines[1:]]))
    with pytest.raises(InputError, match=r"journal.jsonl:2: not a line of a journal"):
        Journal(path, {"x": 1})
    path.write_bytes(lines[0][:10])  # killed while writing the very first line
    with Journal(path, {"x": 2}):
        assert len(path.read_bytes().splitlines()) == 1


def contents(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "out").iterdir())


def test_a_run_may_grow(values: dict[str, Any], actors: Loopback) -> None:
    small = values | {"salespeople": values["salespeople"][:1], "limit": 1}
    assert run(small)["cells"] == 2
    assert len(actors.requests) == 2 * 5
    assert run(values)["cells"] == 12
    assert len(actors.requests) == 12 * 5
    assert run(values | {"repeats": 2})["cells"] == 24
    assert len(actors.requests) == 24 * 5
    assert run(small)["cells"] == 2  # and be looked at in part
    assert len(actors.requests) == 24 * 5


def test_nobody_in_a_run_becomes_somebody_else(values: dict[str, Any], actors: Loopback) -> None:
    run(values)
    other = [values["salespeople"][0] | {"model": "buyer"}, values["salespeople"][1]]
    with pytest.raises(InputError, match=r"salespeople\.A\.speaker\.model` was \"seller\""):
        run(values | {"salespeople": other})
    asked = len(actors.requests)
    moved = [spec | {"timeout": 9.0, "concurrency": 3} for spec in values["salespeople"]]
    with pytest.raises(InputError, match="finished run"):
        run(values | {"salespeople": moved})
    assert len(actors.requests) == asked


def test_repeats_draw_anew(values: dict[str, Any], actors: Loopback) -> None:
    run(values | {"repeats": 2, "limit": 1, "salespeople": values["salespeople"][:1]})
    seeds = [body["seed"] for body in actors.requests if body["model"] == "buyer"]
    assert len(seeds) == len(set(seeds)) == 2 * 2 * 2


def test_shards_make_up_the_run(values: dict[str, Any], actors: Loopback, tmp_path: Path) -> None:
    whole = values | {"output_dir": str(tmp_path / "whole")}
    run(whole)
    for part in (1, 2, 3):
        assert run(values | {"shard": f"{part}/3"})["cells"] == 4
    folders = [str(tmp_path / "out" / f"shard-{part}-of-3") for part in (1, 2, 3)]
    actors.requests.clear()
    merged = run(values | {"merge": folders[:2]})
    assert (merged["cells"], merged["untried"]) == (12, 4)
    merged = run(values | {"merge": folders})
    assert (merged["untried"], merged["incomplete"]) == (0, 0)
    assert results(tmp_path / "out") == results(tmp_path / "whole")
    assert actors.requests == []
    with pytest.raises(InputError, match="there is no journal"):
        run(values | {"merge": [str(tmp_path)], "overwrite": True})
    with pytest.raises(InputError, match=r"another run: `recipe\.rounds` was 4 and is 3"):
        run(values | {"merge": folders, "overwrite": True, "rounds": 3})
