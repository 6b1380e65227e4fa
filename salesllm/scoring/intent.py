"""Buying intent: an encoder reads the end of a dialogue, and its label has a worth from 0 to 10."""

from __future__ import annotations

import copy
import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from salesllm.dialogue import Dialogue, Language
from salesllm.errors import InputError
from salesllm.scoring.ending import SCHEMAS, IntentSettings, encode_endings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_WINDOW = 2048  # dialogues in memory at once
_STEP = 16  # lengths in a batch are rounded up to a multiple of it
_SAMPLE = 100  # one of so many is read in both precisions, sure or not
_MARGIN = 3.0  # a lead so many times what rounding was seen to do is safe from it

Ending = tuple[int, ...]
Logits = npt.NDArray[np.float64]


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


class IntentScorer:
    """A fine-tuned encoder that scores dialogues of one language."""

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase, settings: IntentSettings):
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.settings = settings
        # By digest: a precision rounds by the batch, and who said the same gets the same score.
        self._known: dict[tuple[bytes, bool], Logits] = {}

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
        _finish_first_token_only(model)
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

        A CPU with bfloat16 arithmetic reads them in it first, which is several times as fast, and
        in full precision again what it is not sure of, and a sample. Labels stay the same; scores
        by the tiny recipes' scorers changed by 0.07 at most and by 0.001 on average.

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
            keys = {ending: (_digest(ending), exact) for ending in endings}
            new = self._read([e for e, key in keys.items() if key not in self._known], exact)
            self._known |= {keys[ending]: logits for ending, logits in new.items()}
            yield from (self._score(self._known[keys[ending]]) for ending in endings)

    def _read(self, endings: Sequence[Ending], exact: bool) -> dict[Ending, Logits]:
        """Each ending's logits, in the order of the classifier's outputs."""
        if exact or self._half is None or not endings:
            return self._logits(self.model, endings)
        quick = self._logits(self._half, endings)
        lead = {ending: float(np.diff(np.sort(logits)[-2:])[0]) for ending, logits in quick.items()}
        doubtful = [ending for ending in quick if lead[ending] < self._sure]
        again = self._logits(self.model, [*doubtful, *list(quick)[::_SAMPLE]])
        # Rounding has moved these by so much: what it might have turned is read again, too.
        moved = max(float(np.ptp(again[ending] - quick[ending])) for ending in again)
        turned = [e for e in quick if e not in again and lead[e] < _MARGIN * moved]
        return quick | again | self._logits(self.model, turned)

    def _logits(self, model: Any, endings: Iterable[Ending]) -> dict[Ending, Logits]:
        """Reads every ending once, however often it is given."""
        import torch

        found: dict[Ending, Logits] = {}
        for width, batch in self._batches(endings):
            inputs = self.tokenizer.pad(
                {"input_ids": list(map(list, batch))},
                padding="max_length",
                max_length=width,
                return_tensors="pt",
            )
            with torch.inference_mode():
                logits = model(**inputs.to(model.device)).logits
            found |= zip(batch, logits.cpu().double().numpy(), strict=True)
        return found

    @cached_property
    def _half(self) -> Any:
        """The model in bfloat16; None where that would not be faster."""
        import torch

        known: Any = getattr(torch.cpu, "get_capabilities", dict)  # which older versions lack
        fast = self.model.device.type == "cpu" and known().get("avx512_bf16", False)
        if not fast or self.model.dtype != torch.float32:
            return None
        half = copy.deepcopy(self.model).to(torch.bfloat16)
        half.set_attn_implementation("eager")  # of these the faster one in bfloat16
        return half

    def _batches(self, endings: Iterable[Ending]) -> Iterator[tuple[int, list[Ending]]]:
        """Padded length and endings of each batch, every ending once.

        Lengths are rounded up: every new shape costs memory and time, a little padding does not.
        """
        groups: dict[int, list[Ending]] = defaultdict(list)
        for ending in dict.fromkeys(endings):
            rounded = math.ceil(len(ending) / _STEP) * _STEP
            groups[min(rounded, self.settings.max_tokens)].append(ending)
        for width, group in groups.items():
            rows = max(1, self._batch_tokens // width)
            for start in range(0, len(group), rows):
                yield width, group[start : start + rows]

    @property
    def _batch_tokens(self) -> int:
        # A CPU is fastest while a batch's activations stay in its cache.
        return 1024 if self.model.device.type == "cpu" else 65536

    @property
    def _sure(self) -> float:
        # So far is the likeliest label's logit above the next where it has 95 % of the two.
        return math.log(19) * self.settings.temperature

    def _score(self, logits: Logits) -> IntentScore:
        odds = np.exp((logits - logits.max()) / self.settings.temperature)
        by_label = dict(zip(self.settings.labels, (odds / odds.sum()).tolist(), strict=True))
        label = max(by_label, key=by_label.__getitem__)
        buying = self.settings.labels[label]
        if self.settings.score == "expected":
            buying = sum(p * self.settings.labels[name] for name, p in by_label.items())
        return IntentScore(buying, label, by_label, label == self.settings.purchase)


def _digest(ending: Ending) -> bytes:
    return hashlib.blake2b(np.array(ending, np.int32).tobytes(), digest_size=16).digest()


def _finish_first_token_only(model: Any) -> None:
    """Lets the last layer compute no more than the classifier reads: the first token.

    The others are still attended to, so the logits stay what they are. It saves most of a layer.
    """
    if model.config.model_type in ("bert", "roberta", "xlm-roberta"):
        after_attention = model.base_model.encoder.layer[-1].attention.output
        after_attention.register_forward_pre_hook(lambda _, states: tuple(s[:, :1] for s in states))


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
