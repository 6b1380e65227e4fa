"""Buying intent: an encoder reads the end of a dialogue, and its label has a worth from 0 to 10."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from salesllm.dialogue import Dialogue, Language, Speaker, Turn
from salesllm.errors import InputError
from salesllm.scoring.injection import defused

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SCHEMAS: dict[str, dict[str, float]] = {
    "binary": {"not": 0.0, "buy": 10.0},
    # The released scorer's classes: strong, some and no intention, perfunctory, abusive.
    "saleintent": {"A": 10.0, "B": 8.0, "C": 6.0, "X": 4.0, "F": 2.0},
}
"""Label names with their worth, 0-10; the order is that of the classifier's outputs."""

Layout = Literal["salesllm", "saleintent"]

_WINDOW = 2048  # dialogues that are sorted by length, and in memory, at once
_SURE = 0.99  # a likeliest label above it is the same in full precision

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
        temperature: Logits are divided by it, which changes no label; `eval/intent.py` fits it.
    """

    language: Language
    labels: dict[str, float]
    score: Literal["expected", "argmax"] = "expected"
    max_tokens: int = 128
    layout: Layout = "salesllm"
    temperature: float = 1.0

    @property
    def purchase(self) -> str:
        """The label that means a purchase, the one worth most: `buy`, or A, but not B.

        B of the released scorer's classes is an interest in which nothing is agreed.
        """
        return max(self.labels, key=self.labels.__getitem__)


@dataclass(frozen=True)
class IntentScore:
    """One dialogue's buying score, 0-10, with the label and probabilities behind it.

    Attributes:
        bought: Whether the likeliest label is the one that means a purchase.
    """

    buying: float
    label: str
    probabilities: dict[str, float]
    bought: bool


def encode_ending(
    turns: Sequence[Turn], tokenizer: PreTrainedTokenizerBase, settings: IntentSettings
) -> list[int]:
    """`encode_endings` of one dialogue."""
    return encode_endings([turns], tokenizer, settings)[0]


def encode_endings(
    dialogues: Sequence[Sequence[Turn]],
    tokenizer: PreTrainedTokenizerBase,
    settings: IntentSettings,
) -> list[list[int]]:
    """Input ids of each dialogue's end: training rows and scoring inputs both come from here.

    Truncation drops the beginning. With the `salesllm` layout the kept part starts at a turn
    unless the last turn alone is too long, which then keeps its tag and its own end. No turn can
    pass for two: what reads as a speaker's tag or as a special token in a turn's text is none.

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
    tags = {
        speaker: tokenizer.encode(tag, add_special_tokens=False)
        for speaker, tag in _TAGS[settings.layout, settings.language].items()
    }
    budget = settings.max_tokens - 2
    if budget <= max(map(len, tags.values())):
        problem = f"{settings.max_tokens} tokens have no room for a turn"
        raise InputError(problem, field="max_tokens", fix="Raise max_tokens")
    kept: list[list[int]] = [[] for _ in dialogues]
    # Turn by turn from the end, all dialogues at once: no more is tokenised than has room.
    unfilled, full, back = list(range(len(dialogues))), set[int](), 0
    while unfilled := [i for i in unfilled if i not in full and back < len(dialogues[i])]:
        back += 1
        turns = [dialogues[i][-back] for i in unfilled]
        texts = tokenizer(
            [f" {defused(turn.text.strip())}\n" for turn in turns],
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,  # of a turn longer than the model's positions, which is cut below
        )["input_ids"]
        for i, turn, text in zip(unfilled, turns, texts, strict=True):
            tag = tags[turn.speaker]
            whole = [*tag, *text, *kept[i]]
            if len(whole) <= budget:
                kept[i] = whole
                continue
            full.add(i)
            if settings.layout == "saleintent":
                kept[i] = whole[-budget:]
            elif not kept[i]:
                kept[i] = [*tag, *text[len(tag) - budget :]]
    return [[first, *ids, last] for ids in kept]


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

    def save(self, folder: str | Path) -> None:
        """Saves a checkpoint that `load` reads, with the settings as they are now."""
        install(self.model.config, self.settings)
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def score(self, dialogues: Iterable[Dialogue], *, exact: bool = False) -> list[IntentScore]:
        """`stream` as a list."""
        return list(self.stream(dialogues, exact=exact))

    def stream(
        self, dialogues: Iterable[Dialogue], *, exact: bool = False
    ) -> Iterator[IntentScore]:
        """Scores dialogues in the order given, of which only some are in memory at once.

        A CPU with bfloat16 arithmetic reads them in it first, which is three times as fast, and in
        full precision again what it is not `_SURE` of: the labels are those of full precision, and
        no score that was measured was 0.01 off.

        Args:
            exact: Read everything in full precision.

        Raises:
            InputError: A dialogue is in another language than the scorer's.
        """
        queue = iter(dialogues)
        while window := list(islice(queue, _WINDOW)):
            for dialogue in window:
                if dialogue.language != self.settings.language:
                    problem = f"dialogue {dialogue.id!r} is {dialogue.language}"
                    raise InputError(f"{problem}; the scorer reads {self.settings.language}")
            turns = [dialogue.turns for dialogue in window]
            endings = [tuple(e) for e in encode_endings(turns, self.tokenizer, self.settings)]
            found = self._read(endings, exact)
            yield from (found[ending] for ending in endings)

    def _read(
        self, endings: Iterable[tuple[int, ...]], exact: bool
    ) -> dict[tuple[int, ...], IntentScore]:
        """Each ending's score; equal ones are read once."""
        unread = sorted(dict.fromkeys(endings), key=len)
        found: dict[tuple[int, ...], IntentScore] = {}
        for model in (self.model,) if exact or self._half is None else (self._half, self.model):
            for batch in _batches(unread, self._batch_tokens):
                found |= zip(
                    batch, map(self._score, self._probabilities(model, batch)), strict=True
                )
            unread = [e for e in unread if max(found[e].probabilities.values()) < _SURE]
        return found

    def _probabilities(self, model: Any, batch: Sequence[tuple[int, ...]]) -> list[list[float]]:
        """Of every label, in the order of the classifier's outputs."""
        import torch

        inputs = self.tokenizer.pad({"input_ids": list(map(list, batch))}, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**inputs.to(model.device)).logits.float()
        rows: list[list[float]] = (logits / self.settings.temperature).softmax(-1).tolist()
        return rows

    @cached_property
    def _half(self) -> Any:
        """The model in bfloat16; None where that would not be faster."""
        import torch

        capabilities = getattr(torch.cpu, "get_capabilities", dict)()  # not in every version
        fast = capabilities.get("avx512_bf16", False)
        if self.model.device.type != "cpu" or self.model.dtype != torch.float32 or not fast:
            return None
        return copy.deepcopy(self.model).to(torch.bfloat16)

    @property
    def _batch_tokens(self) -> int:
        # A CPU is fastest while a batch's activations stay in its cache.
        return 1024 if self.model.device.type == "cpu" else 65536

    def _score(self, probabilities: Sequence[float]) -> IntentScore:
        by_label = dict(zip(self.settings.labels, probabilities, strict=True))
        label = max(by_label, key=by_label.__getitem__)
        buying = self.settings.labels[label]
        if self.settings.score == "expected":
            buying = sum(p * self.settings.labels[name] for name, p in by_label.items())
        return IntentScore(buying, label, by_label, label == self.settings.purchase)


def _batches(
    endings: Sequence[tuple[int, ...]], tokens: int
) -> Iterator[Sequence[tuple[int, ...]]]:
    """Cuts what is sorted by length into batches of at most so many tokens, padding included."""
    start = 0
    for end, ending in enumerate(endings):
        if end > start and (end - start + 1) * len(ending) > tokens:
            yield endings[start:end]
            start = end
    if start < len(endings):
        yield endings[start:]


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
