"""`eval/intent.py`: a scorer of random weights beside judges behind the loopback."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from jobs import ROOT, labelled
from loopback import Fault, Loopback
from sklearn.metrics import accuracy_score, f1_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from salesllm.dialogue import write_dialogues
from salesllm.errors import InputError
from salesllm.files import read_json, read_jsonl, sha256, write_json
from salesllm.recipe import validate_recipe
from salesllm.scoring.calibration import fit_temperature, log_loss, tempered
from salesllm.scoring.ending import SCHEMAS, IntentSettings
from salesllm.scoring.intent import IntentScorer
from salesllm.sheets import read_sheet
from salesllm.splits import split_dialogues
from salesllm.training.labels import read_labelled
from salesllm.training.tiny import new_encoder
from salesllm.training.validation import ValidationRecipe

TEST = labelled(60)


def judge(body: dict[str, Any]) -> str:
    """Reads the last line, takes every "ok" for a purchase, and sometimes only muses."""
    said = body["messages"][0]["content"].split("</conversation>")[0].strip().splitlines()[-1]
    if "not today" in said:
        return "Hard to say."
    return json.dumps({"label": "buy" if "ok" in said else "not", "reason": "the last line"})


def save_scorer(folder: Path, schema: str = "binary") -> Path:
    new_encoder("en", [turn.text for d in TEST for turn in d.turns], folder)
    torch.manual_seed(0)
    labels = SCHEMAS[schema]
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=len(labels))
    with torch.no_grad():
        model.classifier.out_proj.weight.mul_(500)
    settings = IntentSettings("en", labels, temperature=2.0)
    IntentScorer(model, AutoTokenizer.from_pretrained(folder), settings).save(folder)
    return folder


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_scorer(tmp_path_factory.mktemp("scorer"))


@pytest.fixture
def values(scorer: Path, tmp_path: Path, loopback: Loopback) -> dict[str, Any]:
    loopback.reply = judge
    write_dialogues(tmp_path / "test.jsonl", TEST)
    spec = {"name": "J", "provider": "endpoint", "model": "j", "base_url": loopback.url}
    return {
        "name": "ours",
        "output_dir": str(tmp_path / "out"),
        "scorers": {"en": {"scorer": str(scorer), "test": str(tmp_path / "test.jsonl")}},
        "judges": ["rules", spec | {"timeout": 5}],
        "attempts": 2,
        "concurrency": 4,
        "calibration_share": 0.4,
    }


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the script in this process: exit code and what it says on stderr."""
    spec = importlib.util.spec_from_file_location("eval_intent", ROOT / "eval" / "intent.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def call(values: dict[str, Any], *options: object) -> tuple[int, str]:
        path = tmp_path / "recipe.yaml"
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
        argv = ["eval/intent.py", "--config", str(path), *map(str, options)]
        monkeypatch.setattr(sys, "argv", argv)
        code = 0
        capsys.readouterr()
        try:
            script.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, capsys.readouterr().err

    return call


def test_encoder_and_judges_on_the_same_dialogues(
    values: dict[str, Any], run: Run, loopback: Loopback, tmp_path: Path
) -> None:
    assert run(values, "--save_calibrated", "true")[0] == 0
    out = Path(values["output_dir"])
    summary = read_json(out / "summary.json")
    found = summary["languages"]["en"]
    rows = [row for _, row in read_jsonl(out / "labels.jsonl")]
    assert [row["id"] for row in rows] == [d.id for d in TEST]
    truth = [row["label"] for row in rows]
    for name, figures in found["raters"].items():
        given = [row["by"][name] for row in rows]
        answered = [pair for pair in zip(truth, given, strict=True) if pair[1]]
        true, guess = zip(*answered, strict=True)
        assert figures["accuracy"]["value"] == pytest.approx(accuracy_score(true, guess))
        macro = f1_score(true, guess, average="macro")
        assert figures["f1"]["value"] == pytest.approx(macro)
        bought = f1_score(true, guess, pos_label="buy")
        assert figures["f1_purchase"]["value"] == pytest.approx(bought)
        assert figures["answered"] == len(answered)
    muses = sum("not today" in d.turns[-1].text for d in TEST)
    assert muses > 5
    assert found["raters"]["J"]["unscored"] == muses
    assert found["lead"]["J"]["n"] == 60 - muses
    assert len(loopback.requests) == 60 + muses  # each of them asked twice
    assert found["raters"]["rules"]["answered"] == 60
    assert found["majority"] == 0.5

    sheet = [row for _, row in read_sheet(out / "table.csv", ["rater", "source", "accuracy"])]
    assert [row["rater"] for row in sheet] == ["encoder", "rules", "J", "GPT-4o", "trained encoder"]
    assert sheet[-1] | {"source": "paper", "accuracy": "0.9294"} == sheet[-1]
    table = (out / "table.md").read_text(encoding="utf-8")
    assert f"| {60 - muses} of 60 |" in table
    assert "*GPT-4o, paper* | 68.85 | 0.72" in table
    assert "cannot be compared" in table  # the scorer has no run.json
    assert "English, 36 dialogues" in (out / "reliability.svg").read_text(encoding="utf-8")

    code, said = run(values)
    assert code == 2
    assert "already holds a finished run" in said
    assert len(loopback.requests) == 60 + muses


def test_the_temperature_is_fitted_on_one_part_and_measured_on_the_other(
    values: dict[str, Any], run: Run
) -> None:
    values["judges"] = []
    assert run(values, "--save_calibrated", "true")[0] == 0
    out = Path(values["output_dir"])
    found = read_json(out / "summary.json")["languages"]["en"]["calibration"]
    said = {
        row["id"]: list(row["probabilities"].values())
        for _, row in read_jsonl(out / "labels.jsonl")
    }
    parts = split_dialogues(TEST, {"fit": 0.4, "measure": 0.6})
    labels = {name: [int(d.label == "buy") for d in part] for name, part in parts.items()}
    p = {name: [said[d.id] for d in part] for name, part in parts.items()}
    assert (found["fitted_on"], found["measured_on"]) == (24, 36)
    factor = fit_temperature(p["fit"], labels["fit"])
    assert found["temperature"] == pytest.approx(2.0 * factor)  # on top of the scorer's own
    after = log_loss(tempered(p["measure"], factor), labels["measure"])
    assert found["after"]["log_loss"] == pytest.approx(after)
    assert sum(each["n"] for each in found["before"]["reliability"]) == 36

    scorer = IntentScorer.load(out / "en", "en")
    assert scorer.settings.temperature == found["temperature"]
    scores = scorer.score(parts["measure"], exact=True)
    probabilities = [list(s.probabilities.values()) for s in scores]
    assert log_loss(probabilities, labels["measure"]) == pytest.approx(after, rel=1e-4)


def test_a_judge_that_cannot_be_reached_is_asked_again(
    values: dict[str, Any], run: Run, loopback: Loopback
) -> None:
    values["judges"] = values["judges"][1:]
    loopback.faults = deque([Fault(status=400)] * 3)
    code, said = run(values)
    assert code == 1
    assert "error: 3 answers could not be had" in said
    out = Path(values["output_dir"])
    assert not (out / "summary.json").exists()
    asked = len(loopback.requests)
    assert run(values)[0] == 0
    assert 3 <= len(loopback.requests) - asked <= 6  # some muse, and are asked twice
    assert read_json(out / "summary.json")["failed"] == 0

    loopback.faults = deque([Fault(status=400)] * 3)
    assert run(values, "--leave_out_failed", "true", "--overwrite", "true")[0] == 0
    summary = read_json(out / "summary.json")
    assert summary["failed"] == 3
    found = summary["languages"]["en"]["raters"]["J"]
    assert found["unscored"] >= 3
    assert found["answered"] + found["unscored"] == 60


def test_what_the_scorer_has_learnt_from_is_refused(
    values: dict[str, Any], run: Run, tmp_path: Path
) -> None:
    folder = save_scorer(tmp_path / "trained")
    train = tmp_path / "train.jsonl"
    write_dialogues(train, labelled(20, skip=80))
    recipe = {"train_file": str(train), "eval_file": None}
    write_json(folder / "run.json", {"recipe": recipe, "data_sha256": {"train": sha256(train)}})
    values |= {"judges": []}
    values["scorers"]["en"]["scorer"] = str(folder)

    code, said = run(values, "--scorers.en.test", train)
    assert code == 2
    assert f"{train}: field `scorers.en.test`: the scorer has learnt from this file" in said
    mixed = tmp_path / "mixed.jsonl"
    write_dialogues(mixed, [*TEST[:5], *labelled(1, skip=85)])
    code, said = run(values, "--scorers.en.test", mixed)
    assert code == 2
    assert f"{mixed}:6: field `scorers.en.test`: the content of this record" in said

    assert run(values)[0] == 0
    records = read_json(Path(values["output_dir"]) / "summary.json")["languages"]["en"]
    assert records["training_records"] == {"compared": 20, "not_compared": []}
    train.write_text("", encoding="utf-8")
    assert run(values, "--overwrite", "true")[0] == 0
    notes = read_json(Path(values["output_dir"]) / "summary.json")["notes"]
    assert f"has seen the test dialogues is not known: {train} cannot" in notes[-1]


@pytest.mark.parametrize(
    ("judges", "said"),
    [
        (["rules", "rules"], "the name 'rules' is taken. Give each judge its own `name`"),
        (
            [{"provider": "scripted", "model": "customer", "name": "S"}],
            "a scripted speaker cannot judge",
        ),
        (
            [{"name": "encoder", "provider": "local", "model": "x"}],
            "the name 'encoder' is taken",
        ),
    ],
)
def test_judges_that_cannot_be(values: dict[str, Any], judges: list[Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        validate_recipe(ValidationRecipe, values | {"judges": judges}, "r.yaml", {"judges": 4})
    assert "r.yaml:4: field `judges`" in str(error.value)
    assert said in str(error.value)


def test_the_rules_know_only_two_labels(values: dict[str, Any], run: Run, tmp_path: Path) -> None:
    values["scorers"]["en"]["scorer"] = str(save_scorer(tmp_path / "five", "saleintent"))
    rows = [d.model_copy(update={"label": "AF"[d.label == "not"]}) for d in TEST]
    write_dialogues(tmp_path / "test.jsonl", rows)
    assert read_labelled(tmp_path / "test.jsonl")[0].label == "F"
    code, said = run(values)
    assert code == 2
    assert "field `judges`: the rules know buy and not, and the scorer A, B, C, X, F" in said


def test_dialogues_of_one_id_are_refused(values: dict[str, Any], run: Run, tmp_path: Path) -> None:
    write_dialogues(tmp_path / "test.jsonl", [*TEST, TEST[3]])
    code, said = run(values)
    assert code == 2
    assert f"2 dialogues have the id '{TEST[3].id}'" in said
