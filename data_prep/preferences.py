"""Preference pairs for `train/dpo.py`: from rollouts, or mined from the checkpoint's own answers.

    python data_prep/preferences.py --config recipes/preferences/paper.yaml
    python data_prep/preferences.py --config recipes/preferences/tiny.yaml

`method: rollout` in the recipe has the customer talk with several salespeople, an LLM judge every
turn of it, and people look through what comes out of that. The stages are rollout, judge, pair,
augment, review and export. The command runs all that need no person, says what comes next, and
continues where it was cut off. One stage alone, and the review in a terminal or a spreadsheet:

    python data_prep/preferences.py --config recipes/preferences/paper.yaml --stage judge
    python data_prep/preferences.py --config recipes/preferences/paper.yaml --stage review
    python data_prep/preferences.py --config recipes/preferences/paper.yaml --export_csv pairs.csv
    python data_prep/preferences.py --config recipes/preferences/paper.yaml --import_csv pairs.csv

It writes to `output_dir`: a file, a journal and a summary a stage, at the end `train.jsonl`. The
exit code is 1 when somebody could not be reached; the same command tries that again.

`method: mine`, the default, writes one file of pairs (JSONL: `prompt`, `chosen`, `rejected`, and
P(salesperson) of both sides, widest margin first, ready for people to look through) and, beside
it, `<name>.summary.json`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from salesllm.chat.providers import open_chat
from salesllm.dialogue import read_dialogues
from salesllm.errors import InputError, entry_point
from salesllm.files import all_or_none, refuse_existing, sha256, write_json, write_jsonl
from salesllm.preferences.pipeline import STAGES, Pipeline
from salesllm.preferences.recipe import METHODS, RolloutRecipe
from salesllm.progress import progress
from salesllm.provenance import provenance
from salesllm.recipe import SHELL, load_one_of
from salesllm.scenario import read_scenarios_by_id
from salesllm.training.pairs import PairRecipe, find_points, mine, sample_points
from salesllm.training.rows import View


@entry_point
def main() -> None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--stage", choices=STAGES)
    parser.add_argument("--export_csv", type=Path)
    parser.add_argument("--import_csv", type=Path)
    wanted, rest = parser.parse_known_args()
    recipe = load_one_of("method", METHODS, rest, __doc__)
    console = Console()
    if isinstance(recipe, RolloutRecipe):
        roll_out(recipe, wanted, console)
        return
    assert isinstance(recipe, PairRecipe)
    for option, value in vars(wanted).items():
        if value is not None:
            problem, fix = "mining has no stages", "Leave it out, or give a recipe of rollouts"
            raise InputError(problem, path=SHELL, field=option, fix=fix)
    mine_pairs(recipe, console)


def roll_out(recipe: RolloutRecipe, wanted: argparse.Namespace, console: Console) -> None:
    by_sheet = wanted.export_csv or wanted.import_csv
    if by_sheet and wanted.stage:
        problem = "a sheet is written and read by a command without a stage"
        fix = "Leave it out, or run the stage by itself"
        raise InputError(problem, path=SHELL, field="stage", fix=fix)
    pipeline = Pipeline(recipe, console)
    try:
        if by_sheet:
            whole = pipeline.sheets(wanted.export_csv, wanted.import_csv)
        else:
            whole = pipeline.run(wanted.stage)
    except KeyboardInterrupt:
        console.print("Stopped. The same command continues.", markup=False)
        sys.exit(130)
    if not whole:
        sys.exit(1)


def mine_pairs(recipe: PairRecipe, console: Console) -> None:
    # Here, so that people can review without torch
    from salesllm.chat.local import LocalChat
    from salesllm.fidelity.inversion import SpeakerDetector
    from salesllm.training.model import read_customer

    refuse_existing(recipe.output, "output")
    beside = recipe.output.with_suffix(".summary.json")
    refuse_existing(beside, "output")

    # Data: points where the customer speaks
    view = View.from_card(read_customer(recipe.customer.model))
    dialogues = read_dialogues(recipe.dialogues)
    scenarios = read_scenarios_by_id(recipe.scenarios)
    found = list(find_points(dialogues, scenarios, view))
    points = sample_points(found, recipe.max_points, recipe.seed)
    if not points:
        raise InputError("no customer turn follows a salesperson's", path=recipe.dialogues)

    # Mine
    detector = SpeakerDetector.fit(read_dialogues(recipe.detector_train))
    customer = open_chat(recipe.customer)
    assert isinstance(customer, LocalChat)  # PairRecipe allows nothing else
    with progress(console, "points tried", len(points)) as advance:
        pairs, dropped = mine(points, customer, detector, recipe, advance)
    if not pairs:
        reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.most_common())
        raise InputError(
            f"none of {len(points)} points gave a pair ({reasons})",
            path=recipe.dialogues,
            field="margin",
            fix="Lower margin, draw more candidates, or give more dialogues",
        )

    # Save
    files = [recipe.dialogues, recipe.scenarios, recipe.detector_train]
    summary = {
        "pairs": len(pairs),
        "points": len(points),
        "without_a_pair": dict(dropped),
        "mean_p_salesperson": {
            "chosen": sum(pair.p_chosen for pair in pairs) / len(pairs),
            "rejected": sum(pair.p_rejected for pair in pairs) / len(pairs),
        },
        **provenance(
            recipe=recipe.model_dump(mode="json"),
            data_sha256={str(path): sha256(path) for path in files if path},
            seed=recipe.seed,
        ),
    }
    with all_or_none([recipe.output, beside]):
        write_jsonl(recipe.output, (pair.as_dict() for pair in pairs))
        write_json(beside, summary)
    console.print(f"{recipe.output}: {len(pairs)} pairs from {len(points)} points", markup=False)


if __name__ == "__main__":
    main()
