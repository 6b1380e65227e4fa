"""What a scenario authorises its salesperson to say, and what follows from that by arithmetic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from salesllm.dialogue import Speaker
from salesllm.scenario import Scenario
from salesllm.scoring.grounding.claims import TENTHS, Claim
from salesllm.scoring.grounding.reading import WORDING, YEAR, Numbers, plain

_A_YEAR = {"day": YEAR, "week": YEAR / 7, "month": 12.0, "year": 1.0}
"""How often a period comes round in a year."""

# A line of the facts that tells a price, a reduction, a rate; both languages.
_PRICED = re.compile(r"price|cost|premium|(?<!评)价|费")
_REDUCED = re.compile(r"\boff\b|discount|reduc|折|优惠|减")
_RATE = re.compile(
    r"rate|interest|yield|commission|fee|dividend|charge|apr\b|access|(?:a|per) (?:year|annum)"
    r"|利|息|佣金|费|年化|取用"
)
_DELIVERY = re.compile("^(?:delivery|shipping|配送|发货|物流)")
_SHARES = re.compile(r"\bshares?\b|股")
_LOT = 100

_MANY = 1000
_EXACT, _HEDGED, _HEDGED_SHARE, _SAME_PERIOD = 0.003, 0.05, 0.02, 0.02
"""How far two numbers that say the same may be apart, relative to the known one."""


class Authorised:
    """What a scenario's salesperson may state: its price, facts, selling points and own script."""

    def __init__(self, scenario: Scenario) -> None:
        self.language, product = scenario.language, scenario.product
        self.words = WORDING[scenario.language]
        self.financial = product.domain == "financial"
        self.name = plain(product.name)
        facts = [f"{label}: {value}" for label, value in product.facts.items()]
        script = scenario.scripts.get(Speaker.SALESPERSON, "").splitlines()
        lines = [*facts, *product.selling_points, product.channel, *script]
        self.lines = [plain(line) for line in lines]
        price = plain(product.price)
        self.known = self._numbers(self.name).add(price, self.language, bare_money=True)
        for line in self.lines:
            self.known.add(line, self.language, bare_money=_PRICED.search(line) is not None)
        sent = self._told_in(_DELIVERY) or self._told_in(self.words.terms["delivery"])
        self.delivery = self._numbers(*sent)
        self.reduced = self._numbers(*self._told_in(_REDUCED))
        self.rates = self._numbers(*self._told_in(_RATE))
        priced = " ".join([price, *self._told_in(re.compile(r"[$¥£€元币]|\d"))])
        self.told_by = [_A_YEAR[p] for p, said in self.words.periods.items() if said.search(priced)]
        self.by_share = _SHARES.search(f"{price} {self.name}") is not None

    def allows(self, claim: Claim, said: Numbers, supposed: set[float]) -> bool:
        """Whether the salesperson may say so.

        Args:
            said: The customer's numbers so far. They are no authority, but sums may use them.
            supposed: Amounts that the salesperson reckons with as an example.
        """
        if claim.perk is not None:
            return bool(self._told_in(claim.perk.known))
        if claim.measure == "gift":
            return self._comes_with(claim.topic)
        if claim.measure == "count":
            return not self.known.counts.isdisjoint(claim.values)
        if claim.measure == "days":
            return any(self._period(days, claim.topic) for days in claim.values)
        if claim.measure == "%":
            values = [value for value in claim.values if value >= 1] or claim.values
            return any(_near(value, claim, self._shares(claim, said)) for value in values)
        return any(self._amount(value, claim, said, supposed) for value in claim.values)

    def _numbers(self, *texts: str) -> Numbers:
        found = Numbers()
        for text in texts:
            found.add(text, self.language)
        return found

    def _told_in(self, pattern: re.Pattern[str]) -> list[str]:
        return [line for line in self.lines if pattern.search(line)]

    def _comes_with(self, gift: str) -> bool:
        """Whether the facts name what is given."""
        bare = self.words.given.sub(" ", gift)
        if self.language == "zh":
            runs = re.findall(r"[\u4e00-\u9fff]+", bare)
            pieces = [run[i : i + 2] for run in runs for i in range(len(run) - 1)]
        else:
            pieces = [word for word in re.findall(r"[a-z]{4,}", bare) if word not in self.name]
        lines = self._told_in(self.words.bundled) + self._told_in(self.words.gift)
        return any(piece in line for piece in pieces for line in lines)

    def _period(self, days: float, topic: str) -> bool:
        known = self.known
        if topic == "delivery" and self.delivery.days:
            known = self.delivery
            if days >= max(known.days):
                return True  # later than promised is no concession
        if any(abs(days - other) <= _SAME_PERIOD * other for other in known.days):
            return True
        return any(low <= days <= high for low, high in known.spans)

    def _shares(self, claim: Claim, said: Numbers) -> Iterator[float]:
        """Percentages that are known, or follow: over years, the difference, of a sum."""
        known = self.known.shares
        yield from self.reduced.shares if claim.topic == TENTHS else known
        if claim.kind == "discount":
            return
        if self.words.apart.search(claim.sentence):
            yield from (abs(a - b) for a in known for b in known | said.shares)
        for days in self._numbers(claim.sentence).days:
            yield from (share * days / YEAR for share in known)
        paid = self.known.money | {amount / 12 for amount in self.known.money}
        yield from (100 * a / b for a in paid for b in said.money if a < b)

    def _amount(self, value: float, claim: Claim, said: Numbers, supposed: set[float]) -> bool:
        sentence = self._numbers(claim.sentence)
        by_period = {*self._by_period(claim.sentence, sentence)}
        half = 0.5 if value == int(value) else 0.005  # who divides a price also rounds it
        return (
            _near(value, claim, self.known.money)
            or any(abs(value - other) <= half for other in by_period if other > 1)
            or _near(value, claim, by_period)
            or _near(value, claim, self._sums(claim.sentence, sentence, said, by_period))
            or (self.financial and _near(value, claim, self._grown(sentence, said, supposed)))
        )

    def _by_period(self, text: str, sentence: Numbers) -> Iterator[float]:
        """A price, also a reduced one, by the day, the week, the month, the year."""
        wanted = [_A_YEAR[p] for p, said in self.words.periods.items() if said.search(text)]
        terms = {days / YEAR for days in self.known.days | sentence.days if days > 27}
        for amount in self.known.money | {*self._less(self.known.money)}:
            for times in wanted:
                yield from (amount * told / times for told in self.told_by)
                yield from (amount / term / times for term in terms | {1.0})

    def _less(self, amounts: Iterable[float]) -> Iterator[float]:
        """Amounts after a reduction that is known."""
        yield from (m * (1 - share / 100) for m in amounts for share in self.reduced.shares)

    def _sums(
        self, text: str, sentence: Numbers, said: Numbers, by_period: set[float]
    ) -> Iterator[float]:
        """Several of it, reduced, added up, or one sum less another."""
        known = self.known.money
        counts = {n for n in sentence.counts | said.counts if 1 < n <= _MANY and n == int(n)}
        total = self.words.total.search(text) is not None
        if total:
            counts |= {n for n in self.known.counts if 1 < n <= _MANY}
        lots = {n * _LOT for n in counts | {1.0}} if self.by_share else set()
        many = {amount * n for amount in known for n in counts | lots}
        yield from many
        yield from self._less(known | many)
        if total:
            yield from (a + b for a in many | by_period | known for b in known)
        if self.financial or self.words.apart.search(text):  # also what is paid out of a loss
            yield from (
                abs(a - b) for a in known | said.money for b in known | said.money if a != b
            )

    def _grown(self, sentence: Numbers, said: Numbers, supposed: set[float]) -> Iterator[float]:
        """Interest and fees on a sum, and the sum with its interest."""
        own = said.money | supposed
        days = self.known.days | said.days | sentence.days
        years = {period / YEAR for period in days if period > 27} | {1.0, 1 / 12}
        shares = {share for share in self.rates.shares | said.shares if share < 50}
        shares |= {abs(a - b) for a in self.rates.shares for b in said.shares & shares}
        for gain in {share / 100 * t for share in shares for t in years}:
            yield from (base * gain for base in self.known.money | own)
            if gain > 0.01:
                yield from (base * (1 + gain) for base in own)


def _near(value: float, claim: Claim, known: Iterable[float]) -> bool:
    tolerance = _EXACT
    if claim.hedged:
        tolerance = _HEDGED_SHARE if claim.measure == "%" else _HEDGED
    return any(abs(value - other) <= tolerance * other + 1e-9 for other in known)
