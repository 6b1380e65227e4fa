"""The quickstart, whole, on a fraction of its data: every stage on the real scripts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def command(folder: Path, scale: str = "0.1") -> list[str]:
    run = [sys.executable, "-m", "salesllm.cli", "quickstart"]
    return [*run, "--output_dir", str(folder), "--scale", scale]


def quickstart(folder: Path, scale: str = "0.1") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(folder, scale), capture_output=True, text=True)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quickstart")
    done = quickstart(folder)
    assert done.returncode == 0, done.stderr
    return folder


def summary_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "summary.json").read_text()))


def test_every_figure_is_there_under_its_key(finished: Path) -> None:
    summary = summary_of(finished)
    assert summary["seconds"] > 0
    assert set(summary["role_inversion"]) == {"base", "sft", "dpo", "reference"}
    for rate in summary["role_inversion"].values():
        assert 0 <= rate["low"] <= rate["rate"] <= rate["high"] <= 1
        assert rate["turns"] > 0
    for stage in ("base", "sft", "dpo"):
        assert {"bleu4", "rouge1", "rouge2", "rougeL", "cosine"} <= set(summary["likeness"][stage])
        assert set(summary["benchmark"][stage]) == {"buying", "selling", "final"}
    for language in ("zh", "en"):
        assert {"accuracy", "f1", "n"} <= set(summary["intent"][language])


def test_stages_follow_from_one_another(finished: Path) -> None:
    summary = summary_of(finished)
    assert summary["training"]["dpo"]["eval_loss_before"] == pytest.approx(0.6931, abs=1e-3)
    for stage in ("base", "sft"):
        figures = summary["training"][stage]
        assert figures["eval_loss"] < figures["eval_loss_before"]
    card = json.loads((finished / "dpo" / "customerlm.json").read_text())
    assert Path(card["base"]) == finished / "sft"
    assert card["viewpoint"] == "customer"


def test_nothing_held_out_was_trained_on(finished: Path) -> None:
    def products(name: str) -> set[str]:
        lines = (finished / f"{name}_scenarios.jsonl").read_text().splitlines()
        return {json.loads(line)["product"]["id"] for line in lines}

    seen = products("train") | products("detector") | products("rollout")
    assert seen.isdisjoint(products("test"))


def test_the_report_stands_alone(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    assert "<script" not in page
    assert 'src="' not in page
    assert 'href="http' not in page
    rate = summary_of(finished)["role_inversion"]["base"]["rate"]
    assert f"{100 * rate:.1f}" in page


def test_a_finished_run_is_refused_and_an_unfinished_one_goes_on(finished: Path) -> None:
    refused = quickstart(finished)
    assert refused.returncode == 2
    assert "already holds a finished quickstart" in refused.stderr
    before = (finished / "sft" / "model.safetensors").stat().st_mtime_ns
    spent = summary_of(finished)["seconds"]
    shutil.rmtree(finished / "ablation")
    (finished / "summary.json").unlink()
    changed = quickstart(finished, "0.2")
    assert changed.returncode == 2
    assert "unfinished quickstart with scale 0.1, not 0.2" in changed.stderr
    again = quickstart(finished)
    assert again.returncode == 0, again.stderr
    assert summary_of(finished)["seconds"] > spent
    assert "ablation: started" in again.stderr
    assert "sft: started" not in again.stderr
    assert (finished / "sft" / "model.safetensors").stat().st_mtime_ns == before


def test_nothing_outlives_an_interrupted_quickstart(tmp_path: Path) -> None:
    process = subprocess.Popen(command(tmp_path), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "data: started\n"
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.terminate()
    assert process.wait(timeout=60) == 143
    assert not any(Path(f"/proc/{child}").exists() for child in children)
