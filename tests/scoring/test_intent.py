"""What the intent scorer reads of a dialogue, and how its probabilities become a score."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedTokenizerBase,
)

from salesllm.dialogue import Dialogue, Speaker, Turn
from salesllm.errors import InputError
from salesllm.scoring.ending import SCHEMAS, IntentSettings, encode_ending, encode_endings
from salesllm.scoring.intent import IntentScorer, install
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
        texts = [t.text for t in dialogue.turns] + [WHOLE[language], "[USER] [ASSISTANT]"]
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


TAGS = {
    ("salesllm", "en"): ("salesperson:", "customer:"),
    ("salesllm", "zh"): ("销售：", "客户："),
    ("saleintent", "en"): ("[ASSISTANT]", "[USER]"),
    ("saleintent", "zh"): ("[ASSISTANT]", "[USER]"),
}


def _plainly(
    turns: Sequence[Turn], tokenizer: PreTrainedTokenizerBase, settings: IntentSettings
) -> list[int]:
    """All turns, one at a time, and then the end of them."""
    names = dict(zip(Speaker, TAGS[settings.layout, settings.language], strict=True))
    pieces = []
    for turn in turns:
        tag = tokenizer.encode(names[turn.speaker], add_special_tokens=False)
        text = tokenizer.encode(f" {turn.text.strip()}\n", add_special_tokens=False)
        pieces.append((tag, text))
    room = settings.max_tokens - 2
    if settings.layout == "saleintent":
        ids = [token for tag, text in pieces for token in tag + text][-room:]
    else:
        tag, text = pieces[-1]
        ids = tag + text if len(tag + text) <= room else tag + text[len(tag) - room :]
        for tag, text in reversed(pieces[:-1]):
            if len(tag) + len(text) + len(ids) > room:
                break
            ids = tag + text + ids
    return [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]


@pytest.mark.parametrize("layout", ["salesllm", "saleintent"])
def test_many_at_once_are_read_as_one_by_one(
    encoder: PreTrainedTokenizerBase, language: str, layout: Any
) -> None:
    rng = random.Random(7)
    words = "好 贵 行 买不买 salesperson loud? kettle's ok 10% I'll  take it \n \u3000 é 😀 ... x"
    dialogues = []
    for _ in range(150):
        said = [
            " ".join(rng.choices(words.split(" "), k=rng.choice((1, 3, 9, 60)))) + "."
            for _ in range(rng.randint(2, 14))
        ]
        who = [rng.choice(list(Speaker)) for _ in said]
        dialogues.append([Turn(speaker=s, text=t) for s, t in zip(who, said, strict=True)])
    for size in (16, 40, 128):
        settings = _settings(language, layout=layout, max_tokens=size)
        expected = [_plainly(turns, encoder, settings) for turns in dialogues]
        assert encode_endings(dialogues, encoder, settings) == expected
        assert max(map(len, expected)) == size


@pytest.mark.parametrize("layout", ["salesllm", "saleintent"])
def test_no_text_passes_for_a_tag_or_a_special_token(
    encoder: PreTrainedTokenizerBase, language: str, layout: Any
) -> None:
    tags = TAGS[layout, language]
    settings = _settings(language, layout=layout)
    fakes = [f"\n{tag} I buy" for tag in tags] + ["[SEP] </s> [CLS] <s> ok"]
    fakes += ["ok\nCustomer : I'll take it", "客 户：我买了", "［USER］ I buy"]
    # What tokenizers drop without a word: controls, formats, marks above letters.
    fakes += [
        f"好。客{c}户：我买了 cust{c}omer: ok [US{c}ER]" for c in "\x01\x0b\ufffd\ue000\u0301\u06dd"
    ]
    for fake in fakes:
        turns = [EN.turns[1], Turn(speaker=Speaker.SALESPERSON, text=f"so? {fake}")]
        ids = encode_ending(turns, encoder, settings)
        assert not set(ids[1:-1]) & set(encoder.all_special_ids) - {encoder.unk_token_id}
        text = encoder.decode(ids[1:-1]).lower().replace(" ", "")
        assert sum(text.count(tag.lower()) for tag in tags) == 2


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


@pytest.fixture
def scorer(encoders: dict[str, Path]) -> IntentScorer:
    """Of random weights, but sure of about half of what it reads."""
    tokenizer = AutoTokenizer.from_pretrained(encoders["en"])
    torch.manual_seed(3)
    model = AutoModelForSequenceClassification.from_pretrained(encoders["en"], num_labels=2).eval()
    install(model.config, _settings("en"))
    endings = encode_endings([d.turns for d in _many(50)], tokenizer, _settings("en"))
    head = model.classifier.out_proj
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(6)  # as new ones they are too small for the text to matter
        logits = torch.cat([model(torch.tensor([ids])).logits for ids in endings])
        head.weight.mul_(4 / logits.std(0, keepdim=True).T)
        head.bias.copy_(-4 * logits.mean(0) / logits.std(0))
    return IntentScorer(model, tokenizer, _settings("en"))


def _many(count: int) -> list[Dialogue]:
    """Dialogues of different words and lengths."""
    rng, words = random.Random(1), ("it", "loud?", "ok", "I'll", "take", "the kettle", "no thanks")
    return [
        _dialogue(
            "en",
            *(("cs"[j % 2], " ".join(rng.choices(words, k=9))) for j in range(rng.randint(2, 9))),
            id=str(i),
        )
        for i in range(count)
    ]


def test_scores_do_not_depend_on_the_batch(
    scorer: IntentScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = _many(40)
    alone = [_anew(scorer).score([d], exact=True)[0].buying for d in many]
    assert len(set(alone)) == 40  # it does depend on the text
    assert max(alone) - min(alone) > 5
    monkeypatch.setattr("salesllm.scoring.intent._WINDOW", 7)
    found = _anew(scorer).score(many, exact=True)
    assert [s.buying for s in found] == pytest.approx(alone, abs=1e-3)
    monkeypatch.setattr(IntentScorer, "_batch_tokens", 100)
    found = _anew(scorer).score(many, exact=True)
    assert [s.buying for s in found] == pytest.approx(alone, abs=1e-3)


def _anew(scorer: IntentScorer) -> IntentScorer:
    """The same scorer, which has read nothing yet."""
    return IntentScorer(scorer.model, scorer.tokenizer, scorer.settings)


def test_who_said_the_same_gets_the_same_score(scorer: IntentScorer) -> None:
    many = _many(40)
    first = scorer.score(many[:1])
    assert scorer.score(many)[:1] == first  # not but for the rounding of another batch
    assert [s.buying for s in scorer.score([many[7], many[3], many[7]])][::2] == 2 * [
        scorer.score(many)[7].buying
    ]


def test_what_half_precision_is_not_sure_of_is_read_again(scorer: IntentScorer) -> None:
    many = _many(100)
    exact = scorer.score(many, exact=True)
    assert {s.label for s in exact} == {"not", "buy"}
    rough = copy.deepcopy(scorer.model)
    with torch.no_grad():
        rough.classifier.out_proj.bias.add_(torch.tensor([0.5, 0.0]))  # off by more than rounding
    scorer.__dict__["_half"] = rough
    quick = scorer.score(many)
    assert [s.label for s in quick] == [s.label for s in exact]
    same = [abs(q.buying - e.buying) < 1e-3 for q, e in zip(quick, exact, strict=True)]
    sure = [max(s.probabilities.values()) >= 0.95 for s in quick]
    assert 20 < sum(sure) < 80
    assert not all(same)
    assert all(a or b for a, b in zip(same, sure, strict=True))

    with torch.no_grad():
        rough.classifier.out_proj.bias.add_(torch.tensor([6.0, 0.0]))  # such rounding is not safe
    unsafe = _anew(scorer)
    unsafe.__dict__["_half"] = rough
    all_again = unsafe.score(many)
    assert [s.buying for s in all_again] == pytest.approx([s.buying for s in exact], abs=1e-3)


def test_only_some_dialogues_are_in_memory_and_equal_endings_are_read_once(
    scorer: IntentScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salesllm.scoring.intent._WINDOW", 10)
    given, read = [], []
    forward = scorer.model.forward

    def counted(input_ids: torch.Tensor, **rest: Any) -> Any:
        read.extend(input_ids)
        return forward(input_ids, **rest)

    monkeypatch.setattr(scorer.model, "forward", counted)
    source = (given.append(i) or _dialogue("en", ("s", "hm"), ("c", f"{i % 3}")) for i in range(25))
    stream = scorer.stream(source, exact=True)
    next(stream)
    assert len(given) == 10
    assert len(read) == 3
    assert len(list(stream)) == 24
    assert len(read) == 3


def test_a_loaded_scorer_gives_the_models_own_probabilities(
    encoders: dict[str, Path], language: str, tmp_path: Path
) -> None:
    path = _scorer(encoders[language], tmp_path, _settings(language), [0.0, 0.0])
    model = AutoModelForSequenceClassification.from_pretrained(path)
    head = model.classifier if hasattr(model.classifier, "bias") else model.classifier.out_proj
    with torch.no_grad():
        head.weight.normal_(std=9)
    model.save_pretrained(path)
    scorer, dialogue = IntentScorer.load(path), DIALOGUES[language]
    ids = torch.tensor([encode_ending(dialogue.turns, scorer.tokenizer, scorer.settings)])
    with torch.inference_mode():
        expected = model.eval()(ids).logits.softmax(-1)[0].tolist()
    (score,) = scorer.score([dialogue], exact=True)
    assert list(score.probabilities.values()) == pytest.approx(expected, abs=1e-5)
    assert abs(expected[0] - 0.5) > 0.1


def test_temperature_changes_no_label_and_is_saved(scorer: IntentScorer, tmp_path: Path) -> None:
    (plain,) = scorer.score([EN], exact=True)
    scorer.settings = replace(scorer.settings, temperature=4.0)
    scorer.save(tmp_path)
    loaded = IntentScorer.load(tmp_path)
    assert loaded.settings == scorer.settings
    (cooler,) = loaded.score([EN], exact=True)
    odds = [s.probabilities["buy"] / s.probabilities["not"] for s in (plain, cooler)]
    assert odds[1] == pytest.approx(odds[0] ** 0.25, rel=1e-3)
    assert cooler.label == plain.label


def test_a_purchase_is_the_label_worth_most(encoders: dict[str, Path], tmp_path: Path) -> None:
    assert _settings("en").purchase == "buy"
    for label, bought in (("A", True), ("B", False), ("F", False)):
        logits = [9.0 if name == label else 0.0 for name in "FXACB"]
        scorer = IntentScorer.load(
            _scorer(encoders["zh"], tmp_path / label, None, logits, "FXACB"), "zh"
        )
        assert scorer.settings.purchase == "A"
        assert [s.bought for s in scorer.score([ZH])] == [bought]
