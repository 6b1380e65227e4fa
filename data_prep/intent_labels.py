"""Intent labels for dialogues: from their recorded outcomes, from LLMs, or from annotators.

    python data_prep/intent_labels.py --dialogues data/dialogues/train.jsonl \
        --language en --output data/intent/train_en.jsonl

`bought` becomes `buy` and `declined` becomes `not` (schema `binary`). Dialogues of the other
language or without an outcome are left out, and counted.

    python data_prep/intent_labels.py --dialogues data/dialogues/train.jsonl --language zh \
        --schema saleintent --labeller recipes/labels/paper.yaml --output data/intent/train_zh.jsonl
    python data_prep/intent_labels.py --dialogues data/dialogues/train.jsonl --language zh \
        --schema saleintent --votes annotators.csv --output data/intent/train_zh.jsonl

A labeller's recipe names one or several LLMs and how often each is asked; any key of it can be
given on the command line. The same command continues a labelling that was cut off. A sheet of
annotators has the columns `dialogue_id`, `annotator`, `label`. The majority's label is taken; what
is tied or without a readable label is left out, counted, and named in `<output>.summary.json`,
which also holds Krippendorff's alpha and how often every two annotators agree.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

from salesllm.dialogue import Dialogue, read_dialogues, write_dialogues
from salesllm.errors import InputError, entry_point
from salesllm.files import all_or_none, refuse_existing, sha256, write_json
from salesllm.provenance import provenance
from salesllm.recipe import SHELL, load_recipe
from salesllm.scoring.ending import SCHEMAS
from salesllm.training.labelling import LabellerRecipe, label_dialogues
from salesllm.training.labels import LabelledDialogue, label_outcomes
from salesllm.training.votes import Votes, majority, read_votes, summary, write_votes


@entry_point
def main() -> None:
    args, rest = arguments().parse_known_args()
    if rest and not args.labeller:
        raise InputError(f"unknown argument {rest[0]}", path=SHELL, fix="See --help")
    output = Path(args.output)
    refuse_existing(output, "output")
    by_votes = bool(args.labeller or args.votes)
    beside = [output.with_suffix(f".{name}") for name in ("summary.json", "votes.csv") if by_votes]
    for path in beside:
        refuse_existing(path, "output")
    dialogues = read_dialogues(args.dialogues)
    spoken = [d for d in dialogues if d.language == args.language]
    other = f"{len(dialogues) - len(spoken)} of the other language"
    if not spoken:
        problem = f"none of {len(dialogues)} dialogues is {args.language}"
        fix = "Choose the other language, or give other dialogues"
        raise InputError(problem, path=args.dialogues, field="language", fix=fix)

    votes: Votes = {}
    if by_votes:
        votes, record = collect(args, rest, dialogues, spoken)
        result = majority(votes)
        labelled = [
            LabelledDialogue(**d.model_dump(), label=result.labels[d.id])
            for d in spoken
            if d.id in result.labels
        ]
        record = summary(votes, result, list(SCHEMAS[args.schema])) | record
        left_out = (
            f"{len(result.ties)} tied, {record['without_a_vote']} without a readable label, {other}"
        )
        if not labelled:
            raise no_label(args, record)
    else:
        if args.schema != "binary":
            fix = "Give a --labeller or --votes, or take the schema binary"
            raise InputError("outcomes give binary labels", path=SHELL, field="schema", fix=fix)
        labelled, record = label_outcomes(spoken), {}
        left_out = f"{len(spoken) - len(labelled)} without an outcome, {other}"
        if not labelled:
            problem = f"none of {len(spoken)} dialogues in {args.language} has an outcome"
            fix = "Give a --labeller or --votes, or dialogues with outcomes"
            raise InputError(problem, path=args.dialogues, field="outcome", fix=fix)

    with all_or_none([output, *beside]):
        write_dialogues(output, labelled)
        if by_votes:
            record["provenance"] = provenance(dialogues_sha256=sha256(args.dialogues))
            write_json(beside[0], record)
            write_votes(beside[1], votes)
    if by_votes:
        alpha = record["agreement"]["alpha"]
        print(f"Krippendorff's alpha: {'not defined' if alpha is None else f'{alpha:.3f}'}")
    counts = Counter(d.label for d in labelled)
    print(
        f"{args.output}: {len(labelled)} dialogues "
        f"({', '.join(f'{count} {label}' for label, count in sorted(counts.items()))}); "
        f"left out: {left_out}"
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--dialogues", required=True, help="dialogue records (JSONL)")
    parser.add_argument("--language", required=True, choices=["zh", "en"])
    parser.add_argument("--schema", choices=list(SCHEMAS), default="binary")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--labeller", help="recipe of LLM labellers (YAML)")
    source.add_argument("--votes", help="what annotators said (CSV)")
    parser.add_argument(
        "--leave_out_failed", action="store_true",
        help="write the others where some labels cannot be had: an endpoint that refuses a text",
    )  # fmt: skip
    parser.add_argument("--output", required=True, help="labelled dialogues (JSONL)")
    return parser


def collect(
    args: argparse.Namespace, rest: list[str], known: list[Dialogue], spoken: list[Dialogue]
) -> tuple[Votes, dict[str, Any]]:
    """Votes of annotators, or of LLMs, with what is worth recording of where they come from."""
    if args.votes:
        given = read_votes(args.votes, [d.id for d in known], SCHEMAS[args.schema])
        votes = {d.id: given[d.id] for d in spoken}
        return votes, {"votes": {"file": args.votes, "sha256": sha256(args.votes)}}
    recipe = load_recipe(LabellerRecipe, ["--config", args.labeller, *rest])
    journal = journal_of(args)
    try:
        llm_votes, counts = label_dialogues(recipe, spoken, args.schema, journal, Console())
    except KeyboardInterrupt:
        print("Stopped. The same command continues.")
        sys.exit(130)
    if counts["failed"] and not args.leave_out_failed:
        print(
            f"error: {counts['failed']} labels failed, nothing is written. The same command tries "
            "them again; with --leave_out_failed it writes the others.",
            file=sys.stderr,
        )
        sys.exit(1)
    return llm_votes, counts | {"labellers": recipe.model_dump(mode="json")}


def journal_of(args: argparse.Namespace) -> Path:
    return Path(args.output).with_suffix(".journal.jsonl")


def no_label(args: argparse.Namespace, record: dict[str, Any]) -> InputError:
    """Why the votes come to nothing, and what would help."""
    path = args.votes or journal_of(args)
    if ties := len(record["ties"]):
        problem = f"no dialogue has a label that most gave: {ties} tied"
        fix = "Have one more annotator label them"
        if args.labeller:
            fix = "Choose another --output and an odd number of labels, or add a labeller"
        return InputError(problem, path=path, field="label", fix=fix)
    if args.votes:
        problem = f"it has no label for any dialogue in {args.language}"
        return InputError(problem, path=path, field="label", fix="Fill the column in")
    problem = "the labellers gave no label that can be read"
    fix = "This journal has their reasons; choose another --output to try other labellers"
    return InputError(problem, path=path, field="label", fix=fix)


if __name__ == "__main__":
    main()
