"""Runs a benchmark: simulate, judge, score, sum up. The same recipe again continues the run.

What dialogues depend on may not change within a folder. What only scores depend on may: the
dialogues are then scored anew, all of them, so that no summary mixes two judges.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console

from salesllm.benchmark.recipe import BenchmarkRecipe, scenarios_of
from salesllm.benchmark.summary import summarise
from salesllm.chat.base import Chat
from salesllm.chat.providers import PATIENCE, ChatSpec, check_chat, open_chat
from salesllm.dialogue import Dialogue, Language, Turn
from salesllm.errors import InputError
from salesllm.files import (
    checkpoint_sha256,
    finished_run,
    read_json,
    require_model,
    write_json,
    write_jsonl,
)
from salesllm.journal import Journal
from salesllm.progress import progress
from salesllm.prompts import load_prompt, prompt_versions
from salesllm.provenance import provenance
from salesllm.scenario import Scenario
from salesllm.scenarios.scripts import customer_script, salesperson_script
from salesllm.scoring import judge, rules
from salesllm.scoring.final import final_score
from salesllm.simulate import derived_seed, simulate

if TYPE_CHECKING:
    from salesllm.scoring.intent import IntentScore, IntentScorer

JOURNAL, DIALOGUES, SCORES, SUMMARY = (
    "journal.jsonl", "dialogues.jsonl", "scores.jsonl", "summary.json",
)  # fmt: skip
_CHUNK = 512  # dialogues in memory at once while scoring


class Cell(NamedTuple):
    """One dialogue of a run: who talks to whom about what."""

    salesperson: str
    customer: str
    scenario: str


def run_benchmark(recipe: BenchmarkRecipe, console: Console | None = None) -> dict[str, Any]:
    """Runs a recipe to its end, or continues it where it was stopped.

    Writes to `output_dir`: `journal.jsonl` as it goes; at the end `dialogues.jsonl` (all that did
    not fail), `scores.jsonl` (a row a cell, failed ones too) and `summary.json`.

    Returns:
        What `summary.json` holds.

    Raises:
        InputError: Something the recipe names cannot be used, or `output_dir` holds another run,
            or the finished one of this recipe.
    """
    console = console or Console()
    scenarios = {scenario.id: scenario for scenario in scenarios_of(recipe)}
    cells = [
        Cell(salesperson.name, customer.name, scenario)
        for customer in recipe.customers  # outermost: a local one stays loaded for all its cells
        for salesperson in recipe.salespeople
        for scenario in scenarios
    ]
    _rehearse(recipe, scenarios.values())
    cast = _Cast(recipe)
    inputs = _inputs(recipe, scenarios.values())
    out = recipe.output_dir
    if not recipe.overwrite:
        _refuse_finished(out, inputs)
    scorers = _load_scorers(recipe, {scenario.language for scenario in scenarios.values()})
    with Journal(out / JOURNAL, inputs.dialogues, anew=recipe.overwrite) as journal:
        (out / SUMMARY).unlink(missing_ok=True)  # until it is there again, the run is unfinished
        asyncio.run(_talk(recipe, cells, scenarios, cast, journal, inputs.selling, console))
        spoken = (_dialogue(cell, scenarios, journal) for cell in cells)
        write_jsonl(
            out / DIALOGUES,
            (d.model_dump(mode="json", exclude_defaults=True) for d in spoken if d is not None),
        )
        rows = list(_score(recipe, cells, scenarios, journal, inputs.selling, scorers))
    write_jsonl(out / SCORES, rows)
    summary = summarise(recipe, rows) | {
        "provenance": provenance(
            recipe=recipe.model_dump(mode="json"), **inputs.record, inputs_sha256=inputs.digest
        )
    }
    write_json(out / SUMMARY, summary)
    return summary


def _rehearse(recipe: BenchmarkRecipe, scenarios: Iterable[Scenario]) -> None:
    """Renders every prompt once a language: a template of the user's may not fit."""
    for scenario in {scenario.language: scenario for scenario in scenarios}.values():
        salesperson_script(scenario, prompts_dir=recipe.prompts_dir)
        for customer in recipe.customers:
            customer_script(scenario, customer.customer_style, recipe.prompts_dir)
        if recipe.judge is not None:
            prompt = load_prompt(judge.PROMPT, scenario.language, recipe.prompts_dir)
            prompt.render(assistant_goal="", history="")


class _Cast:
    """Everybody who speaks in a run.

    Endpoints are open throughout, which also finds a missing key before the first call. Local
    checkpoints are open only while their dialogues run: memory rarely holds two.
    """

    def __init__(self, recipe: BenchmarkRecipe) -> None:
        self._specs = {(side, spec.name): spec for side, spec in recipe.speakers()}
        for (side, _), spec in self._specs.items():
            check_chat(spec, side)
        self._open: dict[tuple[str, str], Chat] = {
            key: open_chat(spec) for key, spec in self._specs.items() if spec.provider != "local"
        }

    def spec(self, side: str, name: str) -> ChatSpec:
        return self._specs[side, name]

    def chat(self, side: str, name: str) -> Chat:
        return self._open[side, name]

    def local(self, cell: Cell) -> tuple[tuple[str, str], ...]:
        """Which local checkpoints a cell needs."""
        sides = (("customers", cell.customer), ("salespeople", cell.salesperson))
        return tuple(key for key in sides if self._specs[key].provider == "local")

    def load(self, needed: Sequence[tuple[str, str]]) -> None:
        """Opens these local checkpoints and closes all others."""
        for key, spec in self._specs.items():
            if spec.provider == "local" and key not in needed:
                self._open.pop(key, None)
        gc.collect()
        if "torch" in sys.modules:
            import torch

            torch.cuda.empty_cache()
        for key in needed:
            if key not in self._open:
                self._open[key] = open_chat(self._specs[key])


async def _talk(
    recipe: BenchmarkRecipe,
    cells: Sequence[Cell],
    scenarios: Mapping[str, Scenario],
    cast: _Cast,
    journal: Journal,
    selling: str,
    console: Console,
) -> None:
    """Brings every cell to its end, `concurrency` of them at a time."""
    judged = recipe.judge is not None
    todo = [
        cell
        for cell in cells
        if not journal.done("dialogue", cell) or (judged and not journal.done(selling, cell))
    ]
    groups: dict[tuple[tuple[str, str], ...], list[Cell]] = {}
    for cell in todo:
        needed = () if journal.done("dialogue", cell) else cast.local(cell)
        if recipe.judge is not None and recipe.judge.provider == "local":
            needed = (*needed, ("judge", recipe.judge.name))
        groups.setdefault(needed, []).append(cell)

    name = f"{recipe.name}: dialogues"
    with progress(console, name, len(cells), len(cells) - len(todo)) as advance:

        async def work(queue: Iterator[Cell]) -> None:
            for cell in queue:
                scenario = scenarios[cell.scenario]
                if not journal.done("dialogue", cell):
                    await _simulate(recipe, cell, scenario, cast, journal)
                if judged and journal.done("dialogue", cell):
                    await _judge(recipe, cell, scenarios, cast, journal, selling)
                advance(failed=not journal.done("dialogue", cell))

        for needed, group in groups.items():
            cast.load(needed)
            queue = iter(group)
            workers = min(recipe.concurrency, len(group))
            await asyncio.gather(*(work(queue) for _ in range(workers)))


async def _simulate(
    recipe: BenchmarkRecipe, cell: Cell, scenario: Scenario, cast: _Cast, journal: Journal
) -> None:
    simulated = await simulate(
        scenario,
        cast.chat("salespeople", cell.salesperson),
        cast.chat("customers", cell.customer),
        rounds=recipe.rounds,
        sampling=recipe.sampling.settings(),
        customer_style=cast.spec("customers", cell.customer).customer_style,
        seed=recipe.seed,
        prompts_dir=recipe.prompts_dir,
    )
    journal.append(
        "dialogue",
        cell,
        ok=not simulated.termination.failed,
        turns=[turn.model_dump(mode="json") for turn in simulated.turns],
        termination=simulated.termination,
        usage={side: asdict(usage) for side, usage in simulated.usage.items()},
        finish_reasons=simulated.finish_reasons,
        error=simulated.error,
    )


async def _judge(
    recipe: BenchmarkRecipe,
    cell: Cell,
    scenarios: Mapping[str, Scenario],
    cast: _Cast,
    journal: Journal,
    selling: str,
) -> None:
    dialogue = _dialogue(cell, scenarios, journal)
    assert dialogue is not None  # it is done
    rater = judge.SellingJudge(
        cast.chat("judge", recipe.rater),
        sampling=recipe.judge_sampling.settings(),
        attempts=recipe.judge_attempts,
        prompts_dir=recipe.prompts_dir,
    )
    seed = derived_seed(recipe.seed, "judge", *cell)
    rated = await rater.rate(dialogue, scenarios[cell.scenario].product, seed)
    journal.append(selling, cell, ok=not rated.failed, rating=asdict(rated))


def _dialogue(cell: Cell, scenarios: Mapping[str, Scenario], journal: Journal) -> Dialogue | None:
    """The cell's dialogue as a record of the project; None for a failed one."""
    entry = journal.get("dialogue", cell)
    if entry is None or not entry["ok"]:
        return None
    scenario = scenarios[cell.scenario]
    return Dialogue(
        id="::".join(cell),
        language=scenario.language,
        source="benchmark",
        product_line=scenario.product.category,
        turns=tuple(Turn.model_validate(turn) for turn in entry["turns"]),
        scenario_id=scenario.id,
        context={
            "salesperson": cell.salesperson,
            "customer": cell.customer,
            "termination": entry["termination"],
            "finish_reasons": entry["finish_reasons"],
            "usage": entry["usage"],
        },
    )


def _score(
    recipe: BenchmarkRecipe,
    cells: Sequence[Cell],
    scenarios: Mapping[str, Scenario],
    journal: Journal,
    selling: str,
    scorers: Mapping[Language, IntentScorer],
) -> Iterator[dict[str, Any]]:
    """A row a cell. What has no score says why."""
    queue = iter(cells)
    while chunk := list(itertools.islice(queue, _CHUNK)):
        dialogues = {cell: _dialogue(cell, scenarios, journal) for cell in chunk}
        buying: dict[Cell, IntentScore] = {}
        for language, scorer in scorers.items():
            mine = {c: d for c, d in dialogues.items() if d and d.language == language}
            buying |= zip(mine, scorer.score(list(mine.values())), strict=True)
        for cell, dialogue in dialogues.items():
            scenario, intent = scenarios[cell.scenario], buying.get(cell)
            yield _row(recipe, cell, scenario, dialogue, intent, journal, selling)


def _row(
    recipe: BenchmarkRecipe,
    cell: Cell,
    scenario: Scenario,
    dialogue: Dialogue | None,
    intent: IntentScore | None,
    journal: Journal,
    selling: str,
) -> dict[str, Any]:
    entry = journal.get("dialogue", cell)
    assert entry is not None  # every cell has been tried
    row: dict[str, Any] = {
        "id": "::".join(cell),
        "salesperson": cell.salesperson,
        "customer": cell.customer,
        "scenario_id": scenario.id,
        "product_id": scenario.product.id,
        "language": scenario.language,
        "difficulty": scenario.difficulty,
        "termination": entry["termination"],
        "failed": dialogue is None,
        "error": entry["error"],
        "turns": len(entry["turns"]),
        "cut_replies": entry["finish_reasons"].count("length"),
        "usage": entry["usage"],
    }
    why: dict[str, str] = {}
    rating: dict[str, Any] = {"score": None, "reason": "", "evidence": [], "failed": False}
    if dialogue is None:
        why = dict.fromkeys(("buying", "selling"), f"the dialogue failed ({entry['termination']})")
    else:
        if intent is None:
            why["buying"] = f"the recipe names no intent scorer for {scenario.language}"
        if recipe.judge is None:
            rating = asdict(rules.rate(dialogue.turns, dialogue.language))
        else:
            judged = journal.get(selling, cell)
            assert judged is not None  # every finished dialogue has been judged
            rating = judged["rating"]
            row["usage"] = {**entry["usage"], "judge": rating["usage"]}
        if rating["score"] is None:
            why["selling"] = rating["reason"]
    bought = intent.buying if intent else None
    return row | {
        "buying": bought,
        "intent": {"label": intent.label, "probabilities": intent.probabilities}
        if intent
        else None,
        "selling": rating["score"],
        "selling_reason": rating["reason"],
        "selling_evidence": rating["evidence"],
        "rater": recipe.rater,
        "final": final_score(bought, rating["score"], recipe.alpha),
        "unscored": why,
        "judge_failed": rating["failed"],
    }


def _load_scorers(
    recipe: BenchmarkRecipe, languages: Iterable[Language]
) -> dict[Language, IntentScorer]:
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


@dataclass(frozen=True)
class _Inputs:
    """What a run's results depend on, in JSON values.

    Attributes:
        dialogues: What must not change while a run is continued: all that a dialogue depends on.
        selling: The journal's kind of line for this judge's ratings: it names all that they depend
            on, so that another judge's are not taken for them.
        record: Fingerprints of scenarios, prompts and checkpoints, for the summary.
        digest: SHA-256 of all that dialogues and scores depend on.
    """

    dialogues: dict[str, Any]
    selling: str
    record: dict[str, Any]
    digest: str


def _inputs(recipe: BenchmarkRecipe, scenarios: Iterable[Scenario]) -> _Inputs:
    aside = {"output_dir", "overwrite", "concurrency", "prompts_dir"}  # prompts have versions
    settings = recipe.model_dump(mode="json", exclude=aside)
    for spec in (*settings["salespeople"], *settings["customers"], settings["judge"]):
        if isinstance(spec, dict):
            for key in PATIENCE:
                del spec[key]
    rating = {key: settings.pop(key) for key in ("judge", "judge_attempts", "judge_sampling")}
    scoring = {key: settings.pop(key) for key in ("intent", "alpha")}
    digest, languages = hashlib.sha256(), set()
    for scenario in scenarios:
        digest.update(scenario.model_dump_json().encode())
        languages.add(scenario.language)

    def prompts(*names: str) -> dict[str, str]:
        return prompt_versions(names, languages, recipe.prompts_dir)

    def weights(*sides: str) -> dict[str, str]:
        local = [(side, spec) for side, spec in recipe.speakers() if spec.provider == "local"]
        return checkpoint_sha256(Path(spec.model) for side, spec in local if side in sides)

    dialogues = {
        "recipe": settings,
        "scenarios_sha256": digest.hexdigest(),
        "prompts": prompts("customer_script", "customer_brief", "salesperson_script"),
        "checkpoints_sha256": weights("salespeople", "customers"),
    }
    rating["prompts"] = prompts(judge.PROMPT) if recipe.judge else {}
    rating["checkpoints_sha256"] = weights("judge")
    scoring["checkpoints_sha256"] = checkpoint_sha256(recipe.intent.values())
    return _Inputs(
        dialogues=dialogues,
        selling=f"selling:{_digest(rating)[:16]}",
        record={
            "scenarios_sha256": digest.hexdigest(),
            "prompts": dialogues["prompts"] | rating["prompts"],
            "checkpoints_sha256": dialogues["checkpoints_sha256"]
            | rating["checkpoints_sha256"]
            | scoring["checkpoints_sha256"],
        },
        digest=_digest([dialogues, rating, scoring]),
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _refuse_finished(folder: Path, inputs: _Inputs) -> None:
    """Refuses a folder in which nothing is left to do: no dialogue, no rating, no new scoring."""
    if not (folder / SUMMARY).exists():
        return
    otherwise = ""
    if (folder / JOURNAL).exists():  # else the summary is of some other job
        try:
            summary = read_json(folder / SUMMARY)
            unfinished = summary["failures"] or summary["incomplete"]
            same = summary["provenance"].get("inputs_sha256") == inputs.digest
        except (InputError, KeyError, TypeError):  # damaged; it is made from the journal again
            return
        if unfinished or not same:
            return
        otherwise = ", or change judge, intent or alpha to score its dialogues anew"
    raise finished_run(folder, otherwise)
