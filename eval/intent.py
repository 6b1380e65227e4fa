"""How far the intent scorers can be trusted: Table 11, and whether their probabilities hold.

    python eval/intent.py --config recipes/intent_eval/tiny.yaml

Your own labelled dialogues, another folder:

    python eval/intent.py --config recipes/intent_eval/tiny.yaml \
        --scorers.en.test data/intent/test_en.jsonl --output_dir outputs/intent_eval/mine

The trained encoder and the recipe's judges label the same dialogues, none of which the encoder may
have learnt from. What a judge's answer does not say is unscored, counted, and neither right nor
wrong. The same command continues a run that was cut off; the exit code is 1 while some answers
cannot be had.

Writes to `output_dir`: `labels.jsonl` (every dialogue with its label by everybody), `judges/`
(their answers), `reliability.svg`, `table.md`, `table.csv`, `run.json` (recipe, versions,
fingerprints), `summary.json`; with `save_calibrated`, the scorers with their temperatures.
"""

from __future__ import annotations

import shutil
import sys
from typing import Any

from rich.console import Console

from salesllm.chat.providers import ChatSpec
from salesllm.errors import entry_point
from salesllm.files import (
    checkpoint_sha256,
    claim_folder,
    sha256,
    write_json,
    write_jsonl,
    write_text,
)
from salesllm.prompts import prompt_versions
from salesllm.provenance import provenance
from salesllm.recipe import load_recipe
from salesllm.report.reliability import reliability_svg
from salesllm.report.table11 import COLUMNS, PAPER, rows, table
from salesllm.scoring.label import PROMPT
from salesllm.sheets import write_sheet
from salesllm.training.validation import (
    ENCODER,
    ValidationRecipe,
    calibrated,
    compared,
    judged,
    load,
    name_of,
)

NOTES = (
    "Intervals are of 95 %, clustered by scenario. The temperature changes no label.",
    "ECE by chance is what a scorer whose probabilities are all true has on so few dialogues.",
    "The paper's rows are other models on other dialogues; how its F1 is averaged it does not say.",
)


@entry_point
def main() -> None:
    recipe = load_recipe(ValidationRecipe, doc=__doc__)
    console = Console()

    # Scorers, and dialogues they have not learnt from
    held = {language: load(language, each) for language, each in recipe.scorers.items()}
    summary_file = claim_folder(recipe.output_dir, recipe.overwrite)
    if recipe.overwrite:
        shutil.rmtree(recipe.output_dir / "judges", ignore_errors=True)

    # Labels: the encoder's, then each judge's
    failed = 0
    labels: list[dict[str, Any]] = []
    languages: dict[str, dict[str, Any]] = {}
    for language, one in held.items():
        scores = one.scorer.score(one.test, exact=True)
        guesses: dict[str, list[str | None]] = {ENCODER: [score.label for score in scores]}
        for judge in recipe.judges:
            guesses[name_of(judge)], missing = judged(recipe, judge, one, console)
            failed += missing
        languages[language] = compared(one, guesses)
        probabilities = [score.probabilities for score in scores]
        scorer, languages[language]["calibration"] = calibrated(one, probabilities, recipe)
        if recipe.save_calibrated:
            scorer.save(recipe.output_dir / language)
        labels += [
            {"id": d.id, "language": language, "label": d.label, "probabilities": said}
            | {name: guess[i] for name, guess in guesses.items()}
            for i, (d, said) in enumerate(zip(one.test, probabilities, strict=True))
        ]
    if failed and not recipe.leave_out_failed:
        print(
            f"error: {failed} answers could not be had, nothing is summed up. The same command "
            "tries them again; with --leave_out_failed true it goes on without them.",
            file=sys.stderr,
        )
        sys.exit(1)

    # Report
    out = recipe.output_dir
    summary: dict[str, Any] = {"name": recipe.name, "languages": languages, "failed": failed}
    summary |= {"paper": list(PAPER), "notes": list(NOTES)}
    for language, one in held.items():
        if one.not_compared:
            files = ", ".join(one.not_compared)
            note = (
                f"Whether the {language} scorer has seen the test dialogues is not known: {files} "
            )
            summary["notes"].append(note + "cannot be compared with them.")
    write_jsonl(out / "labels.jsonl", labels)
    curves = {language: found["calibration"] for language, found in languages.items()}
    write_text(out / "reliability.svg", reliability_svg(curves))
    write_sheet(out / "table.csv", COLUMNS, list(rows(summary)))
    text = table(summary)
    write_text(out / "table.md", text)
    asked = any(isinstance(judge, ChatSpec) for judge in recipe.judges)
    record = provenance(
        recipe=recipe.model_dump(mode="json"),
        prompts=prompt_versions([PROMPT] if asked else [], set(held), recipe.prompts_dir),
        data_sha256={str(each.test): sha256(each.test) for each in recipe.scorers.values()},
        checkpoints_sha256=checkpoint_sha256(each.scorer for each in recipe.scorers.values()),
    )
    write_json(out / "run.json", record)
    write_json(summary_file, summary)  # last: it marks the run as finished
    console.print(text, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
