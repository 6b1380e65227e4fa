"""Planted personal data: how much of it is found, and how much of what is found is personal.

    python tests/planted.py      # figures of both sets, as JSON

Texts bear marks such as `<PHONE>...</PHONE>`; a find counts if kind and place are exactly right.
`masking_planted.json` was written before the masker, `masking_heldout.json` after it (recall 0.897,
precision 1 at first sight), `masking_fresh.json` after what that taught (0.918 and 0.957).
`masking_learned.json` holds what was missed later and learned from: it measures nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from salesllm.importing.masking import Find, Kind, find_personal

SETS = {name: Path(__file__).parent / f"importing/masking_{name}.json" for name in
        ("planted", "heldout", "fresh", "learned")}  # fmt: skip
_MARK = re.compile(r"<([A-Z]+)>([^<]*)</\1>")


@dataclass
class Score:
    right: int = 0
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        return self.right / (self.right + len(self.missed))

    @property
    def precision(self) -> float:
        return self.right / (self.right + len(self.wrong))


def read(marked: str) -> tuple[str, set[Find]]:
    """The text without its marks, and what they mark."""
    text, finds, last = "", set(), 0
    for match in _MARK.finditer(marked):
        text += marked[last : match.start()]
        finds.add(Find(Kind(match[1]), len(text), len(text) + len(match[2])))
        text, last = text + match[2], match.end()
    return text + marked[last:], finds


def texts(name: str, language: str | None = None) -> list[str]:
    every = json.loads(SETS[name].read_text(encoding="utf-8"))
    return [text for tongue in every if language in (None, tongue) for text in every[tongue]]


def score(name: str, language: str | None = None) -> Score:
    result = Score()
    for marked in texts(name, language):
        text, planted = read(marked)
        found = set(find_personal(text))
        result.right += len(planted & found)
        result.missed += [f"{text[f.start : f.end]} in {text}" for f in planted - found]
        result.wrong += [f"{text[f.start : f.end]} in {text}" for f in found - planted]
    return result


if __name__ == "__main__":
    figures = {
        name: {
            language: {
                "texts": len(texts(name, language)),
                "without": sum(not _MARK.search(text) for text in texts(name, language)),
                "planted": (s := score(name, language)).right + len(s.missed),
                "recall": round(s.recall, 4),
                "precision": round(s.precision, 4),
                "missed": s.missed,
                "wrong": s.wrong,
            }
            for language in ("zh", "en")
        }
        for name in SETS
    }
    print(json.dumps(figures, ensure_ascii=False, indent=2))
