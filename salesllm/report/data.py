"""What a report is made from: the run's `summary.json`, its curves, and some of its dialogues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from salesllm.dialogue import Speaker


@dataclass(frozen=True)
class Curve:
    """One chart of the training section.

    Attributes:
        x: What the horizontal axis counts.
        y: What the vertical axis shows.
        series: Points (x, y) of each line. Points that are not finite are left out.
        note: What a reader should know of it, if anything.
    """

    title: str
    x: str
    y: str
    series: dict[str, list[tuple[float, float]]]
    note: str = ""


@dataclass(frozen=True)
class SampleTurn:
    """One turn of a sample dialogue.

    Attributes:
        flagged: The speaker detector took this customer turn for a salesperson's.
    """

    speaker: Speaker
    text: str
    flagged: bool = False


@dataclass(frozen=True)
class Sample:
    """One scenario, played by the customer of every stage.

    Attributes:
        stages: Stage (`base`, `sft`, `dpo`) to the turns of its dialogue.
        ended: Stage to how its dialogue ended, in words.
    """

    language: str
    product: str
    difficulty: str
    stages: dict[str, list[SampleTurn]]
    ended: dict[str, str]


@dataclass(frozen=True)
class ReportData:
    """All that a report says.

    Attributes:
        lead: What was trained, in a sentence or two.
        summary: The figures of the run's `summary.json`, read by `salesllm.report.figures`.
        facts: How the run was made: (name, value) pairs.
        notes: What the figures do not say.
    """

    title: str
    lead: str
    summary: dict[str, Any]
    curves: list[Curve]
    samples: list[Sample]
    facts: list[tuple[str, str]]
    notes: list[str]
