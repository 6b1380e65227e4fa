"""Numbers with their units, and whether two texts agree in them.

`numerals_zh` and `numerals_en` find the numbers of a text. A number that may be read in several
ways (`八折` is 80% of the price, or 20% off) has all of its readings.

Chinese is full of numerals that count nothing (`一直`, `四处`), English of articles and ordinals.
Such a number is `loose`: it may answer one of the other text, and needs no answer itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose


@dataclass(frozen=True)
class Quantity:
    """One number of a text.

    Attributes:
        text: As it is written.
        values: Every reading of it.
        unit: A currency (`CNY`), `%`, a unit of time or size (`year`, `kg`), the letters of a code
            (`code r` of R1); empty for a plain count.
    """

    text: str
    values: tuple[float, ...]
    unit: str = ""
    loose: bool = False
    start: int = field(default=0, compare=False)

    def agrees(self, other: Quantity) -> bool:
        """Whether both can say the same, units converted; an unknown unit may be any."""
        factor = 1.0
        units = {self.unit, other.unit}
        if units <= _DOLLARS and "$" in units:
            pass  # a dollar sign alone may be any country's
        elif len(units) == 2 and "" not in units:
            mine, theirs = _SIZES.get(self.unit), _SIZES.get(other.unit)
            if mine is None or theirs is None or mine[0] != theirs[0]:
                return False
            factor = mine[1] / theirs[1]
        pairs = ((a * factor, b) for a in self.values for b in other.values)
        return any(isclose(a, b, rel_tol=1e-9) for a, b in pairs)


def disagreements(source: Sequence[Quantity], target: Sequence[Quantity]) -> list[str]:
    """What one of two texts has and the other has not, in words; nothing where they agree.

    An amount of money is no bare number, unless the target names a currency elsewhere (¥5-10).
    Every number answers one of the other text: the firm ones first, those of one unit first. What
    the target merely says again is not new.
    """
    names_money = any(t.unit in MONEY for t in target)
    pairs = sorted(
        (s.loose + t.loose, s.unit != t.unit, i, j)
        for i, s in enumerate(source)
        for j, t in enumerate(target)
        if s.agrees(t) and (t.unit or names_money or s.unit not in MONEY)
    )
    answered: dict[int, int] = {}
    for *_, i, j in pairs:
        if i not in answered and j not in answered.values():
            answered[i] = j
    known = {j for *_, j in pairs}
    lost = [s.text for i, s in enumerate(source) if not s.loose and i not in answered]
    new = [t.text for j, t in enumerate(target) if not t.loose and j not in known]
    return [f"{text} is lost" for text in lost] + [f"{text} is new" for text in new]


_SIZES: dict[str, tuple[str, float]] = {
    "second": ("time", 1), "minute": ("time", 60), "hour": ("time", 3600),
    "day": ("time", 86_400), "week": ("time", 604_800),
    "month": ("calendar", 1), "quarter": ("calendar", 3), "year": ("calendar", 12),
    "mm": ("length", 1), "cm": ("length", 10), "m": ("length", 1e3), "km": ("length", 1e6),
    "mg": ("weight", 1e-3), "g": ("weight", 1), "jin": ("weight", 500), "kg": ("weight", 1e3),
    "t": ("weight", 1e6), "ml": ("volume", 1), "l": ("volume", 1e3), "w": ("power", 1),
    "kw": ("power", 1e3),
}  # fmt: skip
"""Units that convert: family, and size within it."""
_DOLLARS = {"$", "USD", "HKD", "SGD", "CAD", "AUD"}

FIGURE = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
CODE = r"(?<![a-z])(?P<letters>[a-z]{1,4})(?P<number>[0-9]+)(?![0-9.,]*[0-9])"
"""Letters and a number of one word: R1, A4."""
SIGN = r"(?P<sign>(?<![a-z])(?:hk|us|s|c|a)\$|[$¥£€]|(?:rmb|cny|usd|hkd)\s?)?"
_CURRENCIES = {
    "HK$": "HKD", "US$": "USD", "S$": "SGD", "C$": "CAD", "A$": "AUD", "$": "$", "¥": "CNY",
    "RMB": "CNY", "CNY": "CNY", "USD": "USD", "HKD": "HKD", "£": "GBP", "€": "EUR",
}  # fmt: skip
MONEY = frozenset(_CURRENCIES.values())


def unit_pattern(units: Mapping[str, str]) -> str:
    """One group for each of the patterns that are the keys."""
    return "|".join(f"(?P<u{n}>{pattern})" for n, pattern in enumerate(units))


def unit_of(match: re.Match[str], units: Mapping[str, str]) -> str:
    """The unit behind a number, else the currency before it, else nothing."""
    found = next((name for n, name in enumerate(units.values()) if match[f"u{n}"]), "")
    return found or (_CURRENCIES[match["sign"].strip().upper()] if match["sign"] else "")


def code_of(match: re.Match[str]) -> Quantity:
    return Quantity(match[0], (float(match["number"]),), f"code {match['letters'].lower()}")


def figure(text: str) -> float:
    """`1,234.5`."""
    return float(text.replace(",", ""))
