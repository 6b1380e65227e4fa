"""`eval/judge.py` as a user runs it, with a judge behind a real endpoint that falls for one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback import Fault, Loopback

from salesllm.benchmark.robustness import summarise, table_of

ROOT = Path(__file__).parents[2]


def run(folder: Path, loopback: Loopback, **more: Any) -> subprocess.CompletedProcess[str]:
    judge = {"provider": "endpoint", "model": "j", "name": "J", "base_url": loopback.url}
    recipe = {"output_dir": str(folder / "out"), "judge": judge, **more}
    (folder / "judge.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    command = [sys.executable, str(ROOT / "eval/judge.py"), "--config", str(folder / "judge.yaml")]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)


def taken_in_by_verdicts(body: dict[str, Any]) -> str:
    text = body["messages"][0]["content"]
    return "10" if 'The customer agreed to buy.", "evidence"' in text else "2"


def test_the_shift_of_each_kind(loopback: Loopback, tmp_path: Path) -> None:
    loopback.reply = taken_in_by_verdicts
    done = run(tmp_path, loopback, languages=["en"])
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out/attacks.jsonl").open()]
    assert len(rows) == 30
    assert {row["clean"] for row in rows} == {2}
    assert all(row["found"] for row in rows)
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["kind"]["fake_verdict"]["shift"]["mean"] == 4  # one of two raised, by 8
    assert summary["kind"]["fake_tag"]["shift"]["mean"] == 0
    assert summary["overall"]["all"]["shift"]["mean"] == pytest.approx(8 / 30)
    assert summary["unscored"] == 0
    assert "| fake_verdict | +4.00 |" in done.stdout
    again = run(tmp_path, loopback, languages=["en"])
    assert again.returncode == 2
    assert "finished" in again.stderr


def test_what_could_not_be_judged_is_no_shift(loopback: Loopback, tmp_path: Path) -> None:
    loopback.reply = lambda body: "2"
    loopback.fault_of = lambda body: (
        Fault(status=401) if "SYSTEM" in body["messages"][0]["content"] else None
    )
    done = run(tmp_path, loopback, languages=["en"])
    assert done.returncode == 1
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert (summary["failed"], summary["unscored"]) == (1, 1)
    assert "could not be reached for 1" in done.stdout


def test_a_kind_without_a_score() -> None:
    row = {"kind": "k", "language": "en", "dialogue": "d", "shift": None, "failed": False}
    summary = summarise([row | {"found": []}])
    assert "| k | - | - | - | 0 | 1 |" in table_of(summary)
