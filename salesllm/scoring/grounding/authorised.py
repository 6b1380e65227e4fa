"""What a scenario authorises its salesperson to say, and what follows from that by arithmetic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from salesllm.dialogue import Language, Speaker
from salesllm.quantities.quantity import MONEY, Quantity
from salesllm.scenario import Scenario
from salesllm.scoring.grounding.claims import DAYS, TENTHS, Claim, plain, read
from salesllm.scoring.grounding.wording import WORDING

_PER = {"day": 365.25, "week": 365.25 / 7, "month": 12.0, "year": 1.0}
"""Times a year."""
_TO = re.compile(r"\s*(?:to|or|and|到|至|或|~|–|—)?\s*")
_PRICE = re.compile(r"price|cost|premium|(?<!评)价|费")
_MONEY = re.compile(r"[$¥£€元币钱]|\d")
_REDUCED = re.compile(r"\boff\b|discount|reduc|折|优惠|减")
_RATE = re.compile(
    r"rate|interest|yield|commission|fee|dividend|charge|apr\b|利|息|佣金|费|年化|access|取用"
)
_NEXT_DAY = re.compile(r"next day|day after|overnight|次日|隔天|隔日|第二天")
_SAME_DAY = re.compile(r"same day|当天|当日")
_MANY = 1000
_YEAR = DAYS["year"]
_EXACT, _HEDGED, _HEDGED_SHARE, _SAME_PERIOD = 0.003, 0.05, 0.02, 0.02


@dataclass
class Numbers:
    """Numbers of some texts, by measure; periods in days."""

    money: set[float] = field(default_factory=set)
    shares: set[float] = field(default_factory=set)
    days: set[float] = field(default_factory=set)
    spans: set[tuple[float, float]] = field(default_factory=set)
    counts: set[float] = field(default_factory=set)

    def add(self, text: str, language: Language, *, bare_money: bool = False) -> None:
        """Reads a text.

        Args:
            bare_money: A number without a unit may be an amount.
        """
        text = plain(text)
        before: Quantity | None = None
        for quantity in read(text, language):
            self._add(quantity, bare_money)
            if before is not None and _joined(text, before, quantity):
                low, high = before.values[0], quantity.values[0]
                factor = DAYS.get(quantity.unit, 0.0)
                if low < high and factor:
                    self.spans.add((low * factor, high * factor))
                    self.days.add(low * factor)
            before = quantity
        if _NEXT_DAY.search(text):
            self.days |= {1.0}
        if _SAME_DAY.search(text):
            self.days |= {0.5, 1.0}

    def _add(self, quantity: Quantity, bare_money: bool) -> None:
        unit, values = quantity.unit, quantity.values
        if unit in MONEY:
            self.money |= {*values}
        elif unit == "%" or (not unit and len(values) > 1):
            self.shares |= {value for value in values if unit or value >= 1}
        elif unit in DAYS:
            self.days |= {value * DAYS[unit] for value in values}
            self.counts |= {*values}
        elif not unit:
            self.counts |= {*values}
            if bare_money and not quantity.loose:
                self.money |= {*values}


def _joined(text: str, a: Quantity, b: Quantity) -> bool:
    """Whether two numbers are the ends of a span: 2-4 days."""
    between = text[a.start + len(a.text) : b.start]
    return a.unit in ("", b.unit) and _TO.fullmatch(between) is not None


class Authorised:
    """What a scenario's salesperson may state: its price, facts, selling points and own script."""

    def __init__(self, scenario: Scenario) -> None:
        self.language = scenario.language
        self.financial = scenario.product.domain == "financial"
        self.known = Numbers()
        self.text = ""
        product = scenario.product
        script = scenario.scripts.get(Speaker.SALESPERSON, "")
        named = [f"{label}: {value}" for label, value in product.facts.items()]
        lines = [*named, *product.selling_points, product.channel, *script.splitlines()]
        self.known.add(product.price, self.language, bare_money=True)
        self.known.add(product.name, self.language)
        for line in lines:
            priced = _PRICE.search(plain(line)) is not None
            self.known.add(line, self.language, bare_money=priced)
        self.text = plain("\n".join([product.price, *lines]))
        self.lines = [plain(line) for line in lines]
        priced = "\n".join(
            line for line in [plain(product.price), *self.lines] if _MONEY.search(line)
        )
        periods = WORDING[scenario.language].periods
        self.periods = [_PER[p] for p, said in periods.items() if said.search(priced)]
        delivery = WORDING[scenario.language].terms["delivery"]
        self.delivery, self.reduced, self.rates = Numbers(), Numbers(), Numbers()
        for line in self.lines:
            for pattern, of in ((_REDUCED, self.reduced), (_RATE, self.rates)):
                if pattern.search(line):
                    of.add(line, scenario.language)
            if delivery.search(line) or re.match("配送|delivery|shipping", line):
                self.delivery.add(line, scenario.language)
        self.name = plain(product.name)

    def allows(self, claim: Claim, said: Numbers, supposed: set[float]) -> bool:
        """Whether the salesperson may say so.

        Args:
            said: The customer's numbers so far. They are no authority, but sums may use them.
            supposed: Amounts that the salesperson reckons with as an example.
        """
        if claim.perk is not None:
            return any(claim.perk.known.search(line) for line in self.lines)
        if claim.measure == "gift":
            return self._has(claim.topic)
        if claim.measure == "count":
            return bool(self.known.counts & {*claim.values})
        if claim.measure == "days":
            return any(self._period(value, claim) for value in claim.values)
        if claim.measure == "%":
            wanted = [value for value in claim.values if value >= 1] or claim.values
            return any(_near(value, claim, self._shares(claim, said)) for value in wanted)
        return any(self._amount(value, claim, said, supposed) for value in claim.values)

    def _has(self, gift: str) -> bool:
        """Whether the facts name what is given."""
        words = WORDING[self.language]
        bare = words.given.sub(" ", gift)
        if self.language == "zh":
            bare = re.sub(r"[^\u4e00-\u9fff]", " ", bare)
            pieces = [part[i : i + 2] for part in bare.split() for i in range(len(part) - 1)]
        else:
            pieces = [word for word in re.findall(r"[a-z]{4,}", bare) if word not in self.name]
        lines = [s for s in self.lines if words.bundled.search(s) or words.gift.search(s)]
        return any(piece in line for piece in pieces for line in lines)

    def _period(self, days: float, claim: Claim) -> bool:
        known = self.known
        if claim.topic == "delivery" and self.delivery.days:
            known = self.delivery
            if days >= max(known.days):
                return True  # later than promised is no concession
        if any(abs(days - other) <= _SAME_PERIOD * other for other in known.days):
            return True
        return any(low <= days <= high for low, high in known.spans)

    def _shares(self, claim: Claim, said: Numbers) -> Iterator[float]:
        """Percentages that are known or follow: of a term, a difference, one sum in another."""
        words, known = WORDING[self.language], self.known.shares
        yield from self.reduced.shares if claim.topic == TENTHS else known
        if claim.kind == "discount":
            return
        if words.apart.search(claim.sentence):
            yield from (abs(a - b) for a in known for b in known | said.shares)
        sentence = numbers_of(claim.sentence, self.language)
        yield from (share * days / _YEAR for share in known for days in sentence.days)
        paid = self.known.money | {amount / 12 for amount in self.known.money}
        yield from (100 * a / b for a in paid for b in said.money if a < b)

    def _amount(self, value: float, claim: Claim, said: Numbers, supposed: set[float]) -> bool:
        if _near(value, claim, self.known.money):
            return True
        if _near(value, claim, self._sums(claim, said, supposed)):
            return True
        half = 0.5 if value == int(value) else 0.005
        return any(abs(value - other) <= half for other in self._by_period(claim) if other > 1)

    def _by_period(self, claim: Claim) -> Iterator[float]:
        """A price by the day, week, month or year, also after a discount that is known."""
        words, known = WORDING[self.language], self.known
        wanted = [_PER[p] for p, said in words.periods.items() if said.search(claim.sentence)]
        less = {m * (1 - p / 100) for m in known.money for p in self.reduced.shares if p < 100}
        sentence = numbers_of(claim.sentence, self.language)
        terms = {days / _YEAR for days in known.days | sentence.days if days > 27} | {1.0}
        for amount in known.money | less:
            for times in wanted:
                yield from (amount * told / times for told in self.periods)
                yield from (amount / term / times for term in terms)

    def _sums(self, claim: Claim, said: Numbers, supposed: set[float]) -> Iterator[float]:
        """Amounts that follow from those known, the customer's, and the counts at hand."""
        words, known = WORDING[self.language], self.known
        sentence = numbers_of(claim.sentence, self.language)
        counts = {n for n in sentence.counts | said.counts if 1 < n <= _MANY and n == int(n)}
        total = words.total.search(claim.sentence) is not None
        if total:
            counts |= {n for n in known.counts if 1 < n <= _MANY}
        many = {m * n for m in known.money for n in counts}
        if re.search(r"shares?\b|股", self.text):
            many |= {m * 100 * n for m in known.money for n in counts | {1.0}}
        by_period = {*self._by_period(claim)}
        yield from many
        yield from (m * (1 - p / 100) for m in known.money | many for p in self.reduced.shares)
        if total:
            yield from (a + b for a in many | by_period | known.money for b in known.money)
        if words.apart.search(claim.sentence):
            pool = known.money | said.money
            yield from (abs(a - b) for a in pool for b in pool if a != b)
        bases = known.money | said.money | supposed
        days = known.days | said.days | sentence.days
        years = {d / _YEAR for d in days if d > 27} | {1.0, 1 / 12}
        shares = {share for share in self.rates.shares | said.shares if share < 50}
        for base in bases if self.financial else ():
            for share in shares:
                yield from (base * share / 100 * t for t in years)
                grown = (share / 100 * t for t in years if base in supposed | said.money)
                yield from (base * (1 + more) for more in grown if more > 0.01)


def numbers_of(text: str, language: Language) -> Numbers:
    found = Numbers()
    found.add(text, language)
    return found


def _near(value: float, claim: Claim, known: Iterable[float]) -> bool:
    tolerance = _EXACT
    if claim.hedged:
        tolerance = _HEDGED_SHARE if claim.measure == "%" else _HEDGED
    return any(abs(value - other) <= tolerance * other + 1e-9 for other in known)
