"""A run with checkpoints on this machine: two customers, one after another, and intent scorers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedTokenizerBase

from salesllm.benchmark import cast
from salesllm.benchmark import run as benchmark
from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.chat.base import Chat
from salesllm.chat.local import LocalChat
from salesllm.chat.providers import ChatSpec
from salesllm.dialogue import read_dialogues
from salesllm.errors import InputError
from salesllm.files import read_jsonl, write_json
from salesllm.scoring.ending import SCHEMAS, IntentSettings
from salesllm.scoring.final import final_score
from salesllm.scoring.intent import IntentScorer, install
from salesllm.training.tiny import new_causal_lm, new_encoder


@pytest.fixture
def values(tmp_path: Path, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 32}
    for seed, name in enumerate(("one", "two")):
        sizes["num_key_value_heads"] = 1
        new_causal_lm(tokenizer, seed=seed, **sizes).save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        write_json(tmp_path / name / "customerlm.json", {"script_style": "brief"})
    folder = tmp_path / "intent"
    new_encoder("en", ["ok I'll take it", "no thanks, bye"], folder)
    scorer = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)
    install(scorer.config, IntentSettings("en", SCHEMAS["binary"]))
    scorer.save_pretrained(folder)
    AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    return {
        "name": "local",
        "output_dir": tmp_path / "out",
        "sample": {"languages": ["en", "zh"], "n": 3},
        "salespeople": [{"provider": "scripted", "model": "salesperson", "name": "S"}],
        "customers": [
            {"provider": "local", "model": str(tmp_path / name), "name": name, "device": "cpu"}
            for name in ("one", "two")
        ],
        "intent": {"en": folder},
        "rounds": 2,
        "alpha": 0.25,
        "sampling": {"max_tokens": 8},
    }


def test_local_customers_in_turn_and_their_scores(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    batches: list[int] = []
    generate, opened = LocalChat._generate, cast.open_chat

    def counted(self: LocalChat, conversations: list[Any], *rest: Any) -> Any:
        batches.append(len(conversations))
        assert self.name == loaded[-1]  # nobody speaks once the next one is loaded
        return generate(self, conversations, *rest)

    def noted(spec: ChatSpec) -> Chat:
        loaded.extend([spec.name] if spec.provider == "local" else [])
        return opened(spec)

    monkeypatch.setattr(LocalChat, "_generate", counted)
    monkeypatch.setattr(cast, "open_chat", noted)
    recipe = BenchmarkRecipe.model_validate(values)
    summary = benchmark.run_benchmark(recipe)
    assert loaded == ["one", "two"]
    assert max(batches) == 6  # the dialogues of a customer share its batches

    out = values["output_dir"]
    rows = [row for _, row in read_jsonl(out / "scores.jsonl")]
    dialogues = {d.id: d for d in read_dialogues(out / "dialogues.jsonl")}
    english = [row for row in rows if row["language"] == "en" and not row["failed"]]
    scorer = IntentScorer.load(values["intent"]["en"])
    expected = scorer.score([dialogues[row["id"]] for row in english])
    assert [row["buying"] for row in english] == pytest.approx([s.buying for s in expected])
    for row in english:
        assert row["final"] == final_score(row["buying"], row["selling"], 0.25)
    for row in rows:
        if row["language"] == "zh":
            assert row["buying"] is row["final"] is None
            assert row["unscored"]["buying"] == "the recipe names no intent scorer for zh"
    for customer in ("one", "two"):
        figures = summary["results"]["S"][customer]
        assert figures["en"]["final"]["n"] == figures["en"]["dialogues"] > 0
        assert figures["overall"]["final"]["n"] == figures["en"]["final"]["n"]

    # Continued, it loads nobody who has nothing left to say.
    loaded.clear()
    (out / "summary.json").unlink()
    silent = {row["customer"] for row in rows if row["failed"]}
    assert benchmark.run_benchmark(recipe)["results"] == summary["results"]
    assert set(loaded) == silent

    # What a run needs at its end is missed at its beginning.
    absent = {"intent": {"en": out / "absent"}, "output_dir": out / "never"}
    with pytest.raises(InputError, match=r"absent: field `intent.en`: no such folder"):
        benchmark.run_benchmark(BenchmarkRecipe.model_validate(values | absent))
    assert not (out / "never").exists()

    # A scorer trained anew scores the same dialogues anew.
    said = (out / "dialogues.jsonl").read_bytes()
    scorer = AutoModelForSequenceClassification.from_pretrained(values["intent"]["en"])
    scorer.classifier.out_proj.bias.data += torch.tensor([0.0, 9.0])
    scorer.save_pretrained(values["intent"]["en"])
    anew = benchmark.run_benchmark(recipe)["results"]["S"]["one"]["en"]["buying"]["mean"]
    assert anew > summary["results"]["S"]["one"]["en"]["buying"]["mean"]
    assert (out / "dialogues.jsonl").read_bytes() == said

    # Nor does a customer's turn have to come before it is found to be incomplete.
    weights = Path(values["customers"][1]["model"]) / "model.safetensors"
    weights.rename(weights.with_suffix(".kept"))
    with pytest.raises(InputError, match="two: there are no weights in safetensors"):
        benchmark.run_benchmark(
            BenchmarkRecipe.model_validate(values | {"output_dir": out / "never"})
        )
    weights.with_suffix(".kept").rename(weights)
    assert not (out / "never").exists()

    # A customer trained anew is another run.
    weights.write_bytes((Path(values["customers"][0]["model"]) / weights.name).read_bytes())
    with pytest.raises(InputError, match=r"another run: `customers\.two\.checkpoints_sha256"):
        benchmark.run_benchmark(recipe)
