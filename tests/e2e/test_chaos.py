"""A benchmark on an endpoint that fails a fifth of its calls, killed five times on the way."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from loopback import Fault, Loopback
from runs import CANARY, actor, script, values_of
from scenes import scene

from salesllm.files import read_json, read_jsonl
from salesllm.scenario import write_scenarios

pytestmark = pytest.mark.e2e

SHARE, KILLS, SCENARIOS = 0.2, 5, 40
TROUBLE = [
    Fault(status=429, retry_after="0.1"), Fault(status=500), Fault(status=503),
    Fault("stall", seconds=20.0), Fault("cut"), Fault("truncated"), Fault("malformed"),
    Fault("empty"), None,
]  # fmt: skip
"""None stands for a reply in the wrong role: with a speaker's tag, or going on as the other one."""


class Chaos:
    """Decides over every call. `calls` and `faults` count what came and what went wrong."""

    def __init__(self) -> None:
        self.rng, self.calls, self.faults = random.Random(0), 0, Counter[str]()
        self._wrong_role: set[int] = set()

    def fault_of(self, body: dict[str, Any]) -> Fault | None:
        self.calls += 1
        if self.rng.random() >= SHARE:
            return None
        fault = self.rng.choice(TROUBLE)
        if fault is None:
            self._wrong_role.add(id(body))
        self.faults["wrong role" if fault is None else f"{fault.kind} {fault.status}"] += 1
        return fault

    def reply(self, body: dict[str, Any]) -> str:
        text = actor(body)
        if id(body) not in self._wrong_role or body["model"] == "judge":
            return text
        self._wrong_role.discard(id(body))
        own, other = ("Salesperson", "Customer")[:: 1 if body["model"] == "seller" else -1]
        if self.rng.random() < 0.5 or "[END]" in text:
            return f"{own}: {text}"
        return f"{text}\n{other}: Fine.\n{own}: Good."


@pytest.fixture
def values(tmp_path: Path, actors: Loopback) -> dict[str, Any]:
    """2 salespeople x 2 customers x 40 scenarios."""
    values = values_of(tmp_path, actors.url)
    scenes = [scene(language, n) for n in range(SCENARIOS // 2) for language in ("en", "zh")]
    write_scenarios(tmp_path / "scenarios.jsonl", scenes)
    values["customers"].append(values["customers"][0] | {"name": "D"})
    values["grounding"] = values["judge"] | {"name": "auditor", "model": "auditor"}
    return values | {"concurrency": 32}


def rows_of(out: Path) -> dict[str, dict[str, Any]]:
    """What every dialogue came to, without what trouble may cost: tokens, and stripped tags."""
    rows = [row for _, row in read_jsonl(out / "scores.jsonl")]
    assert len({row["id"] for row in rows}) == len(rows)
    aside = ("usage", "cost", "cleaned")
    return {row["id"]: {k: v for k, v in row.items() if k not in aside} for row in rows}


def test_every_scenario_ends_once_and_as_on_a_calm_day(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    verdict = json.dumps({"unauthorised": False, "items": []})
    calm_reply = lambda body: verdict if body["model"] == "auditor" else actor(body)  # noqa: E731
    actors.reply = calm_reply
    calm = values | {"output_dir": str(tmp_path / "calm")}
    assert subprocess.run(script(calm), capture_output=True, check=False).returncode == 0

    chaos = Chaos()
    actors.fault_of = chaos.fault_of
    actors.reply = lambda body: verdict if body["model"] == "auditor" else chaos.reply(body)
    out, said = tmp_path / "out", b""
    for _ in range(KILLS):
        process = subprocess.Popen(script(values), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        reached = chaos.calls + chaos.rng.randint(60, 200)
        while process.poll() is None and chaos.calls < reached:
            time.sleep(0.002)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGKILL)
        said += process.communicate()[0]
        assert not (out / "summary.json").exists()
    for _ in range(10):
        done = subprocess.run(script(values), capture_output=True, check=False)
        said += done.stdout + done.stderr
        if done.returncode == 0:
            break
        assert done.returncode == 1, done.stderr  # somebody broke down; the next try may do
    assert done.returncode == 0

    assert sum(chaos.faults.values()) > 0.15 * chaos.calls
    assert len(chaos.faults) == len(TROUBLE), chaos.faults
    assert rows_of(out) == rows_of(tmp_path / "calm")
    stormy, quiet = read_json(out / "summary.json"), read_json(tmp_path / "calm" / "summary.json")
    assert stormy["results"] == quiet["results"]
    assert stormy["leaderboard"] == quiet["leaderboard"]
    assert stormy["failures"] == 0
    lines = [entry for _, entry in read_jsonl(out / "journal.jsonl") if "cell" in entry]
    ends = Counter((e["kind"], *e["cell"]) for e in lines if e["ok"] and e["kind"] != "speaker")
    assert set(ends.values()) == {1}
    assert len(ends) == 3 * 4 * SCENARIOS  # a dialogue, a judgement and an audit each

    everything = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert CANARY.encode() not in said + everything
