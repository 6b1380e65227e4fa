"""The benchmark: salespeople x customers x scenarios (Table 10).

    python eval/benchmark.py --config recipes/benchmark/tiny.yaml

Other scenarios, another folder:

    python eval/benchmark.py --config recipes/benchmark/tiny.yaml \
        --scenarios data/scenarios/mine.jsonl --output_dir outputs/benchmark/mine

What it will cost, a trial, a limit in USD; parts on several machines, put together:

    python eval/benchmark.py --config recipes/benchmark/paper.yaml --dry_run true
    python eval/benchmark.py --config recipes/benchmark/paper.yaml --limit 20 --max_cost 50
    python eval/benchmark.py --config recipes/benchmark/paper.yaml --shard 1/4
    python eval/benchmark.py --config recipes/benchmark/paper.yaml --merge "[DIR, DIR]"

Stopped, killed or short of some dialogues? The same command continues: what is finished is never
run again. Another `judge`, `intent`, `grounding` or `alpha` scores the same dialogues anew; another
salesperson or customer joins them.

Writes to `output_dir`: `journal.jsonl` as it goes; at the end `dialogues.jsonl`, `scores.jsonl` (a
row a dialogue, with the evidence), `summary.json`, Table 10 as Markdown, LaTeX and CSV, and the
report, `report/index.html`. The exit code is 1 when something is left to do: a speaker or a judge
broke down in some dialogues, or `max_cost` was reached.
"""

from __future__ import annotations

import sys

from rich.console import Console

from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.benchmark.run import run_benchmark
from salesllm.benchmark.summary import table_of
from salesllm.errors import entry_point
from salesllm.recipe import load_recipe
from salesllm.report.benchmark import publish


@entry_point
def main() -> None:
    recipe = load_recipe(BenchmarkRecipe, doc=__doc__)
    console = Console()
    try:
        summary = run_benchmark(recipe, console)
    except KeyboardInterrupt:
        console.print("Stopped. The same command continues.", markup=False)
        sys.exit(130)
    if recipe.dry_run:
        return
    publish(recipe.folder)
    console.print(table_of(summary))
    for note in summary["notes"]:
        console.print(f"- {note}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"Everything is in {recipe.folder}", markup=False, soft_wrap=True)
    if summary["incomplete"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
