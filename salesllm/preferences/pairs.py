"""A preference pair with its provenance, as the files of the pipeline hold it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from salesllm.dialogue import Language, Message, Speaker, Turn, messages_for, turns_from
from salesllm.files import read_jsonl, write_jsonl
from salesllm.training.rows import Preference, preference_messages


class Verdict(BaseModel):
    """What the judge said of one side."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inverted: bool
    likeness: int
    reason: str


class Pair(BaseModel):
    """Two replies of a customer in one place of a rollout.

    Attributes:
        script: What the customer was told.
        history: The dialogue up to the salesperson's last message.
        chosen: With the end-of-dialogue marker where the customer ends the dialogue, as `rejected`.
        chosen_by: Whose words `chosen` are.
        verdicts: Of both sides; None for a reply that a person wrote.
        prompts: Versions of the prompts behind the verdicts and the writer's reply.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    script: str
    history: tuple[Turn, ...]
    chosen: str
    rejected: str
    chosen_by: Literal["customer", "writer", "reviewer"]
    verdicts: dict[Literal["chosen", "rejected"], Verdict | None]
    language: Language
    scenario_id: str
    dialogue_id: str
    turn: int
    salesperson: str
    customer: str
    prompts: dict[str, str]

    @property
    def prompt(self) -> list[Message]:
        """What the customer saw when it spoke."""
        return messages_for(self.history, Speaker.CUSTOMER, system=self.script)

    @property
    def earlier(self) -> list[str]:
        """What the customer has said before."""
        return [turn.text for turn in self.history if turn.speaker is Speaker.CUSTOMER]

    @property
    def id(self) -> str:
        """12 hex digits that follow from all that is said: no decision is taken for another's."""
        return digest(self.prompt, self.chosen, self.rejected)[:12]

    @property
    def margin(self) -> int:
        """By how much the judge prefers chosen, before any person changed it."""
        chosen, rejected = self.verdicts["chosen"], self.verdicts["rejected"]
        return chosen.likeness - rejected.likeness if chosen and rejected else 0

    def row(self, **more: Any) -> dict[str, Any]:
        """A row of the file that `train/dpo.py` reads."""
        sides = {"script", "history", "chosen", "rejected"}
        return {"id": self.id} | preference_messages(
            Preference(self.prompt, self.chosen, self.rejected),
            **self.model_dump(mode="json", exclude=sides),
            **more,
        )


def write_pairs(path: Path, pairs: Iterable[Pair]) -> list[Pair]:
    """Writes pairs, widest margin first and none twice, and returns them."""
    unique = {pair.id: pair for pair in pairs}
    ordered = sorted(unique.values(), key=lambda pair: (-pair.margin, pair.id))
    write_jsonl(path, (pair.row() for pair in ordered))
    return ordered


def read_pairs(path: Path) -> list[Pair]:
    """Reads what `write_pairs` wrote; the file is empty where there was no pair."""
    if not path.stat().st_size:
        return []
    pairs = []
    for _, value in read_jsonl(path):
        _, prompt = value.pop("id"), value.pop("prompt")
        told = {"script": prompt[0]["content"], "history": turns_from(prompt, Speaker.CUSTOMER)}
        sides = {side: value[side][0]["content"] for side in ("chosen", "rejected")}
        pairs.append(Pair.model_validate(value | told | sides))
    return pairs


def digest(*parts: Any) -> str:
    """SHA-256 of JSON values."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()
