"""Labels by several annotators: majority, agreement, and the ways to get them."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from jobs import PHRASES, ROOT, dialogues
from loopback import Fault, Loopback

from salesllm.dialogue import write_dialogues
from salesllm.errors import InputError
from salesllm.files import read_json, read_jsonl
from salesllm.recipe import load_recipe
from salesllm.training.labelling import LabellerRecipe
from salesllm.training.labels import read_labelled
from salesllm.training.votes import agreement, majority, read_votes

VOTES = {
    "d1": {"ann": "A", "bo": "A", "cy": "B"},
    "d2": {"ann": "B", "bo": "B", "cy": "B"},
    "d3": {"ann": "A", "bo": "B"},
    "d4": {"cy": "F"},
    "d5": {},
}


def test_the_majority_rules_and_ties_stay_open() -> None:
    result = majority(VOTES)
    assert result.labels == {"d1": "A", "d2": "B", "d4": "F"}
    assert result.ties == {"d3": ["A", "B"]}


def test_agreement_by_hand() -> None:
    found = agreement(VOTES)
    # Coincidences: d1 gives AA 1, AB 1, BA 1; d2 BB 3; d3 AB 1, BA 1. 3 of A, 5 of B.
    assert found["alpha"] == pytest.approx(1 - (4 / 8) / (2 * 3 * 5 / (8 * 7)))
    assert found["mean_pairwise"] == pytest.approx(4 / 7)
    assert found["pairwise"][0] == {"annotators": ["ann", "bo"], "agreement": 2 / 3, "n": 3}
    assert found["annotators"] == {"ann": 3, "bo": 3, "cy": 3}
    assert found["dialogues"] == 3
    assert agreement({"d4": {"cy": "F"}})["alpha"] is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("d9,ann,A", r":3: field `dialogue_id`: there is no dialogue 'd9'"),
        ("d2,ann,D", r":3: field `label`: label 'D' is not in the schema. Use A, B"),
        ("d1,ann,B", r":3: field `annotator`: 'ann' has a row about 'd1' on line 2"),
        ("d2,,B", r":3: field `annotator`: is empty"),
    ],
)
def test_bad_votes_are_named(row: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(f"dialogue_id,annotator,label,note\nd1,ann,A,ok\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"votes\.csv{said}"):
        read_votes(path, ["d1", "d2"], ["A", "B"])


def test_a_blank_label_is_no_vote(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("label,dialogue_id,annotator\n,d1,ann\nA,d1,bo\n", encoding="utf-8")
    assert read_votes(path, ["d1", "d2"], ["A"]) == {"d1": {"bo": "A"}, "d2": {}}


def script(folder: Path, *options: object) -> list[str]:
    head = [sys.executable, str(ROOT / "data_prep" / "intent_labels.py")]
    files = ["--dialogues", str(folder / "d.jsonl"), "--output", str(folder / "out.jsonl")]
    return [*head, *files, "--language", "en", *map(str, options)]


def call(folder: Path, *options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(script(folder, *options), capture_output=True, text=True)


def test_the_script_with_annotators(tmp_path: Path) -> None:
    made = dialogues(8)  # every other one is Chinese
    write_dialogues(tmp_path / "d.jsonl", made)
    rows = ["dialogue_id,annotator,label"]
    rows += [f"{d.id},{who},A" for d in made[:4] for who in ("ann", "bo")]
    rows += [f"en-4,{who},{label}" for who, label in (("ann", "B"), ("bo", "C"))]
    (tmp_path / "votes.csv").write_text("\n".join(rows), encoding="utf-8")
    done = call(tmp_path, "--schema", "saleintent", "--votes", tmp_path / "votes.csv")
    assert done.returncode == 0, done.stderr
    assert "2 dialogues (2 A); left out: 1 tied, 1 without a readable label, 4 of" in done.stdout
    assert {d.id for d in read_labelled(tmp_path / "out.jsonl")} == {"en-0", "en-2"}
    summary = read_json(tmp_path / "out.summary.json")
    assert summary["ties"] == {"en-4": ["B", "C"]}
    assert summary["labels"] == {"A": 2, "B": 0, "C": 0, "X": 0, "F": 0}
    refused = call(tmp_path, "--schema", "saleintent", "--output", tmp_path / "o.jsonl")
    assert "field `schema`: outcomes give binary labels" in refused.stderr


@pytest.mark.parametrize(
    ("sheet", "said"),
    [
        ("", "votes.csv: the file is empty"),
        ("dialogue_id,annotator,label\nen-0,ann,\n",
         "it has no label for any dialogue in en. Fill the column in"),
        ("dialogue_id;annotator;label\nen-0;ann;A\nen-0;bo;B\n",
         "no dialogue has a label that most gave: 1 tied. Have one more annotator label them"),
    ],
)  # fmt: skip
def test_votes_that_come_to_nothing(sheet: str, said: str, tmp_path: Path) -> None:
    write_dialogues(tmp_path / "d.jsonl", dialogues(4))
    (tmp_path / "votes.csv").write_text(sheet, encoding="utf-8")
    done = call(tmp_path, "--schema", "saleintent", "--votes", tmp_path / "votes.csv")
    assert done.returncode == 2, done.stderr
    assert f"{said}." in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "votes.csv"]


@pytest.mark.parametrize("name", ["out.votes.csv", "out.summary.json"])
def test_what_people_did_is_not_written_over(name: str, tmp_path: Path) -> None:
    write_dialogues(tmp_path / "d.jsonl", dialogues(4, languages=["en"]))
    (tmp_path / name).write_text("dialogue_id,annotator,label\nen-0,ann,A\n", encoding="utf-8")
    done = call(tmp_path, "--schema", "saleintent", "--votes", tmp_path / name)
    assert done.returncode == 2
    assert f"{name}: field `output`: the file exists" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", name]


def test_no_labels_without_their_summary(tmp_path: Path) -> None:
    write_dialogues(tmp_path / "d.jsonl", dialogues(2, languages=["en"]))
    (tmp_path / "votes.csv").write_text("dialogue_id,annotator,label\nen-0,ann,buy\n")
    output = tmp_path / f"{'n' * 234}.jsonl"  # the summary's name is too long to be written
    done = call(tmp_path, "--votes", tmp_path / "votes.csv", "--output", output)
    assert done.returncode != 0
    assert "File name too long" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "votes.csv"]


def annotator(body: dict[str, Any]) -> str:
    """Answers by the dialogue's last line and who is asked; one kind of ending nobody reads."""
    last = body["messages"][0]["content"].split("\n</conversation>")[0].splitlines()[-1]
    if "keep my old one" in last:
        return "Who knows?"
    bought = any(last.endswith(ending) for ending in PHRASES["en"][4])
    return json.dumps({"label": "buy" if bought else "not", "reason": body["model"]})


def test_llms_label_killed_and_resumed(tmp_path: Path, loopback: Loopback) -> None:
    write_dialogues(tmp_path / "d.jsonl", dialogues(16, languages=["en"]))
    spec = {"provider": "endpoint", "base_url": loopback.url}
    recipe = {
        "labellers": [spec | {"model": name, "name": name} for name in ("one", "two")],
        "samples": 2,
        "concurrency": 4,
    }
    (tmp_path / "labels.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    options = ("--labeller", tmp_path / "labels.yaml")
    loopback.reply, loopback.delay = annotator, 0.02
    rng, trouble = random.Random(0), [Fault(status=500), Fault("cut"), Fault("empty")]
    loopback.fault_of = lambda body: rng.choice(trouble) if rng.random() < 0.1 else None
    journal = tmp_path / "out.journal.jsonl"
    process = subprocess.Popen(script(tmp_path, *options), stdout=subprocess.DEVNULL)
    while not journal.exists() or len(journal.read_bytes().splitlines()) < 12:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "out.jsonl").exists()
    done = call(tmp_path, *options)
    assert done.returncode == 0, done.stderr
    cells = Counter(tuple(e["cell"]) for _, e in read_jsonl(journal) if "cell" in e)
    assert set(cells.values()) == {1}
    assert len(cells) == 16 * 4

    records = read_labelled(tmp_path / "out.jsonl", ["buy", "not"])
    assert all(r.label == {"bought": "buy", "declined": "not"}[str(r.outcome)] for r in records)
    summary = read_json(tmp_path / "out.summary.json")
    assert summary["without_a_vote"] == 16 - len(records) > 0
    assert summary["unreadable"] == 4 * summary["without_a_vote"]
    assert summary["agreement"]["alpha"] == 1.0
    assert set(summary["agreement"]["annotators"]) == {"one", "one#2", "two", "two#2"}
    sheet = read_votes(tmp_path / "out.votes.csv", [r.id for r in records], ["buy", "not"])
    assert {len(given) for given in sheet.values()} == {4}
    for name in ("out.jsonl", "out.summary.json", "out.votes.csv"):
        (tmp_path / name).unlink()
    other = call(tmp_path, *options, "--temperature", 0.9)
    assert "`recipe.temperature` was 0.7 and is 0.9. Choose another --output" in other.stderr


def test_failed_labels_write_nothing_unless_told_to(tmp_path: Path, loopback: Loopback) -> None:
    write_dialogues(tmp_path / "d.jsonl", dialogues(8, languages=["en"]))
    spec = {"provider": "endpoint", "base_url": loopback.url, "model": "m"}
    (tmp_path / "labels.yaml").write_text(yaml.safe_dump({"labellers": [spec]}), encoding="utf-8")
    loopback.reply = annotator
    loopback.fault_of = lambda body: (
        Fault(status=400) if "deal, I'll take it" in body["messages"][0]["content"] else None
    )
    options = ("--labeller", tmp_path / "labels.yaml")
    done = call(tmp_path, *options)
    assert done.returncode == 1
    assert "labels failed, nothing is written. The same command tries them again" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()
    assert call(tmp_path, *options, "--leave_out_failed").returncode == 0
    assert 0 < len(read_labelled(tmp_path / "out.jsonl")) < 8


def test_labellers_that_give_nothing(tmp_path: Path, loopback: Loopback) -> None:
    write_dialogues(tmp_path / "d.jsonl", dialogues(2, languages=["en"]))
    spec = {"provider": "endpoint", "base_url": loopback.url, "model": "m"}
    (tmp_path / "labels.yaml").write_text(yaml.safe_dump({"labellers": [spec]}), encoding="utf-8")
    loopback.reply = lambda body: "Who knows?"
    done = call(tmp_path, "--labeller", tmp_path / "labels.yaml")
    assert done.returncode == 2
    assert "out.journal.jsonl: field `label`: the labellers gave no label that" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--labellers.0.provider", "scripted"], "base_url"),
        (["--labellers.0.name", "GLM-4.6"], "the name 'GLM-4.6' is taken"),
        (["--temperature", "0"], "at temperature 0 every sample is the same"),
    ],
)
def test_bad_recipes_of_labellers(options: list[str], said: str) -> None:
    path = str(ROOT / "recipes" / "labels" / "paper.yaml")
    with pytest.raises(InputError, match=said):
        load_recipe(LabellerRecipe, ["--config", path, *options])
