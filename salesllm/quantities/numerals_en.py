"""The numbers of an English text: ¥50,000, 1.5 million, twenty-five years, a year and a half."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from salesllm.quantities.quantity import (
    CODE,
    FIGURE,
    SIGN,
    Quantity,
    code_of,
    figure,
    unit_of,
    unit_pattern,
)  # fmt: skip

_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "k": 1e3, "mn": 1e6,
    "bn": 1e9, "megapixel": 1e6,
}  # fmt: skip
_PARTS = {"thirds": 3, "quarters": 4, "fifths": 5, "sixths": 6, "eighths": 8, "tenths": 10}
_UNITS = {
    "%|percent|per cent|percentage points?": "%", "years?|yrs?": "year", "quarters?": "quarter",
    "months?": "month", "weeks?": "week", "(?:(?:working|business|trading) )?days?": "day",
    "hours?|hrs?|h": "hour", "minutes?|mins?": "minute", "seconds?|secs?": "second",
    "kg|kilos?|kilogram(?:me)?s?": "kg", "mg|milligrams?": "mg", "g|gram(?:me)?s?": "g",
    "tonnes?": "t", "km|kilomet(?:re|er)s?": "km", "cm|centimet(?:re|er)s?": "cm",
    "mm|millimet(?:re|er)s?": "mm", "m2|sq\\.? m|square met(?:re|er)s?": "m2",
    "m|met(?:re|er)s?": "m", "ml|millilit(?:re|er)s?": "ml", "l|lit(?:re|er)s?": "l",
    "inch(?:es)?": "inch", "kw|kilowatts?": "kw", "w|watts?": "w", "yuan|rmb|cny": "CNY",
    "dollars?": "$", "pounds?": "GBP", "euros?": "EUR",
}  # fmt: skip
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_MONTHS = (
    "january", "february", "march", "april", "", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_LOOSE: dict[str, tuple[tuple[float, ...], str]] = {
    **{word: ((n, 1 / n, 100 / n), "") for n, word in enumerate(_ORDINALS, 1)},
    "twentieth": ((20.0, 1 / 20, 5.0), ""), "hundredth": ((100.0, 1 / 100, 1.0), ""),
    **{word: ((float(n),), "month") for n, word in enumerate(_MONTHS, 1) if word},
    **dict.fromkeys(("a", "an", "once", "single", "each", "per", "every"), ((1.0,), "")),
    **dict.fromkeys(("both", "twice", "couple", "pair", "double", "two"), ((2.0,), "")),
    **dict.fromkeys(("half", "halves"), ((0.5, 50.0), "")),
    **dict.fromkeys(("annual", "annually", "yearly"), ((1.0,), "year")),
    **{f"{word[:-1]}ies": ((float(n),), "year") for word, n in _WORDS.items() if n >= 20},
    "triple": ((3.0,), ""),
    "dozen": ((12.0,), ""),
    "quarterly": ((1.0,), "quarter"),
    "monthly": ((1.0,), "month"),
    "weekly": ((1.0,), "week"),
    "daily": ((1.0,), "day"),
    "quarter": ((0.25, 25.0), ""),
    "fortnight": ((14.0,), "day"),
    "decade": ((10.0,), "year"),
    "hundreds": ((1e2,), ""),
    "thousands": ((1e3,), ""),
    "fully": ((100.0,), "%"),
}  # fmt: skip
_SPELLED = "|".join(sorted([*_WORDS, "hundred", "thousand", "million", "billion"], key=len)[::-1])
_NUMBER = re.compile(
    rf"{CODE}"
    rf"|{SIGN}(?:(?P<figure>{FIGURE})"
    r"(?P<scale>\s?(?:thousand|million|billion|megapixel)|(?-i:k|bn|mn)\b)?"
    rf"|\b(?P<words>(?:an?\s(?=hundred|thousand|million))?(?:{_SPELLED})"
    rf"(?:(?:\s|\sand\s)(?:{_SPELLED}))*)\b)"
    r"(?:\s(?:in|out\sof)\s(?:a|one|every)\s(?P<among>hundred|thousand|million))?"
    rf"(?:\s(?P<parts>{'|'.join(_PARTS)}))?(?P<half>\sand\sa\shalf)?"
    rf"(?:\s?(?:{unit_pattern(_UNITS)})(?![a-z]))?"
    r"|\b(?:a|one)\s(?P<one>year|month|week|day|hour|minute)\sand\sa\shalf"
    rf"|\b(?P<loose>{'|'.join(sorted(_LOOSE, key=len)[::-1])})\b"
    r"(?:\s(?P<loose_unit>year|month|week|day|hour|minute)(?![a-z]))?",
    re.IGNORECASE,
)


def english(text: str) -> Iterator[Quantity]:
    """Every number of an English text, in order."""
    for match in _NUMBER.finditer(unicodedata.normalize("NFKC", text).replace("-", " ")):
        for quantity in _read(match):
            yield replace(quantity, start=match.start())


def _read(match: re.Match[str]) -> Iterator[Quantity]:
    said = match[0].strip()
    if match["letters"]:
        yield code_of(match)
    elif match["one"]:
        yield Quantity(said, (1.5,), match["one"].lower())
    elif match["loose"]:
        values, unit = _LOOSE[match["loose"].lower()]
        yield Quantity(said, values, (match["loose_unit"] or unit).lower(), loose=True)
    else:
        yield from _counted(match, said)


def _counted(match: re.Match[str], said: str) -> Iterator[Quantity]:
    unit, words = unit_of(match, _UNITS), (match["words"] or "").lower()
    scale = _SCALES[match["scale"].strip().lower()] if match["scale"] else 1.0
    half = 0.5 if match["half"] else 0.0
    for value in _spelled(words) if words else [figure(match["figure"]) * scale]:
        if match["among"]:
            yield Quantity(said, (value * 100 / _SCALES[match["among"].lower()],), "%")
        elif match["parts"]:
            share = value / _PARTS[match["parts"].lower()]
            yield Quantity(said, (share, share * 100, value))
        else:
            # "ten pages", "hundred", "one day": often no more than a manner of speaking.
            manner = not unit and (value <= 12 or words in _SCALES)
            manner |= words == "one" and unit == "day"
            loose = not value or (bool(words) and manner and not half)
            yield Quantity(said, (value + half,), unit, loose)


def _spelled(text: str) -> list[float]:
    """Values of number words; several where they make no one number ("one two")."""
    found: list[float] = []
    total = current = last = 0.0
    for word in text.split():
        if word in ("a", "an", "and"):
            continue
        if (scale := _SCALES.get(word)) is not None:
            if scale == 100:
                current = (current or 1) * 100
            else:
                total, current = total + (current or 1) * scale, 0.0
            last = scale
            continue
        value = float(_WORDS[word])
        if (total or current) and not (last >= 100 or (last >= 20 and value < 10)):
            found.append(total + current)
            total = current = 0.0
        current += value
        last = value
    return [*found, total + current]
