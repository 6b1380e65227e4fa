"""`eval/intent.py`: a scorer of random weights beside judges behind the loopback."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from jobs import ROOT, environment, labelled
from loopback import Fault, Loopback
from sklearn.metrics import accuracy_score, f1_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from salesllm.chat.providers import ChatSpec
from salesllm.dialogue import write_dialogues
from salesllm.errors import InputError
from salesllm.files import read_json, read_jsonl, sha256, write_json
from salesllm.recipe import validate_recipe
from salesllm.scoring.calibration import fit_temperature, log_loss, tempered
from salesllm.scoring.ending import SCHEMAS, IntentSettings
from salesllm.scoring.intent import IntentScorer
from salesllm.sheets import read_sheet
from salesllm.splits import split_dialogues
from salesllm.training.labels import LabelledDialogue, read_labelled
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
        "scorers": {"en": {"scorer": str(scorer), "test_file": str(tmp_path / "test.jsonl")}},
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
    assert run(values)[0] == 0
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
    assert found["lead"]["J"]["answered"] == 60 - muses
    assert len(loopback.requests) == 60 + muses  # each of them asked twice
    assert found["raters"]["rules"]["answered"] == 60
    assert found["majority"] == 0.5
    assert found["clusters"] == {"by": "dialogue", "n": 60}  # all are of one product line

    sheet = [row for _, row in read_sheet(out / "table.csv", ["rater", "source", "accuracy"])]
    raters = ["encoder", "rules", "J", "encoder minus rules", "encoder minus J"]
    assert [row["rater"] for row in sheet] == [*raters, "GPT-4o", "trained encoder"]
    assert sheet[-1] | {"source": "paper", "accuracy": "0.9294"} == sheet[-1]
    table = (out / "table.md").read_text(encoding="utf-8")
    assert table.count(f"| {60 - muses} of 60 |") == 2
    assert "Intervals take 60 dialogues" in table
    assert "*GPT-4o, paper* | 68.85 | 0.72" in table
    assert "cannot be compared" in table  # the scorer has no run.json
    assert "English, 36 dialogues" in (out / "reliability.svg").read_text(encoding="utf-8")

    code, said = run(values)
    assert code == 2
    assert "already holds a finished run" in said
    assert len(loopback.requests) == 60 + muses


def said_by(folder: Path, dialogues: list[LabelledDialogue]) -> list[list[float]]:
    scores = IntentScorer.load(folder, "en").score(dialogues, exact=True)
    return [list(score.probabilities.values()) for score in scores]


def agreeing(folder: Path, dialogues: list[LabelledDialogue], path: Path, slips: int) -> list[int]:
    """Writes dialogues whose labels are the scorer's, all but one in so many; says who bought."""
    scores = IntentScorer.load(folder, "en").score(dialogues, exact=True)
    bought = [score.bought ^ (i % slips == slips - 1) for i, score in enumerate(scores)]
    labels = [{"label": "buy" if buys else "not"} for buys in bought]
    write_dialogues(path, [d.model_copy(update=u) for d, u in zip(dialogues, labels, strict=True)])
    return [int(buys) for buys in bought]


@pytest.mark.parametrize("own_file", [False, True])
def test_the_temperature_is_fitted_on_some_and_measured_on_others(
    own_file: bool, values: dict[str, Any], run: Run, tmp_path: Path, scorer: Path
) -> None:
    folder = shutil.copytree(scorer, tmp_path / "scorer")
    values["judges"] = []
    values["scorers"]["en"]["scorer"] = str(folder)
    bought = agreeing(folder, TEST, tmp_path / "test.jsonl", slips=4)
    if own_file:
        fit, measure = labelled(40, skip=100), TEST
        labels = [agreeing(folder, fit, tmp_path / "validation.jsonl", slips=4), bought]
        values["scorers"]["en"]["validation_file"] = str(tmp_path / "validation.jsonl")
    else:
        fit, measure = split_dialogues(TEST, {"fit": 0.4, "measure": 0.6}).values()
        labels = [[bought[TEST.index(d)] for d in part] for part in (fit, measure)]
    factor = fit_temperature(said_by(folder, fit), labels[0])
    after = log_loss(tempered(said_by(folder, measure), factor), labels[1])
    before = (folder / "config.json").read_bytes()

    assert run(values)[0] == 0
    found = read_json(Path(values["output_dir"]) / "summary.json")["languages"]["en"]["calibration"]
    assert (found["fitted_on"], found["measured_on"]) == (len(fit), len(measure))
    assert found["temperature"] == pytest.approx(2.0 * factor)  # on top of the scorer's own
    assert found["after"]["log_loss"] == pytest.approx(after)
    assert found["before"]["brier"]["low"] < found["before"]["brier"]["value"]
    assert sum(each["n"] for each in found["before"]["reliability"]) == len(measure)
    assert (folder / "config.json").read_bytes() == before

    assert run(values, "--save_temperature", "true", "--overwrite", "true")[0] == 0
    assert log_loss(said_by(folder, measure), labels[1]) == pytest.approx(after, rel=1e-4)
    old, new = json.loads(before), read_json(folder / "config.json")
    assert old["salesllm_intent"].pop("temperature") == 2.0
    assert new["salesllm_intent"].pop("temperature") == pytest.approx(found["temperature"])
    assert old == new


def test_where_all_is_right_no_temperature_is_fitted_and_none_saved(
    values: dict[str, Any], run: Run, tmp_path: Path, scorer: Path
) -> None:
    folder = shutil.copytree(scorer, tmp_path / "scorer")
    agreeing(folder, TEST, tmp_path / "test.jsonl", slips=1000)
    values["judges"] = ["rules"]
    values["scorers"]["en"]["scorer"] = str(folder)
    before = (folder / "config.json").read_bytes()
    assert run(values, "--save_temperature", "true")[0] == 0
    out = Path(values["output_dir"])
    found = read_json(out / "summary.json")["languages"]["en"]
    assert found["calibration"]["temperature"] is found["calibration"]["after"] is None
    assert (folder / "config.json").read_bytes() == before
    table = (out / "table.md").read_text(encoding="utf-8")
    assert "No temperature can be fitted on 24 dialogues, and none is saved" in table
    assert "| 1.000 [–, –] |" in table
    assert "as it is: ECE" in (out / "reliability.svg").read_text(encoding="utf-8")


def test_intervals_take_product_lines_for_independent(
    values: dict[str, Any], run: Run, tmp_path: Path
) -> None:
    lines = [d.model_copy(update={"product_line": f"line {i // 10}"}) for i, d in enumerate(TEST)]
    lines[-1] = lines[-1].model_copy(update={"product_line": " "})
    write_dialogues(tmp_path / "test.jsonl", lines)
    assert run(values | {"judges": []})[0] == 0
    found = read_json(Path(values["output_dir"]) / "summary.json")["languages"]["en"]
    assert found["clusters"] == {"by": "product_line", "n": 7}  # one has none, and is its own


def third(text: str) -> bool:
    return sum(text.encode()) % 3 == 0


def test_unreadable_answers_cost_coverage_and_not_accuracy(
    values: dict[str, Any], run: Run, loopback: Loopback
) -> None:
    def plain(body: dict[str, Any]) -> str:
        last = body["messages"][0]["content"].split("</conversation>")[0].split()[-1]
        return json.dumps({"label": "buy" if len(last) % 2 else "not"})

    def mumbling(body: dict[str, Any]) -> str:
        return "Who knows?" if third(body["messages"][0]["content"]) else plain(body)

    values["judges"] = values["judges"][1:]
    out, by = Path(values["output_dir"]), []
    for loopback.reply in (plain, mumbling):
        assert run(values, "--overwrite", "true")[0] == 0
        by.append([row["by"]["J"] for _, row in read_jsonl(out / "labels.jsonl")])
    silent = sum(third(t) for t in {body["messages"][0]["content"] for body in loopback.requests})
    assert 10 < silent < 30
    whole, part = by
    assert part.count(None) == silent
    assert all(b in (a, None) for a, b in zip(whole, part, strict=True))
    found = read_json(out / "summary.json")["languages"]["en"]
    judge, lead = found["raters"]["J"], found["lead"]["J"]
    right = [a == d.label for a, b, d in zip(whole, part, TEST, strict=True) if b]
    assert judge["accuracy"]["value"] == pytest.approx(sum(right) / len(right))
    assert judge["answered"] == lead["answered"] == len(right) == 60 - silent


def test_killed_and_resumed(values: dict[str, Any], run: Run, loopback: Loopback) -> None:
    values |= {"judges": values["judges"][1:], "concurrency": 2}
    out = Path(values["output_dir"])
    journal = out / "judges" / "J.en.jsonl"
    recipe = out.parent / "killed.yaml"
    recipe.write_text(yaml.safe_dump(values), encoding="utf-8")
    loopback.reply, loopback.delay = lambda body: '{"label": "buy"}', 0.02
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "eval" / "intent.py"), "--config", str(recipe)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    while not journal.exists() or len(journal.read_bytes().splitlines()) < 9:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert os.listdir(out) == ["judges"]

    loopback.delay = 0
    code, said = run(values | {"temperature": 0.7})
    assert code == 2
    assert "`recipe.temperature` was 0.0 and is 0.7" in said
    assert "Choose another --output_dir, or pass --overwrite true" in said
    assert run(values)[0] == 0
    cells = [tuple(e["cell"]) for _, e in read_jsonl(journal) if "cell" in e]
    assert len(cells) == len(set(cells)) == 60
    assert read_json(out / "summary.json")["languages"]["en"]["raters"]["J"]["answered"] == 60


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

    code, said = run(values, "--scorers.en.test_file", train)
    assert code == 2
    assert f"{train}: field `scorers.en.test_file`: the scorer has learnt from this file" in said
    mixed = tmp_path / "mixed.jsonl"
    write_dialogues(mixed, [*TEST[:5], *labelled(1, skip=85)])
    code, said = run(values, "--scorers.en.test_file", mixed)
    assert code == 2
    assert f"{mixed}:6: field `scorers.en.test_file`: the content of this record" in said
    code, said = run(values, "--scorers.en.validation_file", train)
    assert code == 2
    assert f"{train}:1: field `scorers.en.validation_file`: the content of this" in said
    code, said = run(values, "--scorers.en.validation_file", tmp_path / "test.jsonl")
    assert code == 2
    assert "test.jsonl:1: field `scorers.en.test_file`: the content of this record" in said

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
        (["rules", "GPT-4o"], "'GPT-4o' is a model of no registry"),
    ],
)
def test_judges_that_cannot_be(values: dict[str, Any], judges: list[Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        validate_recipe(ValidationRecipe, values | {"judges": judges}, "r.yaml", {"judges": 4})
    assert "r.yaml:4: field `judges`" in str(error.value)
    assert said in str(error.value)


def test_judges_by_name(values: dict[str, Any], tmp_path: Path) -> None:
    registry = tmp_path / "models.yaml"
    registry.write_text("J: {model: j, base_url: http://localhost:1/v1}\n", encoding="utf-8")
    named = values | {"models": str(registry), "judges": ["rules", "J"]}
    rules, judge = validate_recipe(ValidationRecipe, named, "r.yaml", {}).judges
    assert rules == "rules"
    assert isinstance(judge, ChatSpec)
    assert (judge.name, judge.model) == ("J", "j")


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
