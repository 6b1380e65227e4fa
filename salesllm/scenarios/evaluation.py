"""The evaluation set: scenarios in both languages, parallel by number, drawn in strata.

`v1` is frozen and comes with the package: 1,000 Chinese and 805 English scenarios, the English ones
among the same numbers (the paper's 3.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from random import Random
from typing import TypeVar

from salesllm.dialogue import Language
from salesllm.scenario import Scenario
from salesllm.scenarios.space import ScenarioDraft

T = TypeVar("T")

SHIPPED = ("v1", "v1-ablation", "v1-smoke")
"""Names that stand for a file of scenarios in recipes."""


def scenario_file(path: str | Path) -> Path:
    """The file that a recipe means: one of the user's, or a set of `SHIPPED` by its name."""
    if str(path) not in SHIPPED:
        return Path(path)
    return Path(str(resources.files("salesllm.catalog").joinpath("evaluation", f"{path}.jsonl")))


def strata(draft: ScenarioDraft) -> tuple[Hashable, ...]:
    """Domain, category, difficulty, and the two latter together."""
    category, difficulty = draft.product.category, draft.difficulty
    return category.domain, category.id, difficulty, (category.id, difficulty)


def stratified(
    items: Sequence[T], n: int, strata: Callable[[T], tuple[Hashable, ...]], rng: Random
) -> list[T]:
    """`n` of the items, every stratum as near to its share as whole numbers allow.

    Args:
        strata: The strata of an item; items of the same strata are drawn at random.

    Returns:
        The chosen ones in the order of `items`.
    """
    cells: dict[tuple[Hashable, ...], list[int]] = {}
    for index in rng.sample(range(len(items)), len(items)):
        cells.setdefault(strata(items[index]), []).append(index)
    sizes = Counter({cell: len(members) for cell, members in cells.items()})
    missing: Counter[Hashable] = Counter()
    for cell, size in sizes.items():
        for place, stratum in enumerate(cell):
            missing[place, stratum] += size * n / len(items)  # type: ignore[assignment]
    chosen: list[int] = []
    order = sorted(cells, key=repr)
    while len(chosen) < n:
        cell = max(
            (cell for cell in order if cells[cell]),
            key=lambda cell: sum(missing[place, stratum] for place, stratum in enumerate(cell)),
        )
        chosen.append(cells[cell].pop())
        for place, stratum in enumerate(cell):
            missing[place, stratum] -= 1
    return [items[index] for index in sorted(chosen)]


Chosen = tuple[ScenarioDraft, tuple[Language, ...]]
"""A scenario of an evaluation set, and the languages it is in."""


def evaluation_set(
    drafts: Sequence[ScenarioDraft], zh: int, en: int, *, version: str, seed: int
) -> list[Chosen]:
    """Draws the numbered scenarios of an evaluation set and the languages of each.

    Args:
        zh: Scenarios in all; every one is in Chinese.
        en: How many of them are in English too.

    Returns:
        Drafts with ids like `v1-0001`; `render` adds the language.
    """
    rng = Random(f"{version} {seed}")
    chosen = stratified(drafts, zh, strata, rng)
    chosen = [
        replace(draft, id=f"{version}-{n:04d}") for n, draft in enumerate(rng.sample(chosen, zh), 1)
    ]
    both = {draft.id for draft in stratified(chosen, en, strata, rng)}
    return [(draft, ("zh", "en") if draft.id in both else ("zh",)) for draft in chosen]


def subset(chosen: Sequence[Chosen], n: int, *, seed: int) -> list[Chosen]:
    """`n` scenarios in strata: `n / 2` numbers, each in both languages."""
    both = [item for item in chosen if len(item[1]) == 2]
    return stratified(both, n // 2, lambda item: strata(item[0]), Random(f"{n} {seed}"))


def render(chosen: Sequence[Chosen]) -> list[Scenario]:
    """Scenarios with ids like `v1-0001-zh`, all the Chinese ones first.

    They bear no scripts: who runs them renders these, with prompts of their own if they wish.
    """
    found = []
    for language in ("zh", "en"):
        for draft, languages in chosen:
            if language in languages:
                named = replace(draft, id=f"{draft.id}-{language}")
                found.append(named.scenario(language, scripts=False))
    return found
