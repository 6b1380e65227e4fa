"""A benchmark run over rows in the released format, through the entry point and real HTTP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from loopback import Loopback
from runs import CANARY
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    BertTokenizer,
    PreTrainedTokenizerBase,
)

from salesllm.dialogue import END_MARKER, Dialogue, Speaker, read_dialogues
from salesllm.files import read_json, read_jsonl, write_jsonl

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "tests" / "scenarios" / "authors_rows.jsonl"
SCORE = '{"score": 4, "reason": "asked for a price", "evidence": []}'


def actor(body: dict[str, Any]) -> str:
    """A judge, a seller, and a buyer who leaves after its second message."""
    if body["model"] == "judge":
        return SCORE
    return "Sure. Anything else?" if body["model"] == "seller" else f"No, bye. {END_MARKER}"


def benchmark(folder: Path, values: dict[str, Any], *more: str) -> subprocess.CompletedProcess[str]:
    config = folder / "recipe.yaml"
    config.write_text(yaml.safe_dump(values), encoding="utf-8")
    command = [sys.executable, str(ROOT / "eval" / "benchmark.py"), "--config", str(config), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    """A run on the English rows; nobody listens at the address until a test sees to it."""
    rows = [value for _, value in read_jsonl(ROWS)]
    write_jsonl(tmp_path / "english.jsonl", rows[:10])
    write_jsonl(tmp_path / "chinese.jsonl", rows[10:])

    def endpoint(model: str) -> dict[str, Any]:
        return {"provider": "endpoint", "model": model, "base_url": "http://127.0.0.1:9/v1"}

    return {
        "name": "released rows",
        "output_dir": str(tmp_path / "out"),
        "scenarios": str(tmp_path / "english.jsonl"),
        "salespeople": [endpoint("seller")],
        "customers": [endpoint("buyer")],
        "judge": endpoint("judge"),
        "rounds": 4,
    }


@pytest.mark.parametrize(("language", "file"), [("en", "english"), ("zh", "chinese")])
def test_every_row_is_played_by_its_own_prompts(
    recipe: dict[str, Any], tmp_path: Path, language: str, file: str
) -> None:
    recipe["scenarios"] = str(tmp_path / f"{file}.jsonl")
    with Loopback(reply=actor) as loopback:
        for spec in (*recipe["salespeople"], *recipe["customers"], recipe["judge"]):
            spec["base_url"] = loopback.url
        done = benchmark(tmp_path, recipe, "--language", language)
    assert done.returncode == 0, done.stderr

    rows = [value for _, value in read_jsonl(tmp_path / f"{file}.jsonl")]
    heard: dict[str, list[str]] = {"seller": [], "buyer": [], "judge": []}
    for body in loopback.requests:
        heard[body["model"]].append(body["messages"][0]["content"])
    for model, side in (("buyer", "user"), ("seller", "assistant")):
        assert set(heard[model]) == {row[f"{side}_system_prompt"] for row in rows}
    # A row that does not say what is sold has a goal nevertheless.
    assert not any("()" in goal or "（）" in goal for goal in heard["judge"])

    summary = read_json(tmp_path / "out" / "summary.json")
    assert (summary["cells"], summary["failures"]) == (len(rows), 0)
    assert list(summary["results"]["endpoint/seller"]["endpoint/buyer"]) == ["overall", language]
    dialogues = read_dialogues(tmp_path / "out" / "dialogues.jsonl")
    assert {d.language for d in dialogues} == {language}
    assert dialogues[0].turns[0].text == rows[0][f"trigger_sentence_{language}"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "english.jsonl:1: field `language`: a row of the paper's released benchmark"),
        (
            {"language": "en", "customers": [{"provider": "scripted", "model": "customer"}]},
            "the scripted customer needs all fields of a scenario",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_before_anybody_speaks(
    recipe: dict[str, Any], tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    done = benchmark(tmp_path, recipe | change)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


WORTH = {"A": 10, "B": 8, "C": 6, "X": 4, "F": 2}
ASKS = "And the price?"
ANSWERS = {"A": "OK, I'll take it.", "X": "No, not for me."}


@pytest.fixture(scope="module")
def sale_intent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with the released scorer's labels, and nothing of ours in its folder.

    It has learnt two kinds of endings.
    """
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    tokenizer = BertTokenizer(vocab={piece: index for index, piece in enumerate(pieces)})
    torch.manual_seed(0)
    labels = dict(enumerate(WORTH))
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=128, max_position_embeddings=128,
        id2label=labels, label2id={label: number for number, label in labels.items()},
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    texts = [
        f"{'hi there ' * n} [ASSISTANT] Sure. Anything else? [USER] {ASKS} "
        f"[ASSISTANT] Sure. Anything else? [USER] {said}"
        for said in ANSWERS.values()
        for n in range(6)
    ]
    tokenizer.truncation_side = "left"
    batch = tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=128)
    wanted = torch.tensor([config.label2id[label] for label in ANSWERS for _ in range(6)])
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    for _ in range(60):
        optimizer.zero_grad()
        model(**batch, labels=wanted).loss.backward()
        optimizer.step()
    folder = tmp_path_factory.mktemp("SaleIntent_bert")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def label_of(dialogue: Dialogue, model: Any, tokenizer: PreTrainedTokenizerBase) -> str:
    """As the released code has it: the flat text's last 128 tokens, and the likeliest label."""
    tags = {Speaker.SALESPERSON: "[ASSISTANT]", Speaker.CUSTOMER: "[USER]"}
    text = "\n".join(f"{tags[turn.speaker]} {turn.text}" for turn in dialogue.turns)
    tokenizer.truncation_side = "left"
    inputs = tokenizer(text, truncation=True, max_length=128, return_tensors="pt")
    with torch.no_grad():
        return str(model.config.id2label[int(model(**inputs).logits.argmax())])


def test_a_scorer_in_the_released_layout_says_what_it_would_say_by_itself(
    recipe: dict[str, Any],
    tmp_path: Path,
    sale_intent: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the settings of `recipes/benchmark/authors.yaml`."""
    settings = yaml.safe_load(
        (ROOT / "recipes" / "benchmark" / "authors.yaml").read_text(encoding="utf-8")
    )
    for key in ("judge_attempts", "grounding", "rounds", "alpha", "sampling"):
        recipe[key] = settings[key]
    recipe["intent"] = {"en": str(sale_intent)}

    def buyer(body: dict[str, Any]) -> str:
        if body["model"] != "buyer":
            return actor(body)
        if len(body["messages"]) < 5:
            return ASKS
        buys = len(body["messages"][0]["content"]) % 2
        return f"{ANSWERS['A' if buys else 'X']} {END_MARKER}"

    monkeypatch.setenv("BENCHMARK_TEST_KEY", CANARY)
    with Loopback(reply=buyer, key=CANARY) as loopback:
        for spec in (*recipe["salespeople"], *recipe["customers"], recipe["judge"]):
            spec |= {"base_url": loopback.url, "api_key_env": "BENCHMARK_TEST_KEY"}
        done = benchmark(tmp_path, recipe, "--language", "en")
    assert done.returncode == 0, done.stderr

    model = AutoModelForSequenceClassification.from_pretrained(sale_intent)
    tokenizer = AutoTokenizer.from_pretrained(sale_intent)
    dialogues = {d.id: d for d in read_dialogues(tmp_path / "out" / "dialogues.jsonl")}
    rows = [row for _, row in read_jsonl(tmp_path / "out" / "scores.jsonl")]
    assert len(rows) == len(dialogues) == 10
    for row in rows:
        label = label_of(dialogues[row["id"]], model, tokenizer)
        assert row["intent"]["label"] == label
        assert (row["buying"], row["bought"]) == (WORTH[label], label == "A")
        assert row["final"] == pytest.approx(0.6 * WORTH[label] + 0.4 * 4)
    assert {row["intent"]["label"] for row in rows} == {"A", "X"}
    mean = read_json(tmp_path / "out" / "summary.json")["results"]["endpoint/seller"][
        "endpoint/buyer"
    ]["en"]["buying"]["mean"]
    assert mean == pytest.approx(sum(row["buying"] for row in rows) / 10)
    assert (tmp_path / "out" / "table10.md").exists()
    said = done.stdout + done.stderr
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(CANARY.encode() in each for each in (*files, said.encode()))
