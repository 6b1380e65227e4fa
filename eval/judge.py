"""How far a judge can be talked into a score: attacks on it, each beside its clean twin.

    python eval/judge.py --config recipes/judge/gpt4o.yaml

Another judge, another folder:

    python eval/judge.py --config recipes/judge/gpt4o.yaml --judge Qwen-Max \
        --output_dir outputs/judge/qwen-max

The attacks come with the package, in Chinese and English: fake speaker tags, orders to the judge,
encoded ones, text in the product's name, finished verdicts and more. A judge that is not taken in
shifts by 0. Writes to `output_dir`: `attacks.jsonl` (both scores of every attack), `table.md` and
`summary.json`. The exit code is 1 when the judge could not be reached for some.
"""

from __future__ import annotations

import asyncio
import sys

from rich.console import Console

from salesllm.benchmark.robustness import JudgeRecipe, rate_attacks, summarise, table_of
from salesllm.chat.providers import check_chat, open_chat
from salesllm.errors import entry_point
from salesllm.files import claim_folder, write_json, write_jsonl, write_text
from salesllm.prompts import prompt_versions
from salesllm.provenance import provenance
from salesllm.recipe import load_recipe
from salesllm.scoring.judge import PROMPT


@entry_point
def main() -> None:
    recipe = load_recipe(JudgeRecipe, doc=__doc__)
    console = Console()
    check_chat(recipe.judge, "judge")
    chat = open_chat(recipe.judge)
    summary_file = claim_folder(recipe.output_dir, recipe.overwrite)

    # Attack
    rows = asyncio.run(rate_attacks(recipe, chat, console))
    write_jsonl(recipe.output_dir / "attacks.jsonl", rows)

    # Report
    summary = summarise(rows) | {
        "judge": recipe.judge.name,
        "provenance": provenance(
            recipe=recipe.model_dump(mode="json"),
            prompts=prompt_versions([PROMPT], recipe.languages, recipe.prompts_dir),
        ),
    }
    table = table_of(summary)
    write_text(recipe.output_dir / "table.md", table)
    write_json(summary_file, summary)  # last: it marks the run as finished
    console.print(table, markup=False, highlight=False, soft_wrap=True)
    if summary["failed"]:
        console.print(f"The judge could not be reached for {summary['failed']} attacks.")
        sys.exit(1)


if __name__ == "__main__":
    main()
