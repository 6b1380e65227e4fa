"""Raters that fail, or say what fits in no file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from loopback import Fault, Loopback
from runs import actor, run, values_of

from salesllm.files import read_jsonl


@pytest.fixture
def values(tmp_path: Path, actors: Loopback) -> dict[str, Any]:
    return values_of(tmp_path, actors.url)


def test_an_auditor_that_fails_takes_no_score_away(
    values: dict[str, Any], actors: Loopback
) -> None:
    price = {"price": {"input": 1000.0, "output": 0.0}}
    values["grounding"] = values["judge"] | {"name": "auditor", "model": "auditor"} | price
    values["judge_attempts"] = 1
    verdict = json.dumps({"unauthorised": False, "items": []})

    def half_read(body: dict[str, Any]) -> str:
        if body["model"] == "judge" and "kettle" in body["messages"][0]["content"]:
            return "A fine talk!"
        return verdict if body["model"] == "auditor" else actor(body)

    actors.reply = half_read
    actors.fault_of = lambda body: Fault(status=403) if body["model"] == "auditor" else None
    summary = run(values)
    assert summary["incomplete"] == 12
    notes = " ".join(summary["notes"])
    assert "12 dialogues are not checked for unauthorised concessions" in notes
    assert "The judge gave 6 finished dialogues no score." in notes
    assert "The judge failed" not in notes
    assert summary["results"]["A"]["C"]["overall"]["selling"]["n"] == 3

    actors.fault_of = lambda body: None
    actors.requests.clear()
    checked = run(values | {"judge": "rules"})
    assert {body["model"] for body in actors.requests} == {"auditor"}
    assert checked["incomplete"] == 0
    assert checked["cost"]["grounding"] == {"auditor": pytest.approx(12 * 11 / 1000)}
    assert "judge" not in checked["cost"]


def test_half_a_character_stops_no_run(values: dict[str, Any], actors: Loopback) -> None:
    cut = '{"score": 5, "reason": "so nice \\ud83d", "evidence": ["\\ud83d"]}'
    actors.reply = lambda body: cut if body["model"] == "judge" else actor(body)
    summary = run(values)
    assert summary["incomplete"] == 0
    rows = [row for _, row in read_jsonl(Path(values["output_dir"]) / "scores.jsonl")]
    assert {row["selling_reason"] for row in rows} == {"so nice ?"}
