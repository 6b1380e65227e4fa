"""What the intent scorer reads of a dialogue, and how its probabilities become a score."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedTokenizerBase,
)

from salesllm.dialogue import Dialogue
from salesllm.errors import InputError
from salesllm.scoring.intent import (
    SCHEMAS,
    IntentScorer,
    IntentSettings,
    encode_ending,
    install,
)
from salesllm.training.tiny import new_encoder


def _dialogue(language: str, *turns: tuple[str, str], id: str = "d") -> Dialogue:
    speakers = {"c": "customer", "s": "salesperson"}
    return Dialogue.model_validate(
        {
            "id": id,
            "language": language,
            "source": "test",
            "product_line": "x",
            "turns": [{"speaker": speakers[s], "text": text} for s, text in turns],
        }
    )


EN = _dialogue(
    "en",
    ("s", "Good morning! This kettle boils a litre in two minutes."),
    ("c", "is it loud?"),
    ("s", "Hardly, and today it is ten dollars off."),
    ("c", "ok I'll take it"),
)
ZH = _dialogue(
    "zh",
    ("c", "这款理财保本吗"),
    ("s", "这是稳健型产品，历史上没有亏过，您看要不要先买一万？"),
    ("c", "不保本就算了"),
)
WHOLE = {
    "en": "salesperson: Good morning! This kettle boils a litre in two minutes.\n"
    "customer: is it loud?\n"
    "salesperson: Hardly, and today it is ten dollars off.\n"
    "customer: ok I'll take it\n",
    "zh": "客户：这款理财保本吗\n"
    "销售：这是稳健型产品，历史上没有亏过，您看要不要先买一万？\n"
    "客户：不保本就算了\n",
}
DIALOGUES = {"en": EN, "zh": ZH}


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A RoBERTa for English and a BERT for Chinese, as the recipes have them."""
    folders = {}
    for language, dialogue in DIALOGUES.items():
        folders[language] = tmp_path_factory.mktemp(language)
        texts = [t.text for t in dialogue.turns] + [WHOLE[language]]
        new_encoder(language, texts, folders[language])  # type: ignore[arg-type]
    return folders


@pytest.fixture(params=["en", "zh"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def encoder(encoders: dict[str, Path], language: str) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(encoders[language])


def _settings(language: str, **changes: Any) -> IntentSettings:
    return IntentSettings(language, SCHEMAS["binary"], **changes)  # type: ignore[arg-type]


def test_a_short_dialogue_is_read_whole(encoder: PreTrainedTokenizerBase, language: str) -> None:
    ids = encode_ending(DIALOGUES[language].turns, encoder, _settings(language))
    # As the tokenizer itself puts a text between its special tokens, which a pretrained model saw.
    assert ids == encoder(WHOLE[language])["input_ids"]


def test_truncation_keeps_the_end_and_whole_turns(
    encoder: PreTrainedTokenizerBase, language: str
) -> None:
    lines = WHOLE[language].splitlines(keepends=True)
    sizes = [len(encoder(line)["input_ids"]) - 2 for line in lines]
    for kept in range(1, len(lines)):
        room = sum(sizes[-kept:]) + 2
        expected = encoder("".join(lines[-kept:]))["input_ids"]
        for spare in (0, sizes[-kept - 1] - 1):  # the next turn would need one token more
            settings = _settings(language, max_tokens=room + spare)
            assert encode_ending(DIALOGUES[language].turns, encoder, settings) == expected


def test_a_last_turn_too_long_keeps_its_tag_and_its_end(
    encoder: PreTrainedTokenizerBase, language: str
) -> None:
    turns = DIALOGUES[language].turns
    last = encoder(WHOLE[language].splitlines(keepends=True)[-1])["input_ids"]
    tag = encoder.encode({"en": "customer:", "zh": "客户："}[language], add_special_tokens=False)
    ids = encode_ending(turns, encoder, _settings(language, max_tokens=len(tag) + 4))
    assert ids == [last[0], *tag, *last[-3:]]
    with pytest.raises(InputError, match="`max_tokens`: 4 tokens have no room for a turn"):
        encode_ending(turns, encoder, _settings(language, max_tokens=4))


def test_the_released_scorers_layout_is_flat_and_cut_at_the_token(
    encoder: PreTrainedTokenizerBase, language: str
) -> None:
    flat = WHOLE[language]
    for tag, theirs in (
        ("salesperson:", "[ASSISTANT]"),
        ("customer:", "[USER]"),
        ("销售：", "[ASSISTANT] "),
        ("客户：", "[USER] "),
    ):
        flat = flat.replace(tag, theirs)
    whole = encoder(flat)["input_ids"]
    for size in range(20, len(whole) + 1):
        settings = _settings(language, layout="saleintent", max_tokens=size)
        ids = encode_ending(DIALOGUES[language].turns, encoder, settings)
        assert ids == [whole[0], *whole[1:-1][-(size - 2) :], whole[-1]]


def test_a_tokenizer_without_text_marks_is_refused(tokenizer: PreTrainedTokenizerBase) -> None:
    with pytest.raises(InputError, match="marks no start and end of a text"):
        encode_ending(EN.turns, tokenizer, _settings("en"))


def _scorer(
    folder: Path, out: Path, settings: IntentSettings | None, logits: list[float], names: str = ""
) -> Path:
    """Saves a classifier whose logits are the same for every text."""
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=len(logits))
    head = model.classifier if hasattr(model.classifier, "bias") else model.classifier.out_proj
    with torch.no_grad():
        head.weight.zero_()
        head.bias.copy_(torch.tensor(logits))
    if settings is not None:
        install(model.config, settings)
    else:
        model.config.id2label = dict(enumerate(names))
        model.config.label2id = {name: i for i, name in enumerate(names)}
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(folder).save_pretrained(out)
    return out


def test_expected_and_argmax(encoders: dict[str, Path], language: str, tmp_path: Path) -> None:
    logits = torch.tensor([0.3, 0.5, 0.2]).log().tolist()
    labels = {"cold": 1.0, "warm": 4.0, "hot": 9.0}
    buying = {"expected": 0.3 * 1 + 0.5 * 4 + 0.2 * 9, "argmax": 4.0}
    for way, score in buying.items():
        settings = IntentSettings(language, labels, score=way, max_tokens=20)  # type: ignore[arg-type]
        path = _scorer(encoders[language], tmp_path / way, settings, logits)
        scorer = IntentScorer.load(path)
        assert asdict(scorer.settings) == asdict(settings)  # all of it lives in the model's config
        (result,) = scorer.score([DIALOGUES[language]])
        assert result.buying == pytest.approx(score, abs=1e-5)
        assert result.label == "warm"
        assert result.probabilities == pytest.approx({"cold": 0.3, "warm": 0.5, "hot": 0.2})
        config = scorer.model.config
        assert [config.id2label[i] for i in range(3)] == list(labels)


def test_binary_is_ten_times_the_probability_of_buying(
    encoders: dict[str, Path], tmp_path: Path
) -> None:
    logits = torch.tensor([0.2, 0.8]).log().tolist()
    path = _scorer(encoders["en"], tmp_path, _settings("en"), logits)
    (result,) = IntentScorer.load(path, "en").score([EN])
    assert result.buying == pytest.approx(8.0, abs=1e-5)
    with pytest.raises(InputError, match="this scorer reads en, not zh"):
        IntentScorer.load(path, "zh")
    with pytest.raises(InputError, match="dialogue 'd' is zh; the scorer reads en"):
        IntentScorer.load(path).score([ZH])


def test_a_scorer_with_the_released_labels_is_read_as_theirs(
    encoders: dict[str, Path], tmp_path: Path
) -> None:
    path = _scorer(encoders["zh"], tmp_path / "five", None, [0.0, 0.0, 2.0, 0.0, 1.0], "FXACB")
    scorer = IntentScorer.load(path, "zh")
    assert (scorer.settings.layout, scorer.settings.max_tokens) == ("saleintent", 128)
    assert scorer.settings.labels == {"F": 2.0, "X": 4.0, "A": 10.0, "C": 6.0, "B": 8.0}
    assert scorer.score([ZH])[0].buying == 10.0
    with pytest.raises(InputError, match="does not say which language"):
        IntentScorer.load(path)
    other = _scorer(encoders["zh"], tmp_path / "two", None, [0.0, 1.0], "NP")
    with pytest.raises(InputError, match="its labels are N, P, and nothing says"):
        IntentScorer.load(other, "zh")
    with pytest.raises(InputError, match="cannot load the intent scorer"):
        IntentScorer.load(tmp_path / "absent")


def test_scores_do_not_depend_on_the_batch(encoders: dict[str, Path], tmp_path: Path) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(encoders["en"], num_labels=2)
    install(model.config, _settings("en"))
    scorer = IntentScorer(model, AutoTokenizer.from_pretrained(encoders["en"]), _settings("en"))
    turns = [("s", turn.text) if i % 2 else ("c", turn.text) for i, turn in enumerate(EN.turns)]
    many = [_dialogue("en", *turns[: 2 + i % 3], id=str(i)) for i in range(7)]
    alone = [scorer.score([d])[0].buying for d in many]
    assert len(set(alone)) == 3  # it does depend on the text
    assert [s.buying for s in scorer.score(many, batch_size=3)] == pytest.approx(alone, abs=1e-4)
