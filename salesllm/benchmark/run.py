"""Runs a benchmark: simulate, judge, score, sum up. The same recipe again continues the run.

What dialogues depend on may not change within a folder. What only scores depend on may: the
dialogues are then scored anew, all of them, so that no summary mixes two judges. A run may also
grow: another salesperson or customer, more repeats, a higher `limit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from salesllm import loop
from salesllm.benchmark.budget import (
    Prices,
    Purse,
    estimate,
    require_prices,
    table_of_costs,
    total_of,
    usages,
)
from salesllm.benchmark.cast import Cast
from salesllm.benchmark.cell import DIALOGUES, JOURNAL, SCORES, SUMMARY, Cell, cells_of
from salesllm.benchmark.inputs import Inputs, inputs_of, introduce, refuse_finished
from salesllm.benchmark.leaderboard import leaderboard
from salesllm.benchmark.recipe import BenchmarkRecipe, first_of_each_language, scenarios_of
from salesllm.benchmark.scores import load_scorers, rows_of
from salesllm.benchmark.summary import slim, summarise
from salesllm.benchmark.work import Work
from salesllm.dialogue import Dialogue, Language, Speaker, Turn
from salesllm.errors import InputError
from salesllm.files import atomic_open, jsonl, write_json
from salesllm.journal import Journal
from salesllm.prompts import load_prompt
from salesllm.provenance import provenance
from salesllm.scenario import Scenario, require_fields
from salesllm.scenarios.scripts import script_of
from salesllm.scoring import grounding, judge

if TYPE_CHECKING:
    from salesllm.scoring.intent import IntentScorer


def run_benchmark(recipe: BenchmarkRecipe, console: Console | None = None) -> dict[str, Any]:
    """Runs a recipe to its end, or continues it where it was stopped.

    Writes to `recipe.folder`: `journal.jsonl` as it goes; at the end `dialogues.jsonl` (all that
    did not fail), `scores.jsonl` (a row a cell, failed ones too) and `summary.json`.

    Returns:
        What `summary.json` holds; with `dry_run`, `{}`.

    Raises:
        InputError: Something the recipe names cannot be used, or `output_dir` holds another run,
            or the finished one of this recipe.
    """
    console = console or Console()
    everything = scenarios_of(recipe)
    scenarios = {s.id: s for s in first_of_each_language(everything, recipe.limit)}
    cells = cells_of(recipe, scenarios)
    _rehearse(recipe, scenarios.values())
    require_prices(recipe)
    inputs = inputs_of(recipe, scenarios.values(), everything)
    out = recipe.folder
    if recipe.dry_run:
        _say_what_is_left(recipe, cells, scenarios, inputs, console)
        return {}
    cast = Cast(recipe)
    languages = {scenario.language for scenario in scenarios.values()}
    guard = None
    if recipe.guard is not None:
        from salesllm.benchmark.guard import open_guard  # scikit-learn takes its time

        guard = open_guard(recipe.guard, languages)
    if not recipe.overwrite:
        refuse_finished(out, inputs)
    scorers = load_scorers(recipe, languages)
    with Journal(out / JOURNAL, inputs.dialogues, anew=recipe.overwrite) as journal:
        introduce(inputs, journal)
        (out / SUMMARY).unlink(missing_ok=True)  # until it is there again, the run is unfinished
        for folder in recipe.merge:
            _take_over(folder, journal, inputs, console)
        if not recipe.merge:
            purse = _purse(recipe, cells, scenarios, inputs, journal)
            work = Work(recipe, scenarios, cast, journal, inputs, purse, guard)
            loop.run(work.run(cells, console))
        del cast  # a local model's memory is the scorers' now
        summary = _score(recipe, cells, scenarios, journal, inputs, scorers)
    summary["provenance"] = provenance(
        recipe=recipe.model_dump(mode="json"), **inputs.record, inputs_sha256=inputs.digest
    )
    write_json(out / SUMMARY, summary)
    return summary


def _score(
    recipe: BenchmarkRecipe,
    cells: Sequence[Cell],
    scenarios: Mapping[str, Scenario],
    journal: Journal,
    inputs: Inputs,
    scorers: Mapping[Language, IntentScorer],
) -> dict[str, Any]:
    """Writes dialogues and rows, none of them in memory for longer than it takes, and sums up."""
    rows = []
    out = recipe.folder
    with atomic_open(out / DIALOGUES) as dialogues, atomic_open(out / SCORES) as scores:
        for row, dialogue in rows_of(recipe, cells, scenarios, journal, inputs, scorers):
            scores.write(jsonl([row]))
            if dialogue is not None:
                dialogues.write(jsonl([dialogue.model_dump(mode="json", exclude_defaults=True)]))
            rows.append(slim(row))
    return summarise(recipe, rows, planned=len(cells)) | {
        "leaderboard": leaderboard(rows, alpha=recipe.alpha, seed=recipe.seed)
    }


def _rehearse(recipe: BenchmarkRecipe, scenarios: Iterable[Scenario]) -> None:
    """Renders every prompt once for each kind of scenario.

    A template of the user's may not fit, nor a speaker that needs fields which a scenario lacks.
    """
    kinds = {(s.language, type(s), bool(s.scripts)): s for s in scenarios}
    for scenario in kinds.values():
        for _, spec in recipe.speakers():
            if spec.provider == "scripted":
                require_fields(scenario, f"the scripted {spec.model}")
        script_of(scenario, Speaker.SALESPERSON, "script", recipe.prompts_dir)
        for customer in recipe.customers:
            script_of(scenario, Speaker.CUSTOMER, customer.customer_style, recipe.prompts_dir)
        opener = Turn(speaker=Speaker.CUSTOMER, text=scenario.attributes.initial_utterance)
        dialogue = Dialogue(
            id="rehearsal",
            language=scenario.language,
            source="benchmark",
            product_line="",
            turns=(opener, Turn(speaker=Speaker.SALESPERSON, text="...")),
        )
        if recipe.judge:
            judge.question(dialogue, scenario.product, recipe.prompts_dir)
        if recipe.auditor:
            prompt = load_prompt(grounding.PROMPT, scenario.language, recipe.prompts_dir)
            prompt.render(facts="", history="")


def _say_what_is_left(
    recipe: BenchmarkRecipe,
    cells: Sequence[Cell],
    scenarios: Mapping[str, Scenario],
    inputs: Inputs,
    console: Console,
) -> None:
    path = recipe.folder / JOURNAL
    if path.exists() and not recipe.overwrite:
        with Journal(path, inputs.dialogues) as journal:
            found = estimate(recipe, cells, scenarios, inputs, journal)
    else:
        found = estimate(recipe, cells, scenarios, inputs, None)
    console.print(table_of_costs(*found))


def _purse(
    recipe: BenchmarkRecipe,
    cells: Sequence[Cell],
    scenarios: Mapping[str, Scenario],
    inputs: Inputs,
    journal: Journal,
) -> Purse:
    if recipe.max_cost is None:
        return Purse(None, 0.0)
    prices, spent = Prices(recipe), 0.0
    auditor = recipe.auditor.name if recipe.auditor else None
    for entry in journal.entries():  # failures too: they were paid for
        spent += sum(prices.cost(*used) or 0.0 for used in usages(entry, inputs, auditor))
    parts, _ = estimate(recipe, cells, scenarios, inputs, journal)
    assumed = (total_of(parts.values()).cost or 0.0) / max(1, len(cells))
    return Purse(recipe.max_cost, assumed, spent)


def _take_over(folder: Path, journal: Journal, inputs: Inputs, console: Console) -> None:
    path = folder / JOURNAL
    if not path.exists():
        fix = "Name the folder of a shard, which ends in shard-1-of-4 or the like"
        raise InputError("there is no journal", path=folder, field="merge", fix=fix)
    with Journal(path, inputs.dialogues, fix="Merge shards of one recipe only") as shard:
        introduce(inputs, shard)
        console.print(f"{folder}: {journal.adopt(shard):,} lines taken over", highlight=False)
