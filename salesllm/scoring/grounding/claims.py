"""What a salesperson states in a turn that has to be authorised: numbers that bind, and perks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from salesllm.dialogue import Language
from salesllm.quantities.numerals_en import english
from salesllm.quantities.numerals_zh import chinese
from salesllm.quantities.quantity import MONEY, Quantity
from salesllm.scoring.grounding.wording import WORDING, Perk, Wording

DAYS = {
    "second": 1 / 86_400, "minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0,
    "month": 365.25 / 12, "quarter": 365.25 / 4, "year": 365.25,
}  # fmt: skip
TENTHS = "折"
"""九折 is 90 % of the price."""
_SENTENCE = re.compile(r"(?<=[!?。！？;；\n])|(?<=\.)(?=\s|$)")
_CLAUSE = re.compile(r"(?<=[，、：])|(?<=[,:])(?=\s)|(?<=\s)[—–](?=\s)|——")
_MARKS = re.compile(r"[*_`#]")
_KUAI = re.compile(r"(?<=\d)块(\d)(?!\d)")
_KUAI_END = re.compile(r"块钱?(?=$|[^\u4e00-\u9fff]|[吧呢啊的了就一左给您我一钱拿搞])")
_EVERY = ("每", "全", "整", "第", "a ", "an ", "per ", "each ", "every ", "first ")
_WITHIN = re.compile(r"\b(?:within|in|takes|about|for|after|only|just|the) $")


_EDGES = ",.!?:;、。 "


@dataclass(frozen=True)
class Claim:
    """One statement of a salesperson's that binds, unless it is authorised.

    Attributes:
        kind: See `Concession`.
        measure: `money`, `%`, `days` or `count`; `perk` and `gift` for what bears no number.
        values: Every reading of the number, in that measure.
        quote: The clause as it was written.
        sentence: In lower case, the whole of it.
        topic: What a period is about; the words of a gift.
        hedged: Whether the number is a rounded one.
        granted: Whether it is given to the customer in so many words.
    """

    kind: str
    measure: str
    values: tuple[float, ...]
    quote: str
    sentence: str
    topic: str = ""
    hedged: bool = False
    granted: bool = False
    perk: Perk | None = None


def plain(text: str) -> str:
    """A text as the patterns read it."""
    text = _MARKS.sub("", unicodedata.normalize("NFKC", text).replace("’", "'"))
    text = text.replace("-", " ").lower()
    return _KUAI_END.sub("元", _KUAI.sub(r".\1元", text))


def read(text: str, language: Language) -> list[Quantity]:
    """The numbers of a `plain` text, without the periods that others are told by: $29 a month."""
    found: list[Quantity] = []
    for quantity in (chinese if language == "zh" else english)(text):
        if quantity.unit in DAYS and quantity.loose and _told_by(quantity, text):
            continue
        found.append(quantity)
    return found


def _told_by(period: Quantity, text: str) -> bool:
    return period.text.endswith("ly") or (
        period.text.startswith(_EVERY) and not _WITHIN.search(text[: period.start])
    )


def supposed(text: str, language: Language) -> set[float]:
    """Amounts that a salesperson's turn reckons with as an example: "say you put in ¥60,000"."""
    words, found = WORDING[language], set()
    for clause in map(plain, _CLAUSE.split(text)):
        for quantity in read(clause, language):
            end = quantity.start + len(quantity.text)
            if words.supposed.search(f"{clause[: quantity.start]}#{clause[end:]}"):
                found |= {*quantity.values}
    return found


def sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(text) if part.strip()]


def claims(text: str, language: Language, *, financial: bool) -> Iterator[Claim]:
    """Everything in a salesperson's turn that has to be authorised, in order."""
    words = WORDING[language]
    for sentence in sentences(text):
        whole = plain(sentence).strip()
        asks = whole.rstrip("”\"' ").endswith("?") and not words.offers.search(whole)
        if asks:
            continue
        quotes = [part.strip() for part in _CLAUSE.split(sentence) if part.strip()]
        clauses = [plain(quote).strip(_EDGES) for quote in quotes]
        worded: list[Claim] = []
        for index, (quote, clause) in enumerate(zip(quotes, clauses, strict=True)):
            worded += _worded(words, clause, quote, whole, financial)
            told = not words.ours.search(clause) and any(map(words.aside.search, clauses[:index]))
            refused = index + 1 < len(clauses) and words.refused.search(clauses[index + 1])
            if not (told or refused):
                yield from _numbers(words, clause, quote, whole, financial, language)
        yield from worded or _worded(words, whole.strip(_EDGES), sentence.strip(), whole, financial)


def _numbers(
    words: Wording, clause: str, quote: str, sentence: str, financial: bool, language: Language
) -> Iterator[Claim]:
    for quantity in read(clause, language):
        claim = _claim(words, clause, quantity, quote, sentence, financial)
        if claim is not None:
            yield claim


def _claim(
    words: Wording, clause: str, quantity: Quantity, quote: str, sentence: str, financial: bool
) -> Claim | None:
    """The number of a clause as a claim; None for one that binds nobody."""
    end = quantity.start + len(quantity.text)
    marked = f"{clause[: quantity.start]}#{clause[end:]}"
    if words.aside.search(marked) or (
        words.denied.search(marked) and not words.floor.search(marked)
    ):
        return None
    agrees = words.accepts.search(sentence) is not None
    granted = bool(words.grants.search(marked) or words.price.search(marked))
    granted |= agrees and words.alone.search(marked) is not None
    binding = _binding(words, marked, quantity, sentence, financial, granted)
    if binding is None:
        return None
    kind, measure, values, topic = binding
    hedged = words.hedge.search(clause) is not None
    return Claim(kind, measure, values, quote, sentence, topic, hedged, granted or agrees)


_Binding = tuple[str, str, tuple[float, ...], str]


def _binding(
    words: Wording, marked: str, quantity: Quantity, sentence: str, financial: bool, granted: bool
) -> _Binding | None:
    """Kind, measure, values and topic of a number that binds."""
    unit, values = quantity.unit, quantity.values
    taken_off = words.discount.search(marked)
    if quantity.text.endswith(TENTHS):
        return "discount", "%", values, TENTHS
    if unit == "%":
        if 100.0 in values or 0.0 in values or (words.if_.search(sentence) and not taken_off):
            return None
        kind = "discount" if taken_off else "term" if words.rate.search(marked) else "fact"
        return kind, "%", values, ""
    if unit in MONEY:
        if financial and not (granted or taken_off) and words.supposed.search(marked):
            return None
        return "discount" if taken_off else "price", "money", values, ""
    if unit in DAYS:
        topic = _topic(words, marked, sentence)
        if not topic or words.instead.search(marked):
            return None
        return "term", "days", tuple(value * DAYS[unit] for value in values), topic
    if unit:
        return None
    if words.parts.search(f"{marked}\n{quantity.text}"):
        return "term", "count", values, ""
    if not quantity.loose and granted and words.bare.search(f"{quantity.text}\n{marked}"):
        return "discount" if taken_off else "price", "money", values, "bare"
    return None


def _topic(words: Wording, clause: str, sentence: str) -> str:
    for text in (clause, sentence):
        for topic, pattern in words.terms.items():
            if pattern.search(text):
                return topic
    return ""


def _worded(
    words: Wording, clause: str, quote: str, sentence: str, financial: bool
) -> Iterator[Claim]:
    """Perks and gifts of a clause."""
    for perk in words.perks:
        if perk.financial in (None, financial) and (found := perk.said.search(clause)):
            before = f"{clause[: found.start()]}#"
            if not words.denied.search(before) and not words.aside.search(clause):
                yield Claim(perk.kind, "perk", (), quote, sentence, perk=perk)
                return
    found = words.gift.search(clause)
    if found and not words.denied.search(clause) and not words.aside.search(clause):
        what = next((text for text in found.groupdict().values() if text), "")
        if not words.not_gift.search(what):
            yield Claim("gift", "gift", (), quote, sentence, topic=what)
