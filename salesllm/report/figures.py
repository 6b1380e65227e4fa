"""The figures of a run's `summary.json`, read and put into words.

A figure that is absent or null was not measured, and is shown as such: never as zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STAGES = {"base": "Base", "sft": "SFT", "dpo": "DPO"}
"""The stages of training, in order, by their keys in the summary."""

PEOPLE = "reference"
"""The key of the human customers among the stages."""

METRICS = {
    "bleu4": "BLEU-4",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "cosine": "Cosine",
}
SCORES = {"buying": "Buying", "selling": "Selling", "final": "Final"}
LANGUAGES = {"zh": "Chinese", "en": "English"}

MISSING = "not measured"


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% interval, as far as the summary has them.

    Attributes:
        n: What it was measured on (turns, dialogues).
        unscored: How many of those could not be scored.
    """

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    unscored: int = 0


@dataclass(frozen=True)
class Intent:
    """One intent scorer on held-out dialogues.

    Attributes:
        majority: Accuracy of always answering the commonest label.
        confusion: Counts; rows are true labels, columns predicted ones.
    """

    accuracy: Estimate
    f1: float | None
    majority: float | None
    labels: list[str]
    confusion: list[list[int]]


@dataclass(frozen=True)
class Detector:
    """The speaker detector on held-out turns of both speakers.

    Attributes:
        majority: Accuracy of always naming the speaker with more turns.
        auc: Area under the ROC curve, 0-1.
    """

    accuracy: Estimate
    majority: float | None
    auc: float | None


def role_inversion(summary: Mapping[str, Any]) -> dict[str, Estimate]:
    """Rate of each stage in order, then of the human customers; unmeasured ones are left out."""
    rates = summary.get("role_inversion") or {}
    found = {key: estimate(rates.get(key), "rate", "turns") for key in (*STAGES, PEOPLE)}
    return {key: rate for key, rate in found.items() if rate is not None}


def likeness(summary: Mapping[str, Any]) -> dict[str, dict[str, Estimate]]:
    """Metric to stage to mean; every metric is there, if only empty."""
    stages = _stages(summary, "likeness")
    table: dict[str, dict[str, Estimate]] = {metric: {} for metric in METRICS}
    for stage, means in stages.items():
        for metric, row in table.items():
            low, high = (means.get("interval") or {}).get(metric) or (None, None)
            found = estimate({"mean": means.get(metric), "low": low, "high": high}, "mean", "n")
            if found is not None:
                row[stage] = found
    return table if stages else {}


def benchmark(summary: Mapping[str, Any]) -> dict[str, dict[str, Estimate]]:
    """Score to stage to mean, 0-10."""
    stages = _stages(summary, "benchmark")
    table: dict[str, dict[str, Estimate]] = {score: {} for score in SCORES}
    for stage, means in stages.items():
        for score, row in table.items():
            found = estimate(means.get(score), "mean", "n")
            if found is not None:
                row[stage] = found
    return table if stages else {}


def intent(summary: Mapping[str, Any]) -> dict[str, Intent]:
    """Language to its scorer's figures."""
    scorers = {}
    for language in LANGUAGES:
        raw = (summary.get("intent") or {}).get(language) or {}
        accuracy = estimate(raw, "accuracy", "n")
        if accuracy is not None:
            labels, confusion = raw.get("labels") or [], raw.get("confusion") or []
            scorers[language] = Intent(
                accuracy, raw.get("f1"), raw.get("majority"), labels, confusion
            )
    return scorers


def detectors(summary: Mapping[str, Any]) -> dict[str, Detector]:
    """Language to its speaker detector; a single one for all languages is under `""`."""
    raw = summary.get("detector") or {}
    found = {}
    for language, report in ({"": raw} if "accuracy" in raw else raw).items():
        accuracy = report["accuracy"]  # an interval of its own, or a number among the others
        measured = (
            estimate(accuracy, "value", "n")
            if isinstance(accuracy, Mapping)
            else estimate(report, "accuracy", "n")
        )
        if measured is not None:
            found[language] = Detector(measured, report.get("majority"), report.get("auc"))
    return found


def _stages(summary: Mapping[str, Any], job: str) -> dict[str, Mapping[str, Any]]:
    stages = summary.get(job) or {}
    return {stage: stages[stage] for stage in STAGES if stages.get(stage)}


def estimate(raw: Any, value: str, n: str) -> Estimate | None:
    """A figure as summaries write it: a number, or a mapping with its interval; None without one.

    Args:
        value: The key of the figure in a mapping.
        n: The key of how many it was measured on.
    """
    if isinstance(raw, int | float):
        return Estimate(raw)
    if not raw or raw.get(value) is None:
        return None
    return Estimate(
        raw[value], raw.get("low"), raw.get("high"), raw.get(n), raw.get("unscored") or 0
    )


def percent(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.1f}%"


def number(value: float | None, digits: int = 3) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"


def interval(estimate: Estimate | None, *, digits: int = 3, scale: float = 1) -> str:
    """`0.081-0.103` with an en dash, or nothing where there is no interval."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{scale * estimate.low:.{digits}f}\N{EN DASH}{scale * estimate.high:.{digits}f}"


def rate_text(rate: Estimate, unit: str) -> str:
    """`14.2% (11.0-17.9), 412 turns`."""
    spread, count = interval(rate, digits=1, scale=100), rate.n
    return (
        percent(rate.value)
        + (f" ({spread})" if spread else "")
        + ("" if count is None else f", {count:,} {unit}")
    )


def duration(seconds: float | None) -> str:
    """`48 s`, `6 min 12 s`, `3 h 05 min`."""
    if seconds is None:
        return MISSING
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {whole % 60:02d} s" if minutes else f"{whole} s"


def inversion_readings(rates: Mapping[str, Estimate]) -> list[str]:
    """What the rates say when set beside the base's and people's, in sentences."""
    trained = [stage for stage in ("sft", "dpo") if stage in rates]
    sentences = []
    base, people = rates.get("base"), rates.get(PEOPLE)
    if not trained:
        return []
    if base is not None and base.value > 0:
        ratios = " and ".join(
            f"{rates[stage].value / base.value:.2f} times the base's after {STAGES[stage]}"
            for stage in trained
        )
        sentences.append(f"The rate is {ratios}.")
    last = trained[-1]
    for other, name in ((base, "the base's"), (people, "people's")):
        place = None if other is None else _place(rates[last], other)
        if place is not None:
            sentences.append(f"{STAGES[last]}'s interval {place} {name}.")
    return sentences


def _place(one: Estimate, other: Estimate) -> str | None:
    """Where the first interval lies; None where one of them is missing."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    if one.high < other.low:
        return "lies below"
    return "lies above" if one.low > other.high else "overlaps"
