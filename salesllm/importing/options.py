"""What is said on the command line about a log: `NAME=VALUE` and what it means."""

from __future__ import annotations

import re
from collections.abc import Sequence

from salesllm.dialogue import Dialogue, Speaker
from salesllm.errors import InputError
from salesllm.importing.table import Table


def pairs(texts: Sequence[str], field: str) -> dict[str, str]:
    """Raises InputError where a text is not NAME=VALUE, or a name comes twice."""
    result: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals) or name in result:
            problem = f"{name!r} is given twice" if name in result else f"{text!r} is no pair"
            raise InputError(problem, field=field, fix="Write NAME=VALUE")
        result[name] = value
    return result


def shares(parts: Sequence[str], reserved: Sequence[str]) -> dict[str, float]:
    """Parts, which name files, and their shares; `reserved` are names that other files have."""
    result: dict[str, float] = {}
    for name, share in pairs(parts, "parts").items():
        if not re.fullmatch(r"[\w-]+", name):
            fix = "Write letters, digits, _ and - only"
            raise InputError(f"{name!r} is no name", field="parts", fix=fix)
        if name in reserved:
            problem = f"{name!r} is the name of a report"
            raise InputError(problem, field="parts", fix="Choose another name")
        try:
            result[name] = float(share)
        except ValueError:
            problem = f"{name}={share} is no share"
            raise InputError(problem, field="parts", fix="Write NAME=SHARE") from None
    return result


def fields(texts: Sequence[str]) -> dict[str, str]:
    """Fields that every record gets."""
    given = pairs(texts, "fields")
    allowed = set(Dialogue.model_fields) - {"id", "turns", "context"} | {"label"}
    if unknown := given.keys() - allowed:
        fix = f"Use {', '.join(sorted(allowed))}"
        raise InputError(f"unknown field {min(unknown)!r}", field="fields", fix=fix)
    return given


def table(columns: Sequence[str], speakers: Sequence[str]) -> Table:
    """How to read a CSV file; commas separate pairs as well as spaces do."""
    words: dict[str, Speaker] = {}
    named = set()
    for text in ",".join(speakers).split(",") if speakers else ():
        side, _, word = text.partition("=")
        if side not in list(Speaker) or not word or word in words:
            fix = "Write customer=WORD,salesperson=WORD, each word once"
            raise InputError(f"{text!r} names no speaker", field="speakers", fix=fix)
        words[word] = Speaker(side)
        named.add(words[word])
    words |= {side.value: side for side in Speaker if side not in named}
    return Table(pairs(",".join(columns).split(",") if columns else (), "columns"), words)


def threshold(text: str) -> float | None:
    """A Jaccard index in (0, 1], or None for `none`."""
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        fix = "Give a Jaccard index above 0, at most 1, or none"
        raise InputError(f"{text!r} is no threshold", field="near_duplicates", fix=fix)
    return value
