"""How the numbers of a text are read, on both sides: what is said and what is authorised."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from salesllm.dialogue import Language
from salesllm.quantities.numerals_en import english
from salesllm.quantities.numerals_zh import chinese
from salesllm.quantities.quantity import MONEY, Quantity
from salesllm.scoring.grounding.wording import Wording
from salesllm.scoring.grounding.wording_en import EN
from salesllm.scoring.grounding.wording_zh import ZH

WORDING: dict[Language, Wording] = {"en": EN, "zh": ZH}

YEAR = 365.25
DAYS = {
    "second": 1 / 86_400, "minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0,
    "month": YEAR / 12, "quarter": YEAR / 4, "year": YEAR,
}  # fmt: skip
"""Units of time in days."""

_MARKUP = re.compile(r"[*_`#]")
_KUAI = re.compile(r"(?<=\d)块(\d)(?!\d)")  # 249块9
_KUAI_END = re.compile(r"块钱?(?=$|[^\u4e00-\u9fff]|[吧呢啊的了就一左给您我钱拿搞])")
_EVERY = ("每", "全", "整", "第", "a ", "an ", "per ", "each ", "every ", "first ")
_WITHIN = re.compile(r"\b(?:within|in|takes|about|for|after|only|just|the) $")
_TO = re.compile(r"\s*(?:to|or|and|到|至|或|~|–|—)?\s*")
_NEXT_DAY = re.compile(r"next day|day after|overnight|次日|隔天|隔日|第二天")
_SAME_DAY = re.compile(r"same day|当天|当日")


def plain(text: str) -> str:
    """A text as the patterns of `Wording` read it: no mark-up, no capitals, one form of a sign."""
    text = _MARKUP.sub("", unicodedata.normalize("NFKC", text).replace("’", "'"))
    return _KUAI_END.sub("元", _KUAI.sub(r".\1元", text.replace("-", " ").lower()))


def read(text: str, language: Language) -> list[Quantity]:
    """The numbers of a `plain` text, without the periods that others are told by: $29 a month."""
    found = (chinese if language == "zh" else english)(text)
    return [q for q in found if not (q.unit in DAYS and q.loose and _told_by(q, text))]


def _told_by(period: Quantity, text: str) -> bool:
    if period.text.endswith("ly"):
        return True
    return period.text.startswith(_EVERY) and not _WITHIN.search(text[: period.start])


def marked(text: str, quantity: Quantity) -> str:
    """The text with `#` in the place of one of its numbers."""
    return f"{text[: quantity.start]}#{text[quantity.start + len(quantity.text) :]}"


@dataclass
class Numbers:
    """The numbers of some texts, by what they measure.

    Attributes:
        money: Amounts, of whatever currency: a seller seldom names it in full.
        shares: Percentages.
        days: Periods, in days.
        spans: Periods of two ends: 2-4 days.
        counts: Everything else, and the figures of the periods.
    """

    money: set[float] = field(default_factory=set)
    shares: set[float] = field(default_factory=set)
    days: set[float] = field(default_factory=set)
    spans: set[tuple[float, float]] = field(default_factory=set)
    counts: set[float] = field(default_factory=set)

    def add(self, text: str, language: Language, *, bare_money: bool = False) -> Numbers:
        """Reads a text, too.

        Args:
            bare_money: A number without a unit may be an amount.
        """
        text = plain(text)
        before: Quantity | None = None
        for quantity in read(text, language):
            self._add(quantity, bare_money)
            if before is not None and _joined(text, before, quantity):
                factor = DAYS.get(quantity.unit, 0.0)
                low, high = before.values[0] * factor, quantity.values[0] * factor
                if low < high:
                    self.spans.add((low, high))
                    self.days.add(low)
            before = quantity
        if _NEXT_DAY.search(text):
            self.days.add(1.0)
        if _SAME_DAY.search(text):
            self.days |= {0.5, 1.0}
        return self

    def _add(self, quantity: Quantity, bare_money: bool) -> None:
        unit, values = quantity.unit, quantity.values
        if unit in MONEY:
            self.money.update(values)
        elif unit == "%" or (not unit and len(values) > 1):  # 九折 has several readings
            self.shares.update(value for value in values if unit or value >= 1)
        elif unit in DAYS:
            self.days.update(value * DAYS[unit] for value in values)
            self.counts.update(values)
        elif not unit:
            self.counts.update(values)
            if bare_money and not quantity.loose:
                self.money.update(values)


def _joined(text: str, a: Quantity, b: Quantity) -> bool:
    """Whether two numbers are the ends of a span."""
    between = text[a.start + len(a.text) : b.start]
    return a.unit in ("", b.unit) and _TO.fullmatch(between) is not None
