"""Splits dialogues into the parts that training and measuring need.

    python data_prep/dialogues.py --dialogues mine.jsonl --output_dir data/dialogues

No two parts share a scenario, a worker (where recorded) or a dialogue. Labels, where there are any,
stay with their dialogues. What each part is for: docs/own_data.md.
"""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from salesllm.dialogue import read_dialogues, write_dialogues
from salesllm.errors import InputError, entry_point
from salesllm.files import read_jsonl, refuse_existing
from salesllm.splits import split_dialogues
from salesllm.training.labels import read_labelled

PARTS = ("train=0.7", "dev=0.05", "preference=0.08", "detector=0.09", "test=0.08")


@entry_point
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dialogues", type=Path, required=True, help="dialogue records (JSONL)")
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", default=PARTS, metavar="NAME=SHARE")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    labelled = any("label" in record for _, record in read_jsonl(args.dialogues))
    dialogues = (read_labelled if labelled else read_dialogues)(args.dialogues)
    parts = split_dialogues(dialogues, _shares(args.parts), args.seed)
    files = {args.output_dir / f"{name}.jsonl": part for name, part in parts.items()}
    for path in files:
        refuse_existing(path, "output_dir")
    with ExitStack() as undo:  # all parts or none
        for path, dialogues in files.items():
            undo.callback(path.unlink, missing_ok=True)
            write_dialogues(path, dialogues)
        undo.pop_all()
    for path, dialogues in files.items():
        counts = Counter(dialogue.language for dialogue in dialogues)
        spoken = ", ".join(f"{count} {language}" for language, count in sorted(counts.items()))
        print(f"{path}: {spoken}")


def _shares(parts: list[str]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for part in parts:
        name, _, share = part.partition("=")
        try:
            shares[name] = float(share)
        except ValueError:
            problem = f"{part!r} is no part"
            raise InputError(problem, field="parts", fix="Write NAME=SHARE") from None
    return shares


if __name__ == "__main__":
    main()
