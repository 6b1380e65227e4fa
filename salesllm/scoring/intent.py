"""Buying intent: an encoder reads the end of a dialogue, and its label has a worth from 0 to 10."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from salesllm.dialogue import Dialogue, Language, Speaker, Turn
from salesllm.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SCHEMAS: dict[str, dict[str, float]] = {
    "binary": {"not": 0.0, "buy": 10.0},
    # The released scorer's classes: strong, some and no intention, perfunctory, abusive.
    "saleintent": {"A": 10.0, "B": 8.0, "C": 6.0, "X": 4.0, "F": 2.0},
}
"""Label names with their worth, 0-10; the order is that of the classifier's outputs."""

Layout = Literal["salesllm", "saleintent"]

_TAGS: dict[tuple[Layout, Language], dict[Speaker, str]] = {
    ("salesllm", "en"): {Speaker.SALESPERSON: "salesperson:", Speaker.CUSTOMER: "customer:"},
    ("salesllm", "zh"): {Speaker.SALESPERSON: "销售：", Speaker.CUSTOMER: "客户："},
    ("saleintent", "en"): {Speaker.SALESPERSON: "[ASSISTANT]", Speaker.CUSTOMER: "[USER]"},
    ("saleintent", "zh"): {Speaker.SALESPERSON: "[ASSISTANT]", Speaker.CUSTOMER: "[USER]"},
}


@dataclass(frozen=True)
class IntentSettings:
    """How a scorer reads and counts; saved in its model config as `salesllm_intent`.

    Attributes:
        labels: Label to worth, 0-10, in the order of the classifier's outputs.
        score: `expected` sums probability times worth, which for the binary schema is
            10 * P(buy); `argmax` takes the likeliest label's worth, as the released scorer does.
        max_tokens: Tokens read from the end of the dialogue, special tokens included.
        layout: `salesllm` keeps whole turns where they fit; `saleintent` is the released scorer's
            flat text, cut at the token.
    """

    language: Language
    labels: dict[str, float]
    score: Literal["expected", "argmax"] = "expected"
    max_tokens: int = 128
    layout: Layout = "salesllm"


@dataclass(frozen=True)
class IntentScore:
    """One dialogue's buying score, 0-10, with the label and probabilities behind it."""

    buying: float
    label: str
    probabilities: dict[str, float]


def encode_ending(
    turns: Sequence[Turn], tokenizer: PreTrainedTokenizerBase, settings: IntentSettings
) -> list[int]:
    """Input ids of a dialogue's end: training rows and scoring inputs both come from here.

    Truncation drops the beginning. With the `salesllm` layout the kept part starts at a turn
    unless the last turn alone is too long, which then keeps its tag and its own end.

    Raises:
        InputError: The tokenizer is not an encoder's, or `max_tokens` leaves no room for a turn.
    """
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id  # <s> and </s> in RoBERTa's
    if first is None or last is None:
        raise InputError(
            "the tokenizer marks no start and end of a text",
            path=tokenizer.name_or_path,
            field="model_name_or_path",
            fix="Take an encoder of the BERT or RoBERTa kind",
        )
    tags = _TAGS[settings.layout, settings.language]
    pieces: list[tuple[list[int], list[int]]] = []
    for turn in turns:
        tag = tokenizer.encode(tags[turn.speaker], add_special_tokens=False)
        said = turn.text.strip()
        text = tokenizer.encode(f" {said}\n", add_special_tokens=False)
        pieces.append((tag, text))
    budget = settings.max_tokens - 2
    if budget <= max(len(tag) for tag, _ in pieces):
        problem = f"{settings.max_tokens} tokens have no room for a turn"
        raise InputError(problem, field="max_tokens", fix="Raise max_tokens")
    kept: list[int] = []
    if settings.layout == "saleintent":
        kept = [token for tag, text in pieces for token in (*tag, *text)][-budget:]
    else:
        for tag, text in reversed(pieces):
            if len(tag) + len(text) + len(kept) > budget:
                kept = kept or tag + text[len(tag) - budget :]
                break
            kept = tag + text + kept
    return [first, *kept, last]


class IntentScorer:
    """A fine-tuned encoder that scores dialogues of one language."""

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase, settings: IntentSettings):
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.settings = settings

    @classmethod
    def load(cls, path: str | Path, language: Language | None = None) -> IntentScorer:
        """Loads a checkpoint of `train/intent.py`, or one with the released scorer's five labels.

        Args:
            language: Needed only for a checkpoint that does not say which language it reads.

        Raises:
            InputError: It is no such checkpoint, or reads another language.
        """
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        try:
            model = AutoModelForSequenceClassification.from_pretrained(path, use_safetensors=True)
            tokenizer = AutoTokenizer.from_pretrained(path)
        except (OSError, ValueError) as error:
            problem = f"cannot load the intent scorer: {str(error).splitlines()[0].rstrip('.')}"
            raise InputError(problem, path=path, fix="Name an output of train/intent.py") from None
        settings = _settings(model.config, path, language)
        if language is not None and settings.language != language:
            raise InputError(f"this scorer reads {settings.language}, not {language}", path=path)
        return cls(model.to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer, settings)

    def score(self, dialogues: Sequence[Dialogue], batch_size: int = 32) -> list[IntentScore]:
        """Scores dialogues, batched by length, in the order given.

        Raises:
            InputError: A dialogue is in another language than the scorer's.
        """
        import torch

        for dialogue in dialogues:
            if dialogue.language != self.settings.language:
                problem = f"dialogue {dialogue.id!r} is {dialogue.language}"
                raise InputError(f"{problem}; the scorer reads {self.settings.language}")
        inputs = [encode_ending(d.turns, self.tokenizer, self.settings) for d in dialogues]
        order = sorted(range(len(inputs)), key=lambda i: len(inputs[i]))
        scores: dict[int, IntentScore] = {}
        for start in range(0, len(order), batch_size):
            chunk = order[start : start + batch_size]
            batch = self.tokenizer.pad(
                {"input_ids": [inputs[i] for i in chunk]}, return_tensors="pt"
            ).to(self.model.device)
            with torch.inference_mode():
                probabilities = self.model(**batch).logits.float().softmax(-1).tolist()
            for i, row in zip(chunk, probabilities, strict=True):
                scores[i] = self._score(row)
        return [scores[i] for i in range(len(inputs))]

    def _score(self, probabilities: Sequence[float]) -> IntentScore:
        by_label = dict(zip(self.settings.labels, probabilities, strict=True))
        label = max(by_label, key=by_label.__getitem__)
        buying = self.settings.labels[label]
        if self.settings.score == "expected":
            buying = sum(p * self.settings.labels[name] for name, p in by_label.items())
        return IntentScore(buying, label, by_label)


def install(config: Any, settings: IntentSettings) -> None:
    """Writes the settings into a model config, from which `IntentScorer.load` reads them."""
    config.num_labels = len(settings.labels)
    config.id2label = dict(enumerate(settings.labels))
    config.label2id = {label: index for index, label in enumerate(settings.labels)}
    config.salesllm_intent = asdict(settings)


def _settings(config: Any, path: str | Path, language: Language | None) -> IntentSettings:
    labels = [config.id2label[i] for i in range(len(config.id2label))]
    saved = getattr(config, "salesllm_intent", None)
    if saved is not None:  # config.json sorts its keys: the order is id2label's
        worth = {label: saved["labels"][label] for label in labels}
        return IntentSettings(**saved | {"labels": worth})
    if set(labels) != set(SCHEMAS["saleintent"]):
        raise InputError(
            f"its labels are {', '.join(labels)}, and nothing says what they are worth",
            path=path,
            fix="Name an output of train/intent.py or a scorer with labels A, B, C, X, F",
        )
    if language is None:
        raise InputError("the scorer does not say which language it reads", path=path)
    worth = {label: SCHEMAS["saleintent"][label] for label in labels}
    return IntentSettings(language, worth, score="argmax", layout="saleintent")
