"""Intent labels for dialogues: from their recorded outcomes.

    python data_prep/intent_labels.py --dialogues data/dialogues/train.jsonl \
        --language en --output data/intent/train_en.jsonl

`bought` becomes `buy` and `declined` becomes `not` (schema `binary`). Dialogues of the other
language or without an outcome are left out, and counted.
"""

from __future__ import annotations

import argparse
from collections import Counter

from salesllm.dialogue import read_dialogues, write_dialogues
from salesllm.errors import InputError, entry_point
from salesllm.files import refuse_existing
from salesllm.training.labels import label_outcomes


@entry_point
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dialogues", required=True, help="dialogue records (JSONL)")
    parser.add_argument("--language", required=True, choices=["zh", "en"])
    parser.add_argument("--output", required=True, help="labelled dialogues (JSONL)")
    args = parser.parse_args()
    refuse_existing(args.output, "output")

    dialogues = read_dialogues(args.dialogues)
    spoken = [d for d in dialogues if d.language == args.language]
    labelled = label_outcomes(spoken)
    if not labelled:
        raise InputError(
            f"none of {len(dialogues)} dialogues is {args.language} with an outcome",
            path=args.dialogues,
            field="outcome",
            fix="Record outcomes (bought, declined), or choose the other language",
        )
    write_dialogues(args.output, labelled)
    counts = Counter(d.label for d in labelled)
    print(
        f"{args.output}: {len(labelled)} dialogues "
        f"({', '.join(f'{count} {label}' for label, count in sorted(counts.items()))}); "
        f"left out: {len(spoken) - len(labelled)} without an outcome, "
        f"{len(dialogues) - len(spoken)} of the other language"
    )


if __name__ == "__main__":
    main()
