"""A row a cell: what each dialogue comes to, and why where it comes to nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from salesllm.benchmark.budget import Prices, usages
from salesllm.benchmark.cell import TALK, Cell, dialogue_of
from salesllm.benchmark.inputs import Inputs
from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.chat.base import Usage
from salesllm.dialogue import Dialogue, Language, Speaker
from salesllm.errors import InputError
from salesllm.files import require_model
from salesllm.journal import Journal
from salesllm.scenario import Scenario
from salesllm.scoring import injection, rules
from salesllm.scoring.final import final_score
from salesllm.scoring.grounding import Concession, Grounding, merged, numbers
from salesllm.scoring.panel import combine
from salesllm.scoring.selling import Evidence, SellingScore
from salesllm.simulate import Termination

if TYPE_CHECKING:
    from salesllm.scoring.intent import IntentScore, IntentScorer

NOT_YET = "not judged yet"
"""Why a dialogue of a run that stopped for money has no score."""

_CHUNK = 512  # dialogues in memory at once
_SIDE = {"salespeople": "salesperson", "customers": "customer"}

Row = dict[str, Any]


def rows_of(
    recipe: BenchmarkRecipe,
    cells: Sequence[Cell],
    scenarios: Mapping[str, Scenario],
    journal: Journal,
    inputs: Inputs,
    scorers: Mapping[Language, IntentScorer],
) -> Iterator[tuple[Row, Dialogue | None]]:
    """Scores every cell that has been tried, a few hundred at a time.

    Yields:
        The cell's row, and its dialogue unless that failed.
    """
    prices = Prices(recipe)
    tried = (cell for cell in cells if journal.has(TALK, cell))
    while chunk := list(itertools.islice(tried, _CHUNK)):
        entries = {cell: _entry(journal, cell) for cell in chunk}
        dialogues = {
            cell: dialogue_of(cell, scenarios[cell.scenario], entry)
            for cell, entry in entries.items()
        }
        buying: dict[Cell, IntentScore] = {}
        for language, scorer in scorers.items():
            mine = {c: d for c, d in dialogues.items() if d and d.language == language}
            scores = scorer.stream(mine.values(), exact=recipe.intent_exact)
            buying |= zip(mine, scores, strict=True)
        for cell, entry in entries.items():
            scenario, dialogue = scenarios[cell.scenario], dialogues[cell]
            lines = {TALK: entry} | {
                kind: line for kind in inputs.kinds if (line := journal.get(kind, cell))
            }
            row = _facts(cell, scenario, entry) | _costs(lines.values(), inputs, prices)
            row |= _scores(recipe, scenario, dialogue, buying.get(cell), lines, inputs)
            yield row, dialogue


def _entry(journal: Journal, cell: Cell) -> Row:
    entry = journal.get(TALK, cell)
    assert entry is not None  # it has been tried
    return entry


def _facts(cell: Cell, scenario: Scenario, entry: Row) -> Row:
    """What is known of a cell before anything is scored."""
    return {
        "id": cell.id,
        "salesperson": cell.salesperson,
        "customer": cell.customer,
        "scenario_id": scenario.id,
        "repeat": int(cell.repeat),
        "product_id": scenario.product.id,
        "domain": scenario.product.domain,
        "category": scenario.product.category,
        "language": scenario.language,
        "difficulty": scenario.difficulty,
        "propensity": scenario.propensity,
        "termination": entry["termination"],
        "by": entry["by"],
        "failed": Termination(entry["termination"]).failed,
        "error": entry["error"],
        "turns": len(entry["turns"]),
        "rounds": sum(turn["speaker"] == Speaker.SALESPERSON for turn in entry["turns"]),
        "cut_replies": entry["finish_reasons"].count("length"),
        "cleaned": entry["cleaned"],
        "guard": entry["guard"],
    }


def _costs(lines: Iterable[Row], inputs: Inputs, prices: Prices) -> dict[str, Any]:
    """Tokens and USD by side; a price that is not known makes a side's cost unknown."""
    used: dict[str, Usage] = {}
    cost: dict[str, float | None] = {}
    for line in lines:
        for part, usage in usages(line, inputs):
            side, price = _SIDE.get(part[0], part[0]), prices.cost(part, usage)
            so_far = cost.get(side, 0.0)
            used[side] = used.get(side, Usage()) + usage
            cost[side] = None if price is None or so_far is None else so_far + price
    return {"usage": {side: asdict(usage) for side, usage in used.items()}, "cost": cost}


def _scores(
    recipe: BenchmarkRecipe,
    scenario: Scenario,
    dialogue: Dialogue | None,
    intent: IntentScore | None,
    lines: Mapping[str, Row],
    inputs: Inputs,
) -> Row:
    why: dict[str, str] = {}
    judges: dict[str, SellingScore] = {}
    rating = SellingScore(None, "")
    audit = None
    if dialogue is None:
        failed = f"the dialogue failed ({lines[TALK]['termination']})"
        why = dict.fromkeys(("buying", "selling"), failed)
    else:
        judges = {name: _rating(lines[kind]["rating"]) for name, kind in inputs.ratings.items()
                  if kind in lines}  # fmt: skip
        rating = _selling(recipe, dialogue, judges)
        if intent is None:
            why["buying"] = f"the recipe names no intent scorer for {scenario.language}"
        if rating.score is None:
            why["selling"] = rating.reason
        if recipe.grounding != "none":
            audit = _audit(recipe, scenario, dialogue, lines.get(inputs.audit or ""))
            if audit.unauthorised is None:
                why["grounding"] = audit.reason
    bought = intent.buying if intent else None
    return {
        "injection": [asdict(f) for f in injection.scan(dialogue.turns)] if dialogue else [],
        "buying": bought,
        "bought": intent.bought if intent else None,
        "intent": {"label": intent.label, "probabilities": intent.probabilities}
        if intent
        else None,
        "selling": rating.score,
        "selling_reason": rating.reason,
        "selling_evidence": [asdict(evidence) for evidence in rating.evidence],
        "judges": {name: judged.score for name, judged in judges.items()},
        "rater": recipe.rater,
        "grounding": None if audit is None else audit.as_dict(),
        "final": final_score(bought, rating.score, recipe.alpha),
        "unscored": why,
        "judge_failed": rating.failed,
        "auditor_failed": audit is not None and audit.failed,
    }


def _selling(
    recipe: BenchmarkRecipe, dialogue: Dialogue, judges: Mapping[str, SellingScore]
) -> SellingScore:
    if not recipe.judge:
        return rules.rate(dialogue.turns, dialogue.language)
    if len(judges) < len(recipe.judge):
        return SellingScore(None, NOT_YET, failed=True)
    return combine(judges)


def _audit(
    recipe: BenchmarkRecipe, scenario: Scenario, dialogue: Dialogue, line: Row | None
) -> Grounding:
    judged = None
    if line is not None:
        raw = line["rating"]
        concessions = tuple(Concession(**each) for each in raw["concessions"])
        judged = Grounding(**{**raw, "concessions": concessions, "usage": Usage(**raw["usage"])})
    elif recipe.auditor is not None:
        judged = Grounding(None, reason=NOT_YET, failed=True)
    return merged(numbers(dialogue, scenario), judged)


def _rating(raw: Mapping[str, Any]) -> SellingScore:
    """A judge's rating as the journal has it."""
    evidence = tuple(Evidence(**each) for each in raw["evidence"])
    return SellingScore(**{**raw, "evidence": evidence, "usage": Usage(**raw["usage"])})


def load_scorers(
    recipe: BenchmarkRecipe, languages: Iterable[Language]
) -> dict[Language, IntentScorer]:
    """Opens the intent scorers that a run needs.

    Raises:
        InputError: One cannot be used, or torch is not installed.
    """
    wanted = {language: path for language, path in recipe.intent.items() if language in languages}
    if not wanted:
        return {}
    for language, path in wanted.items():
        require_model(path, f"intent.{language}")
    try:
        from salesllm.scoring.intent import IntentScorer

        return {language: IntentScorer.load(path, language) for language, path in wanted.items()}
    except ImportError as error:
        problem = f"an intent scorer needs the package {error.name}, which is not installed"
        fix = "Run pip install 'salesllm-trainer[eval]'"
        raise InputError(problem, field="intent", fix=fix) from None
