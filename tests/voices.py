"""What the models of a preference pipeline say, behind the loopback endpoint."""

from __future__ import annotations

import hashlib
import json
from typing import Any

PITCHES = (
    "It's $39 and quiet.",
    "Two years' warranty.",
    "Shall I set one aside?",
    "It boils fast.",
)


def verdict(said: str) -> tuple[bool, int]:
    """Role inversion and likeness of a turn: nothing but its words decides."""
    number = hashlib.sha256(said.encode()).digest()[0]
    if "last time" in said:  # the writer's: as good as can be, or not good enough
        return False, 10 if number % 2 else 5
    return number % 4 == 0, 1 if number % 4 == 0 else number % 11


def voices(body: dict[str, Any]) -> str:
    """A salesperson, a judge and a writer, by the model asked for."""
    heard = body["messages"][-1]["content"]
    if body["model"] == "judge":
        inverted, likeness = verdict(heard.split("<message>\n")[1].split("\n</message>")[0])
        return json.dumps({"inverted": inverted, "likeness": likeness, "reason": "because"})
    number = hashlib.sha256(heard.encode()).digest()[0]
    if body["model"] == "writer":
        return f"Customer: hm, {number} dollars is what I paid last time"
    return PITCHES[number % len(PITCHES)]
