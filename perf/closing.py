"""How the closing check does on dialogues of people: false ends, and ends that it finds.

    python perf/closing.py --dialogues data/dialogues/test.jsonl

Nobody wrote a marker there, so the customer's last message is taken for the end. An end before it
is false: the dialogue went on. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from salesllm.dialogue import Dialogue, Speaker, read_dialogues
from salesllm.errors import InputError, entry_point
from salesllm.simulate.closing import closed_by


def first_end(dialogue: Dialogue) -> int | None:
    """The turn after which the check would have ended the dialogue."""
    sizes = range(2, len(dialogue.turns) + 1)
    return next((n - 1 for n in sizes if closed_by(dialogue.turns[:n], dialogue.language)), None)


def measured(dialogues: Sequence[Dialogue], show: bool) -> dict[str, float | int]:
    """Counts over the dialogues of one language."""
    false = found = turns = 0
    began = time.process_time()
    for dialogue in dialogues:
        end = first_end(dialogue)
        customers = [i for i, t in enumerate(dialogue.turns) if t.speaker is Speaker.CUSTOMER]
        turns += len(dialogue.turns)
        if end is None:
            continue
        if end < customers[-1]:
            false += 1
            if show:
                print(f"{dialogue.id}: {dialogue.turns[end].text}")
        else:
            found += 1
    seconds = time.process_time() - began
    return {
        "dialogues": len(dialogues),
        "turns": turns,
        "false_ends": false,
        "false_rate": false / len(dialogues),
        "found": found,
        "recall": found / len(dialogues),
        "microseconds_a_turn": 1e6 * seconds / turns,
    }


@entry_point
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dialogues", type=Path, nargs="+", required=True)
    parser.add_argument("--show", action="store_true", help="print the messages of false ends")
    args = parser.parse_args()
    figures = {}
    for path in args.dialogues:
        dialogues = read_dialogues(path)
        if not dialogues:
            raise InputError("there are no dialogues", path=path)
        for language in sorted({d.language for d in dialogues}):
            own = [d for d in dialogues if d.language == language]
            figures[f"{path.stem}/{language}"] = measured(own, args.show)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
