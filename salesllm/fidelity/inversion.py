"""Role inversion by a trained detector: does this turn sound like the salesperson?

The ground truth is free: in any dialogue of people, the salesperson's turns are what an inverted
customer would say. One classifier a language, n-gram TF-IDF and logistic regression, is fitted to
the turns of training dialogues. It errs, on people too: a rate means something only beside the
rate that human customers get from the same detector (the floor) and its held-out accuracy.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import FeatureUnion

from salesllm.dialogue import Dialogue, Language, Speaker
from salesllm.errors import InputError
from salesllm.stats import Interval, proportion

Array = npt.NDArray[np.float64]

THRESHOLD = 0.5

# Word features keep punctuation, since a question mark tells more about who speaks than most words.
_FEATURES: dict[Language, tuple[dict[str, Any], ...]] = {
    "en": (
        {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"\w+|[^\w\s]"},
        {"analyzer": "char_wb", "ngram_range": (2, 5)},
    ),
    "zh": ({"analyzer": "char", "ngram_range": (1, 4)},),
}


class CustomerTurn(NamedTuple):
    """A turn to judge, and the dialogue it clusters with."""

    dialogue_id: str
    language: Language
    text: str


@dataclass(frozen=True)
class DetectorReport:
    """How far to trust a detector in one language, from dialogues it was not fitted to.

    Attributes:
        accuracy: Share of turns, of both speakers, whose speaker it names; clustered by dialogue.
        majority: The accuracy of always naming the speaker with more turns.
        auc: Area under the ROC curve, 0-1.
        reference_rate: Share of human customers' turns that it takes for a salesperson's.
    """

    accuracy: Interval
    majority: float
    auc: float
    reference_rate: Interval

    def as_dict(self) -> dict[str, Any]:
        return {
            "accuracy": self.accuracy.as_dict(),
            "majority": self.majority,
            "auc": self.auc,
            "reference_rate": self.reference_rate.as_dict("rate", "turns"),
        }


class _Lookup(NamedTuple):
    """One vectorizer: what it makes of a text, and its figures by column."""

    analyze: Callable[[str], list[str]]
    columns: Mapping[str, int]
    idf: Sequence[float]
    weights: Sequence[float]


@dataclass(frozen=True)
class _Classifier:
    """One language: vectorizers side by side, and the weights over their columns."""

    features: FeatureUnion
    weights: Array
    bias: float

    def __call__(self, texts: Sequence[str]) -> Array:
        return 1 / (1 + np.exp(-(self.features.transform(texts) @ self.weights + self.bias)))

    @functools.cached_property
    def _lookups(self) -> list[_Lookup]:
        lookups, start = [], 0
        for _, vectorizer in self.features.transformer_list:
            end = start + len(vectorizer.vocabulary_)
            weights = self.weights[start:end].tolist()
            idf = vectorizer.idf_.tolist()
            analyze = vectorizer.build_analyzer()
            lookups.append(_Lookup(analyze, vectorizer.vocabulary_, idf, weights))
            start = end
        return lookups

    def one(self, text: str) -> float:
        """`self([text])[0]` without matrices, whose upkeep costs many times the sum itself."""
        score = self.bias
        for analyze, columns, idf, weights in self._lookups:
            dot = square = 0.0
            for ngram, count in Counter(analyze(text)).items():
                if (column := columns.get(ngram)) is not None:
                    value = (1 + math.log(count)) * idf[column]
                    dot += value * weights[column]
                    square += value * value
            if square:
                score += dot / math.sqrt(square)
        return 1 / (1 + math.exp(-score))


class SpeakerDetector:
    """Tells a salesperson's turn from a customer's by its text alone."""

    def __init__(self, classifiers: dict[Language, _Classifier], seen: frozenset[str]) -> None:
        self._classifiers, self._seen = classifiers, seen

    @property
    def languages(self) -> tuple[Language, ...]:
        return tuple(self._classifiers)

    @classmethod
    def fit(cls, dialogues: Sequence[Dialogue]) -> SpeakerDetector:
        """Fits one classifier for every language that occurs, both speakers weighing the same.

        It is deterministic: the same dialogues give the same detector.

        Raises:
            InputError: There are no dialogues.
        """
        if not dialogues:
            raise InputError("a speaker detector needs dialogues to fit to")
        classifiers = {
            language: _fit([d for d in dialogues if d.language == language])
            for language in sorted({d.language for d in dialogues})
        }
        return cls(classifiers, frozenset(f for d in dialogues for f in _fingerprints(d)))

    def predict_proba(self, texts: Sequence[str], language: Language) -> Array:
        """P(salesperson) of each text, shape (len(texts),).

        Raises:
            InputError: The detector was fitted to no dialogue in that language.
        """
        classifier = self._classifier(language)
        if not len(texts):
            return np.empty(0)
        return classifier([_normal(text) for text in texts])

    def p_salesperson(self, text: str, language: Language) -> float:
        """`predict_proba` of one text, in a tenth of the time: for judging turns as they come."""
        return self._classifier(language).one(_normal(text))

    def _classifier(self, language: Language) -> _Classifier:
        if language not in self._classifiers:
            raise InputError(
                f"the speaker detector has seen no dialogue in {language!r}",
                field="detector_train",
                fix="Add training dialogues in that language",
            )
        return self._classifiers[language]

    def judge(self, turns: Sequence[CustomerTurn]) -> Array:
        """P(salesperson) of each customer turn, in any mix of languages, shape (len(turns),)."""
        probability = np.empty(len(turns))
        for language in {turn.language for turn in turns}:
            rows = [i for i, turn in enumerate(turns) if turn.language == language]
            probability[rows] = self.predict_proba([turns[i].text for i in rows], language)
        return probability

    def inversion_rate(self, turns: Sequence[CustomerTurn]) -> Interval:
        """Flagged turns / all turns (A.1), with an interval clustered by dialogue."""
        flagged = self.judge(turns) >= THRESHOLD
        return proportion(flagged, [turn.dialogue_id for turn in turns])

    def evaluate(self, dialogues: Sequence[Dialogue]) -> dict[Language, DetectorReport]:
        """Measures the detector on held-out dialogues, language by language.

        Raises:
            InputError: The detector was fitted to one of the dialogues, whole or by its id.
        """
        for dialogue in dialogues:
            if not self._seen.isdisjoint(_fingerprints(dialogue)):
                raise InputError(
                    f"the speaker detector was fitted to dialogue {dialogue.id!r}",
                    fix="Measure it on held-out dialogues; a copy under another id is none",
                )
        return {
            language: self._report([d for d in dialogues if d.language == language], language)
            for language in sorted({d.language for d in dialogues})
        }

    def _report(self, dialogues: Sequence[Dialogue], language: Language) -> DetectorReport:
        texts, is_sales, ids = _turns(dialogues)
        probability = self.predict_proba(texts, language)
        flagged = probability >= THRESHOLD
        customer = ~is_sales
        share = float(is_sales.mean())
        return DetectorReport(
            accuracy=proportion(flagged == is_sales, ids),
            majority=max(share, 1 - share),
            auc=float(roc_auc_score(is_sales, probability)),
            reference_rate=proportion(flagged[customer], ids[customer]),
        )

    def save(self, path: str | Path) -> None:
        """Writes one `.npz` of plain arrays: no pickle, so loading a file can run nothing."""
        arrays: dict[str, npt.NDArray[Any]] = {"seen": np.array(sorted(self._seen))}
        for language, classifier in self._classifiers.items():
            arrays[f"{language}.weights"] = classifier.weights
            arrays[f"{language}.bias"] = np.array(classifier.bias)
            for i, vectorizer in classifier.features.transformer_list:
                names = json.dumps(vectorizer.get_feature_names_out().tolist(), ensure_ascii=False)
                arrays[f"{language}.{i}.names"] = np.frombuffer(names.encode(), dtype=np.uint8)
                arrays[f"{language}.{i}.idf"] = vectorizer.idf_
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        with temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        temporary.replace(path)

    @classmethod
    def load(cls, path: str | Path) -> SpeakerDetector:
        """Reads what `save` wrote.

        Raises:
            InputError: The file is missing or is not a saved detector.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                classifiers = {
                    language: _restore(language, arrays)
                    for language in _FEATURES
                    if f"{language}.weights" in arrays
                }
                return cls(classifiers, frozenset(arrays["seen"].tolist()))
        except FileNotFoundError:
            raise InputError("no such file", path=path, fix="Check the path") from None
        except (KeyError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"not a saved speaker detector: {error}", path=path) from None


def _fit(dialogues: Sequence[Dialogue]) -> _Classifier:
    texts, is_sales, _ = _turns(dialogues)
    features = FeatureUnion(
        [(str(i), _vectorizer(s)) for i, s in enumerate(_FEATURES[dialogues[0].language])]
    )
    model = LogisticRegression(class_weight="balanced", max_iter=1000)
    model.fit(features.fit_transform([_normal(text) for text in texts]), is_sales)
    return _Classifier(features, model.coef_[0], float(model.intercept_[0]))


def _restore(language: Language, arrays: Mapping[str, npt.NDArray[Any]]) -> _Classifier:
    vectorizers = []
    for i, settings in enumerate(_FEATURES[language]):
        names = json.loads(arrays[f"{language}.{i}.names"].tobytes())
        vectorizer = _vectorizer(settings, vocabulary=names)
        vectorizer.idf_ = arrays[f"{language}.{i}.idf"]
        vectorizers.append((str(i), vectorizer))
    weights, bias = arrays[f"{language}.weights"], float(arrays[f"{language}.bias"])
    return _Classifier(FeatureUnion(vectorizers), weights, bias)


def _vectorizer(settings: dict[str, Any], **more: Any) -> TfidfVectorizer:
    return TfidfVectorizer(lowercase=False, sublinear_tf=True, **settings, **more)


def _turns(
    dialogues: Iterable[Dialogue],
) -> tuple[list[str], npt.NDArray[np.bool_], npt.NDArray[np.str_]]:
    """Text, whether the salesperson said it, and dialogue id of every turn."""
    turns = [(turn, d.id) for d in dialogues for turn in d.turns]
    is_sales = np.array([turn.speaker is Speaker.SALESPERSON for turn, _ in turns])
    return [turn.text for turn, _ in turns], is_sales, np.array([i for _, i in turns])


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def _fingerprints(dialogue: Dialogue) -> tuple[str, str]:
    """By id and by content: a copy under another id is still the same dialogue."""
    said = "\n".join(f"{turn.speaker.value}: {turn.text}" for turn in dialogue.turns)
    return _digest(dialogue.id), _digest(said)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
