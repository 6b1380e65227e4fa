"""Dialogues in the formats that are imported: what a round trip starts with."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from salesllm.dialogue import Dialogue, Speaker

FROM = {"user": "human", "assistant": "gpt"}


def write_csv(path: Path, dialogues: Sequence[Dialogue], delimiter: str = ",") -> None:
    """One turn a row; what belongs to a dialogue stands in each of its rows."""
    of_dialogue = ("language", "source", "product_line", "scenario_id", "outcome", "worker_id")
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["dialogue_id", "speaker", "text", *of_dialogue, "context"])
        for dialogue in dialogues:
            context = json.dumps(dialogue.context, ensure_ascii=False) if dialogue.context else ""
            fields = [getattr(dialogue, name) for name in of_dialogue]
            for turn in dialogue.turns:
                writer.writerow([dialogue.id, turn.speaker, turn.text, *fields, context])


def write_chats(
    path: Path,
    dialogues: Sequence[Dialogue],
    viewpoint: Speaker,
    *,
    sharegpt: bool = False,
    as_list: bool = False,
) -> None:
    """`messages`, or ShareGPT's `conversations`; one a line or one JSON list."""
    rows = [_chat(dialogue, viewpoint, sharegpt) for dialogue in dialogues]
    text = json.dumps(rows) if as_list else "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def _chat(dialogue: Dialogue, viewpoint: Speaker, sharegpt: bool) -> dict[str, Any]:
    messages = dialogue.messages_for(viewpoint)
    fields = dialogue.model_dump(mode="json", exclude_defaults=True)
    del fields["turns"]
    if not sharegpt:
        return fields | {"messages": messages}
    said = [{"from": FROM[message["role"]], "value": message["content"]} for message in messages]
    return fields | {"conversations": said}
