"""The scenario space: products, personas, and a scenario with both scripts for every product.

    python data_prep/scenarios.py --config recipes/scenarios/paper.yaml

Writes `products.jsonl`, `personas.jsonl`, `scenarios.jsonl`, what was dropped as a near duplicate
(`dropped.jsonl`), and `summary.json`. The same recipe writes the same bytes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Console

from salesllm.errors import entry_point
from salesllm.files import claim_folder, sha256, write_json, write_jsonl
from salesllm.generation.recipe import SpaceRecipe
from salesllm.progress import progress
from salesllm.prompts import prompt_versions
from salesllm.provenance import provenance
from salesllm.recipe import load_recipe
from salesllm.scenario import write_scenarios
from salesllm.scenarios.evaluation import evaluation_set, render, subset
from salesllm.scenarios.space import Space, draw_space


@entry_point
def main() -> None:
    recipe = load_recipe(SpaceRecipe, doc=__doc__)
    summary_file = claim_folder(recipe.output_dir, recipe.overwrite)
    console = Console()
    began = time.monotonic()

    # Draw
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

    # Write
    folder, language = recipe.output_dir, recipe.language
    files = {
        "products": (draft.product(language) for draft in space.products),
        "personas": (draft.persona(language) for draft in space.personas),
        "scenarios": (draft.scenario(language) for draft in space.scenarios),
    }
    for name, records in files.items():
        write_jsonl(folder / f"{name}.jsonl", (r.model_dump(mode="json") for r in records))
    write_jsonl(folder / "dropped.jsonl", (asdict(dropped) for dropped in space.dropped))
    if recipe.evaluation:
        files |= write_evaluation(recipe, space)
    summary = {
        **count(space),
        "seconds": round(time.monotonic() - began, 1),
        "sha256": {name: sha256(folder / f"{name}.jsonl") for name in files},
        **provenance(
            recipe=recipe.model_dump(mode="json"),
            prompts=prompt_versions(["customer_script", "salesperson_script"], [language]),
            seed=recipe.seed,
        ),
    }
    write_json(summary_file, summary)
    show(console, summary)


def write_evaluation(recipe: SpaceRecipe, space: Space) -> dict[str, Iterable[Any]]:
    """Writes the evaluation set and its subsets, and returns their names."""
    wanted = recipe.evaluation
    assert wanted is not None
    chosen = evaluation_set(
        space.scenarios, wanted.zh, wanted.en, version=wanted.version, seed=recipe.seed
    )
    write_scenarios(recipe.output_dir / f"{wanted.version}.jsonl", render(chosen))
    for name, n in wanted.subsets.items():
        part = subset(chosen, n, seed=recipe.seed)
        write_scenarios(recipe.output_dir / f"{wanted.version}-{name}.jsonl", render(part))
    return dict.fromkeys([wanted.version, *(f"{wanted.version}-{n}" for n in wanted.subsets)], ())


def count(space: Space) -> dict[str, Any]:
    """The paper's Tables 7 to 9, and how many draws were near duplicates."""
    categories = Counter(draft.category.id for draft in space.products)
    return {
        "products": len(space.products),
        "personas": len(space.personas),
        "scenarios": len(space.scenarios),
        "categories": dict(categories.most_common()),
        "difficulties": dict(Counter(draft.difficulty.value for draft in space.scenarios)),
        "personas_used": len({draft.person.id for draft in space.scenarios}),
        "near_duplicates": {
            what: {"dropped": sum(d.what == what for d in space.dropped), "drawn": drawn}
            for what, drawn in space.drawn.items()
        },
    }


def show(console: Console, summary: dict[str, Any]) -> None:
    for name, number in summary["categories"].items():
        console.print(f"{name:<28}{number:>7,}", markup=False, highlight=False)
    rates = ", ".join(
        f"{what}s {part['dropped'] / part['drawn']:.2%} of {part['drawn']:,}"
        for what, part in summary["near_duplicates"].items()
    )
    console.print(
        f"{summary['products']:,} products, {summary['personas']:,} personas, "
        f"{summary['scenarios']:,} scenarios in {summary['seconds']:g} s; "
        f"near duplicates redrawn: {rates}",
        markup=False,
        highlight=False,
    )


if __name__ == "__main__":
    main()
