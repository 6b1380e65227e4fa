"""Labels that several annotators gave, people or LLMs: the majority, and how far they agree."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from salesllm.errors import InputError
from salesllm.sheets import read_opinions, write_sheet
from salesllm.stats import krippendorff_alpha

COLUMNS = ("dialogue_id", "annotator", "label")

Votes = Mapping[str, Mapping[str, str]]
"""Dialogue to annotator to label."""


@dataclass(frozen=True)
class Majority:
    """What the votes come to.

    Attributes:
        labels: Dialogue to the label that most annotators gave it.
        ties: Dialogues whose most frequent labels are several, which leaves them unlabelled.
    """

    labels: dict[str, str] = field(default_factory=dict)
    ties: dict[str, list[str]] = field(default_factory=dict)


def majority(votes: Votes) -> Majority:
    """The label that most annotators gave, dialogue by dialogue; one vote is a majority."""
    result = Majority()
    for dialogue, given in votes.items():
        counts = Counter(given.values())
        most = sorted(label for label, n in counts.items() if n == max(counts.values()))
        if len(most) == 1:
            result.labels[dialogue] = most[0]
        elif most:
            result.ties[dialogue] = most
    return result


def agreement(votes: Votes) -> dict[str, Any]:
    """Krippendorff's alpha and pairwise agreement, for JSON: None where nothing can be said.

    `alpha` takes labels as nominal. `pairwise` is the share of equal labels among the dialogues
    that two annotators have both labelled (`n`); `mean_pairwise` is over pairs of votes, so that
    two who share much weigh more.
    """
    same: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for given in votes.values():
        for a, b in itertools.combinations(sorted(given), 2):
            same[a, b].append(given[a] == given[b])
    alpha = krippendorff_alpha([list(given.values()) for given in votes.values()])
    flags = list(itertools.chain.from_iterable(same.values()))
    return {
        "alpha": None if math.isnan(alpha) else alpha,
        "mean_pairwise": sum(flags) / len(flags) if flags else None,
        "pairwise": [
            {"annotators": list(pair), "agreement": sum(equal) / len(equal), "n": len(equal)}
            for pair, equal in sorted(same.items())
        ],
        "annotators": dict(sorted(Counter(a for given in votes.values() for a in given).items())),
        "dialogues": sum(len(given) > 1 for given in votes.values()),
    }


def read_votes(
    path: str | Path, dialogues: Iterable[str], labels: Collection[str]
) -> dict[str, dict[str, str]]:
    """Reads the sheet of annotators: columns `dialogue_id`, `annotator`, `label`.

    A blank label is no vote. Dialogues that nobody voted on have no votes.

    Args:
        dialogues: Ids that there are.
        labels: The schema.

    Raises:
        InputError: Names line and field of the first row with an unknown dialogue or label, no
            annotator, or a second vote of the same annotator on the same dialogue.
    """
    votes: dict[str, dict[str, str]] = {name: {} for name in dialogues}
    for line, dialogue, annotator, label in read_opinions(path, COLUMNS, votes):
        if label and label not in labels:
            problem = f"label {label!r} is not in the schema"
            fix = f"Use {', '.join(labels)}, or another schema"
            raise InputError(problem, path=path, line=line, field="label", fix=fix)
        if label:
            votes[dialogue][annotator] = label
    return votes


def summary(votes: Votes, result: Majority, labels: Sequence[str]) -> dict[str, Any]:
    """What is written beside the labelled dialogues."""
    counts = Counter(result.labels.values())
    return {
        "labelled": len(result.labels),
        "labels": {label: counts[label] for label in labels},
        "ties": result.ties,
        "without_a_vote": sum(not given for given in votes.values()),
        "agreement": agreement(votes),
    }


def write_votes(path: Path, votes: Votes) -> None:
    """The sheet that `read_votes` reads."""
    rows = [
        dict(zip(COLUMNS, (dialogue, annotator, label), strict=True))
        for dialogue, given in votes.items()
        for annotator, label in given.items()
    ]
    write_sheet(path, COLUMNS, rows)
