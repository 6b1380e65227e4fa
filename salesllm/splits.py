"""Splits dialogues into parts that share no scenario, no worker and no text."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

from salesllm.dialogue import Dialogue
from salesllm.errors import InputError

D = TypeVar("D", bound=Dialogue)


def split_dialogues(
    dialogues: Sequence[D], shares: Mapping[str, float], seed: int = 0
) -> dict[str, list[D]]:
    """Parts near the given shares, dialogues in the order given.

    Dialogues of one scenario, of one worker, or with the same turns stay together: a part that
    shares them with another would be easier than what comes later.

    Args:
        shares: Part to its share; they sum to 1.

    Raises:
        InputError: The shares do not sum to 1, or a part would be empty.
    """
    total = sum(shares.values())
    if not (abs(total - 1) < 1e-6 and min(shares.values()) > 0):  # also refuses NaN
        problem = f"the shares sum to {total:g}"
        raise InputError(problem, field="parts", fix="Give positive shares that sum to 1")
    groups = _groups(dialogues)
    random.Random(seed).shuffle(groups)
    groups.sort(key=len, reverse=True)  # stable: the largest first, they fit nowhere later
    counts = dict.fromkeys(shares, 0)
    part_of: dict[int, str] = {}
    for group in groups:
        part = max(shares, key=lambda name: shares[name] * len(dialogues) - counts[name])
        counts[part] += len(group)
        part_of |= dict.fromkeys(group, part)
    parts: dict[str, list[D]] = {name: [] for name in shares}
    for index, dialogue in enumerate(dialogues):
        parts[part_of[index]].append(dialogue)
    if empty := [name for name, part in parts.items() if not part]:
        share = len(groups[0]) / len(dialogues) if groups else 0
        problem = (
            f"part {empty[0]!r} would be empty: there are {len(groups)} separate groups"
            f", and {share:.0%} of the dialogues are in the largest,"
            " linked by the workers, scenarios or texts they share"
        )
        raise InputError(problem, field="parts", fix="Give fewer parts or more dialogues")
    return parts


def largest_group(dialogues: Sequence[Dialogue]) -> int:
    """How many dialogues stay together because workers, scenarios or texts link them."""
    return max(map(len, _groups(dialogues)), default=0)


def _groups(dialogues: Sequence[Dialogue]) -> list[list[int]]:
    """Indices of dialogues that are connected by a scenario, a worker or equal turns."""
    leader = list(range(len(dialogues)))

    def find(index: int) -> int:
        while leader[index] != index:
            leader[index] = index = leader[leader[index]]
        return index

    first: dict[tuple[str, str], int] = {}
    for index, dialogue in enumerate(dialogues):
        said = json.dumps([(turn.speaker, turn.text.strip()) for turn in dialogue.turns])
        keys = {"scenario": dialogue.scenario_id, "worker": dialogue.worker_id, "text": said}
        for kind, key in keys.items():
            if key is not None:
                leader[find(index)] = find(first.setdefault((kind, key), index))
    groups: dict[int, list[int]] = {}
    for index in range(len(dialogues)):
        groups.setdefault(find(index), []).append(index)
    return list(groups.values())
