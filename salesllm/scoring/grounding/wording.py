"""How a salesperson words a price, a discount, a gift or a term, in both languages.

Patterns are looked for in one clause, in lower case and NFKC-normalised, with plain apostrophes.
`#` stands for the number that a clause is read for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from salesllm.scoring.grounding.concession import Kind


@dataclass(frozen=True)
class Perk:
    """A concession that needs no number.

    Attributes:
        said: How it is worded.
        known: What in the product's facts authorises it.
    """

    kind: Kind
    said: re.Pattern[str]
    known: re.Pattern[str]
    financial: bool | None = None
    """Whether it is one of financial products only, or of others only."""


@dataclass(frozen=True)
class Wording:
    """The phrases of one language.

    Attributes:
        denied: The clause says that something is not to be had.
        refused: The clause behind the number says so.
        floor: After all, the number is to be had: "I can't go below #".
        aside: The number is somebody else's: a competitor's, the market's.
        ours: After a number of somebody else's, this one is the salesperson's.
        supposed: The sum is one to reckon with, of a financial product.
        offers: The question is an offer; other questions claim nothing.
        grants: The number is given to the customer; it also makes a bare number an amount.
        accepts: The sentence begins by agreeing to what the customer said.
        alone: There is nothing but the number in the clause.
        bare: The number and its clause, where the number counts no things.
        deal: A whole sentence that agrees to it.
        asked: The customer names a price.
        price: A bare number behind it is an amount.
        discount: The amount or share is taken off, or paid back.
        rate: The share is a rate or a fee.
        if_: The share is only imagined.
        hedge: The number is a rounded one.
        apart: Amounts are being compared.
        total: Amounts are being added up.
        periods: A sum is told by the day, the week, the month, the year.
        terms: What a period is about.
        parts: The bare number counts instalments.
        instead: Periods that are no terms: when somebody calls back, how long one has worked.
        gift: Something is given; what it is follows.
        not_gift: What is given is none, or none of the seller's.
        given: Words that any gift is given in.
        bundled: A fact about what comes with the product.
    """

    denied: re.Pattern[str]
    refused: re.Pattern[str]
    floor: re.Pattern[str]
    aside: re.Pattern[str]
    ours: re.Pattern[str]
    supposed: re.Pattern[str]
    offers: re.Pattern[str]
    grants: re.Pattern[str]
    accepts: re.Pattern[str]
    alone: re.Pattern[str]
    bare: re.Pattern[str]
    deal: re.Pattern[str]
    asked: re.Pattern[str]
    price: re.Pattern[str]
    discount: re.Pattern[str]
    rate: re.Pattern[str]
    if_: re.Pattern[str]
    hedge: re.Pattern[str]
    apart: re.Pattern[str]
    total: re.Pattern[str]
    periods: dict[str, re.Pattern[str]]
    terms: dict[str, re.Pattern[str]]
    parts: re.Pattern[str]
    instead: re.Pattern[str]
    gift: re.Pattern[str]
    not_gift: re.Pattern[str]
    given: re.Pattern[str]
    bundled: re.Pattern[str]
    perks: tuple[Perk, ...]
