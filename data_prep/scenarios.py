"""The scenario space: products, personas, and a scenario with both scripts for every product.

    python data_prep/scenarios.py --config recipes/scenarios/paper.yaml      # from the catalogue
    python data_prep/scenarios.py --config recipes/scenarios/llm.yaml        # written by an LLM
    python data_prep/scenarios.py --config recipes/scenarios/translate.yaml  # Chinese into English

Writes `products.jsonl`, `personas.jsonl`, `scenarios.jsonl`, what was dropped as a near duplicate
(`dropped.jsonl`), and `summary.json`. The same recipe writes the same bytes. A translation writes
`<name>_en.jsonl`, and what was dropped with reasons (`untranslated.jsonl`).

With an LLM, the same command continues what was stopped; `--dry_run true` only says what it costs.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from rich.console import Console

from salesllm.errors import entry_point
from salesllm.files import claim_folder, sha256, write_json, write_jsonl
from salesllm.generation.llm import PROMPTS, SpaceWriter, estimate_space, write_space
from salesllm.generation.recipe import (
    RECIPES,
    EvaluationRecipe,
    SpaceRecipe,
    TranslationRecipe,
    WriterRecipe,
    WrittenSpaceRecipe,
)  # fmt: skip
from salesllm.generation.translate import Translator
from salesllm.generation.writer import Writer, show_estimate
from salesllm.progress import progress
from salesllm.prompts import prompt_versions
from salesllm.provenance import provenance
from salesllm.recipe import load_one_of
from salesllm.scenario import Scenario, write_scenarios
from salesllm.scenarios.evaluation import evaluation_set, render, subset
from salesllm.scenarios.space import Space, draw_space, table


@entry_point
def main() -> None:
    recipe = load_one_of("backend", RECIPES, doc=__doc__)
    console = Console()
    if isinstance(recipe, TranslationRecipe):
        translate(recipe, console)
    elif isinstance(recipe, WrittenSpaceRecipe):
        write(recipe, console)
    else:
        assert isinstance(recipe, SpaceRecipe)
        draw(recipe, console)


def draw(recipe: SpaceRecipe, console: Console) -> None:
    """From the catalogue."""
    summary_file = claim_folder(recipe.output_dir, recipe.overwrite)
    began = time.monotonic()
    counts = recipe.by_domain()
    products = sum(n for of_domain in counts.values() for n in of_domain.values())
    with progress(console, "drawn", 2 * products + recipe.personas) as advance:
        space = draw_space(
            counts,
            recipe.personas,
            language=recipe.language,
            seed=recipe.seed,
            threshold=recipe.threshold,
            advance=advance,
        )
    summary = save(recipe, space) | {"seconds": round(time.monotonic() - began, 1)}
    write_json(summary_file, summary)
    show(console, summary)


def write(recipe: WrittenSpaceRecipe, console: Console) -> None:
    """By an LLM."""
    if not recipe.dry_run:
        summary_file = claim_folder(recipe.output_dir, recipe.overwrite)
    tasks = SpaceWriter(recipe)
    if recipe.dry_run:
        return show_estimate(console, recipe, *estimate_space(tasks))
    with Writer(recipe, recipe.output_dir, tasks.settings(), console) as writer:
        space = write_space(tasks, writer)
        amazon = {name: sample.as_dict() for name, sample in tasks.samples.items()}
        summary = save(recipe, space) | {"amazon": amazon, **writer.costs()}
    write_json(summary_file, summary)
    show(console, summary)
    console.print(writer.bill(), markup=False, highlight=False)


def translate(recipe: TranslationRecipe, console: Console) -> None:
    """Chinese scenarios into English."""
    if not recipe.dry_run:
        summary_file = claim_folder(recipe.output_dir, recipe.overwrite)
    translator = Translator(recipe)
    if recipe.dry_run:
        return show_estimate(console, recipe, *translator.estimate())
    folder = recipe.output_dir
    with Writer(recipe, folder, translator.settings(), console) as writer:
        english, dropped = translator.translate(writer)
    write_scenarios(folder / f"{translator.path.stem}_en.jsonl", english)
    write_jsonl(folder / "untranslated.jsonl", dropped)
    counts = {"scenarios": len(translator.scenarios), "translated": len(english)}
    summary = {**counts, "dropped": len(dropped), **writer.costs()}
    settings = provenance(**translator.settings() | {"recipe": recipe.model_dump(mode="json")})
    write_json(summary_file, summary | {"brands": translator.names, **settings})
    console.print(
        f"{len(english):,} of {len(translator.scenarios):,} translated, {len(dropped):,} dropped "
        f"(untranslated.jsonl); {writer.bill()}",
        markup=False,
        highlight=False,
    )


def save(recipe: SpaceRecipe | WrittenSpaceRecipe, space: Space) -> dict[str, Any]:
    """Writes every file but the summary, which it returns."""
    folder, language = recipe.output_dir, recipe.language
    wanted = recipe.evaluation if isinstance(recipe, SpaceRecipe) else None
    sets = evaluation_files(space, wanted, recipe.seed) if wanted else {}
    written = isinstance(recipe, WriterRecipe)
    prompts_dir = recipe.prompts_dir if written else None
    files = {
        "products": (draft.product(language) for draft in space.products),
        "personas": (draft.persona(language) for draft in space.personas),
        "scenarios": (draft.scenario(language, prompts_dir) for draft in space.scenarios),
    }
    for name, records in files.items():
        write_jsonl(folder / f"{name}.jsonl", (r.model_dump(mode="json") for r in records))
    write_jsonl(folder / "dropped.jsonl", (asdict(dropped) for dropped in space.dropped))
    for name, scenarios in sets.items():
        write_scenarios(folder / f"{name}.jsonl", scenarios)
    names = ["customer_script", "salesperson_script", *(PROMPTS if written else ())]
    return {
        **table(space),
        "sha256": {name: sha256(folder / f"{name}.jsonl") for name in (*files, *sets)},
        **provenance(
            recipe=recipe.model_dump(mode="json"),
            prompts=prompt_versions(names, [language], prompts_dir),
            seed=recipe.seed,
        ),
    }


def evaluation_files(
    space: Space, wanted: EvaluationRecipe, seed: int
) -> dict[str, list[Scenario]]:
    """The evaluation set and its subsets, by the names of their files."""
    chosen = evaluation_set(
        space.scenarios, wanted.zh, wanted.en, version=wanted.version, seed=seed
    )
    parts = {
        f"{wanted.version}-{name}": subset(chosen, n, seed=seed)
        for name, n in wanted.subsets.items()
    }
    return {name: render(part) for name, part in {wanted.version: chosen, **parts}.items()}


def show(console: Console, summary: dict[str, Any]) -> None:
    for name, number in summary["categories"].items():
        console.print(f"{name:<28}{number:>7,}", markup=False, highlight=False)
    rates = ", ".join(
        f"{what}s {part['dropped'] / part['drawn']:.2%} of {part['drawn']:,}"
        + (f" ({part['unreadable']:,} unreadable)" if part["unreadable"] else "")
        for what, part in summary["near_duplicates"].items()
    )
    seconds = f" in {summary['seconds']:g} s" if "seconds" in summary else ""
    console.print(
        f"{summary['products']:,} products, {summary['personas']:,} personas, "
        f"{summary['scenarios']:,} scenarios{seconds}; near duplicates redrawn: {rates}",
        markup=False,
        highlight=False,
    )


if __name__ == "__main__":
    main()
