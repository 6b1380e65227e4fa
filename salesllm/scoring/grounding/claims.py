"""What a salesperson states in a turn that has to be authorised: numbers that bind, and perks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from salesllm.dialogue import Language
from salesllm.quantities.quantity import MONEY, Quantity
from salesllm.scoring.grounding.concession import Kind
from salesllm.scoring.grounding.reading import DAYS, WORDING, marked, plain, read
from salesllm.scoring.grounding.wording import Perk, Wording

Measure = Literal["money", "%", "days", "count", "perk", "gift"]

TENTHS = "折"
"""九折 is 90 % of the price."""

_SENTENCE = re.compile(r"(?<=[!?。！？;；\n])|(?<=\.)(?=\s|$)")
_CLAUSE = re.compile(r"(?<=[，、：])|(?<=[,:])(?=\s)|(?<=\s)[—–](?=\s)|——")
_LONGEST = 400
_EDGES = ",.!?:;、。 "


@dataclass(frozen=True)
class Claim:
    """One statement of a salesperson's that binds, unless it is authorised.

    Attributes:
        values: Every reading of the number; periods in days. None for perks and gifts.
        quote: The clause as it was written.
        sentence: The whole of it, `plain`.
        topic: What a period is about; what is given; `TENTHS` for a discount told in them.
        hedged: Whether the number is a rounded one.
        granted: Whether it is given to the customer in so many words.
    """

    kind: Kind
    measure: Measure
    values: tuple[float, ...]
    quote: str
    sentence: str
    topic: str = ""
    hedged: bool = False
    granted: bool = False
    perk: Perk | None = None


@dataclass(frozen=True)
class _Clause:
    """A clause in its sentence, both `plain`, and as it was written."""

    text: str
    quote: str
    sentence: str


def claims(text: str, language: Language, *, financial: bool) -> Iterator[Claim]:
    """Everything in a salesperson's turn that has to be authorised, in order.

    Args:
        financial: Whether the product is one: "with ¥60,000" then is an example, no price.
    """
    words = WORDING[language]
    for written in _sentences(text):
        sentence = plain(written).strip()
        asks = sentence.rstrip("”\"' ").endswith("?")
        if asks and not words.offers.search(sentence):
            continue
        quotes = [part.strip() for part in _CLAUSE.split(written) if part.strip()]
        clauses = [_Clause(plain(quote).strip(_EDGES), quote, sentence) for quote in quotes]
        worded: list[Claim] = []
        for index, clause in enumerate(clauses):
            worded += _worded(words, clause, financial)
            if not _elsewhere(words, [c.text for c in clauses], index):
                for quantity in read(clause.text, language):
                    yield from _claim(words, clause, quantity, financial)
        whole = _Clause(sentence.strip(_EDGES), written, sentence)
        yield from worded or _worded(words, whole, financial)


def supposed(text: str, language: Language) -> set[float]:
    """Amounts that a salesperson's turn reckons with as an example: "say you put in ¥60,000"."""
    words = WORDING[language]
    found: set[float] = set()
    for sentence in _sentences(text):
        for clause in map(plain, _CLAUSE.split(sentence)):
            for quantity in read(clause, language):
                if words.supposed.search(marked(clause, quantity)):
                    found.update(quantity.values)
    return found


def accepted(heard: str, answer: str, language: Language) -> Iterator[Claim]:
    """What a salesperson concedes without saying it: "Would you take $30?" - "Deal!"."""
    words = WORDING[language]
    first = next(_sentences(answer), "").strip()
    if not words.deal.fullmatch(plain(first)):
        return
    clauses = (plain(part).strip(_EDGES) for s in _sentences(heard) for part in _CLAUSE.split(s))
    for clause in clauses:
        for quantity in read(clause, language):
            amount = quantity.unit in ("", *MONEY) and not quantity.loose
            if amount and words.asked.search(marked(clause, quantity)):
                yield Claim("price", "money", quantity.values, first, plain(first), granted=True)


def _sentences(text: str) -> Iterator[str]:
    """Those of a turn; what is too long for one is cut, so that no text takes long to read."""
    for sentence in _SENTENCE.split(text):
        for start in range(0, len(sentence), _LONGEST):
            if part := sentence[start : start + _LONGEST].strip():
                yield part


def _elsewhere(words: Wording, clauses: list[str], index: int) -> bool:
    """Whether the clauses around one say that its numbers are nothing the seller grants."""
    before = clauses[:index] if not words.ours.search(clauses[index]) else []
    if any(words.aside.search(text) or words.denied.search(text) for text in before):
        return True
    return any(map(words.refused.search, clauses[index + 1 : index + 2]))


def _claim(words: Wording, clause: _Clause, quantity: Quantity, financial: bool) -> Iterator[Claim]:
    """The number of a clause as a claim, if it binds."""
    around = marked(clause.text, quantity)
    if words.aside.search(around):
        return
    if words.denied.search(around) and not words.floor.search(around):
        return
    agrees = words.accepts.search(clause.sentence) is not None
    granted = any(map(re.Pattern.search, (words.grants, words.price), (around, around)))
    granted |= agrees and words.alone.search(around) is not None
    binding = _binding(words, around, quantity, clause.sentence, financial, granted)
    if binding is not None:
        hedged = words.hedge.search(clause.text) is not None
        yield Claim(
            *binding[:3], clause.quote, clause.sentence, binding[3], hedged, granted or agrees
        )


def _binding(
    words: Wording, around: str, quantity: Quantity, sentence: str, financial: bool, granted: bool
) -> tuple[Kind, Measure, tuple[float, ...], str] | None:
    """Kind, measure, values and topic of a number that binds; None for any other."""
    unit, values = quantity.unit, quantity.values
    taken_off = words.discount.search(around) is not None
    if quantity.text.endswith(TENTHS):
        return "discount", "%", values, TENTHS
    if unit == "%":
        if values[0] in (0.0, 100.0) or (words.if_.search(sentence) and not taken_off):
            return None
        rate = words.rate.search(around) is not None
        return "discount" if taken_off else "term" if rate else "fact", "%", values, ""
    if unit in MONEY:
        if financial and not (granted or taken_off) and words.supposed.search(around):
            return None
        return "discount" if taken_off else "price", "money", values, ""
    if unit in DAYS:
        topic = _topic(words, around, sentence)
        if not topic or words.instead.search(around):
            return None
        return "term", "days", tuple(value * DAYS[unit] for value in values), topic
    if unit:
        return None
    bare = f"{quantity.text}\n{around}"
    if words.parts.search(bare):
        return "term", "count", values, ""
    if granted and not quantity.loose and words.bare.search(bare):
        return "discount" if taken_off else "price", "money", values, ""
    return None


def _topic(words: Wording, *texts: str) -> str:
    """What a period is about, by the first of the texts that tells."""
    for text in texts:
        for topic, pattern in words.terms.items():
            if pattern.search(text):
                return topic
    return ""


def _worded(words: Wording, clause: _Clause, financial: bool) -> Iterator[Claim]:
    """The perks of a clause, or what it gives away."""
    text = clause.text
    if words.aside.search(text):
        return
    for perk in words.perks:
        found = perk.said.search(text) if perk.financial in (None, financial) else None
        if found and not words.denied.search(f"{text[: found.start()]}#"):
            yield Claim(perk.kind, "perk", (), clause.quote, clause.sentence, perk=perk)
            return
    gift = words.gift.search(text)
    if gift and not words.denied.search(text):
        what = next(filter(None, gift.groupdict().values()), "")
        if not words.not_gift.search(what):
            yield Claim("gift", "gift", (), clause.quote, clause.sentence, topic=what)
