"""Product facts that contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from salesllm.scenarios.authors import SELLER_FIELD
from salesllm.scenarios.lint.rows import Finding, Row

_RULE = "contradictory-facts"
_FIX = "Keep the one that is true"

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_SCALE = {"万": 1e4, "亿": 1e8, "million": 1e6, "thousand": 1e3, "k": 1e3, "": 1.0}
_AMOUNT = re.compile(rf"({_NUMBER})\s*(万|亿|million|thousand|k\b)?", re.IGNORECASE)

_PRICE_LABEL = re.compile(r"(?:sale |selling |unit |current )?price|(?:产品|商品)?(?:价格|售价|单价|定价|现价)")
_LOW = re.compile(r"\bmin(?:imum|\.)?\b|最低|最少|起(?:购|存|投|售)", re.IGNORECASE)
_HIGH = re.compile(r"\bmax(?:imum|\.)?\b|最高|最多|上限", re.IGNORECASE)

_EN_NOT = r"(?<!\bnot )(?<!\bno )(?<!n't )(?<!\bnever )"
_GUARANTEED = re.compile(
    rf"{_EN_NOT}\b(?:principal|capital)(?:[- ]|,? is | and interest |, )(?:fully )?(?:guaranteed?|protected)"
    rf"|{_EN_NOT}\bguaranteed? (?:the |your |of )?(?:principal|capital)"
    r"|(?<![不非])保本(?!比例)|(?<!不)(?:保证|承诺)本金(?:安全|不)?|本金(?:有|百分之百|100%)?保(?:障|证)",
    re.IGNORECASE,
)
_MAY_LOSE = re.compile(
    r"\b(?:may|can|could|might) lose (?:some |all |part )?(?:or all )?(?:of )?(?:the |your |their )?(?:principal|capital)"
    r"|\b(?:principal|capital) (?:may|can|could|might) be lost|\b(?:principal|capital) is (?:not guaranteed|at risk)"
    r"|(?<!不)(?:可能|会)(?:损失|亏损|亏掉?)(?:部分|全部)?本金|本金(?:可能|有可能|会)(?:损失|亏损|受损)|不保本|非保本",
    re.IGNORECASE,
)
_LOW_RISK, _HIGH_RISK = re.compile(r"\bR1\b", re.I), re.compile(r"\bR[45]\b", re.I)

_NO_FEE = re.compile(
    r"\b(?:no|without|zero|free of) (?:(?:an?|any|extra|hidden|monthly) )?(?:([a-z]+) )?(?:fees?|charges?)\b"
    r"(?! (?:for|if|when|over|above|on|until|after|during|in)\b)"
    r"|(?:免|零|无|没有|不收)(?:任何)?([\u4e00-\u9fff]{0,4}?)费(?!用)(?![^，。；]{0,4}(?:满|超过|以上))",
    re.IGNORECASE,
)
_FEE = re.compile(
    rf"\b([a-z]+) (?:fees?|charges?)\b(?: (?:of|is|are))?[:：]? ?(?:about |from )?[^\w\s]?[ ]?({_NUMBER})"
    rf"|([\u4e00-\u9fff]{{0,4}})费率?(?:为|是|[:：]|约|每[年月笔次])*\s*[^\w\s]?({_NUMBER})",
    re.IGNORECASE,
)
_FREE_VALUE = re.compile(r"(?:no|none|free|zero|0%?|waived|免费?|无|零)", re.IGNORECASE)

_TENOR_RATE = re.compile(
    r"(?<![\d.])(\d+|半|一|两|二|三|五|十)[- ]?(?P<unit>months?|years?|个月|年|天|days?)(?:期)?[^\d%，,;；。.]{0,16}?"
    r"(\d+(?:\.\d+)?)\s?%",
    re.IGNORECASE,
)
_RATE_TENOR = re.compile(
    r"(\d+(?:\.\d+)?)\s?% (?:p\.a\. |a year )?(?:for|over|on) (?:the )?(\d+)[- ](?P<unit>months?|years?|days?)", re.IGNORECASE
)
_DAYS = {"d": 1, "天": 1, "m": 30, "个": 30, "y": 365, "年": 365}
_HANZI = {"半": 0.5, "一": 1, "两": 2, "二": 2, "三": 3, "五": 5, "十": 10}

_OPPOSITES = (
    (
        "a warranty is given and denied",
        r"(?:\d+|one|two|three|five|ten|lifetime)[- ](?:year |month |day )?(?:limited )?warranty"
        r"|warranty(?: of|:) (?:\d+|one|two|three|five|lifetime)|(?<!不)(?<!无)(?:质保|保修)[:：]?(?:期)?[一二三五十两\d终]",
        r"\bno warranty|\bwithout (?:a |any )?warranty|\bnot covered by (?:a|any) warranty|sold as is"
        r"|warranty: (?:none|no)\b|不保修|[无没](?:有)?(?:质保|保修)|不(?:提供|含)(?:质保|保修)|(?:质保|保修)[:：]\s*无",
    ),
    (
        "shipping is free and is charged for",
        r"\bfree (?:standard |express |home )?(?:shipping|delivery|postage)\b(?! (?:on|over|for|above|from|if|when|with)\b)"
        r"|(?<![满不元])包邮(?!区)|免(?:运费|邮费|邮)",
        rf"\b(?:shipping|delivery|postage)(?: (?:fees?|charges?|costs?))?(?: (?:is|of|at|costs?))?[:：]? ?[^\w\s]?[1-9][\d.,]*(?! ?(?:to|-|–|hours?|days?|weeks?|business|working|%))"
        r"|(?:运费|邮费)(?:为|是|[:：]|每单|另收|约)*\s*[^\w\s]?[1-9]\d*",
    ),
    (
        "returns are taken and refused",
        r"\b\d+[- ]days? (?:free )?returns?\b|\breturns? (?:accepted )?within \d+|无理由退|支持退换|包退",
        r"\bno returns\b|\bnon[- ]returnable\b|\bcannot be returned\b|\ball sales (?:are )?final\b|不退不换|不支持退|不予退",
    ),
)  # fmt: skip
_OPPOSITES_RE = tuple(
    (message, re.compile(a, re.IGNORECASE), re.compile(b, re.IGNORECASE))
    for message, a, b in _OPPOSITES
)


def contradictory_facts(row: Row) -> Iterator[Finding]:
    """Two statements about the product that cannot both be true."""
    facts = [("price", row.product.price), *row.product.facts.items()]
    lines = [f"{label}: {text}" for label, text in facts]
    field = SELLER_FIELD if row.authors else "product"
    clauses = [
        clause
        for text in (*lines, *row.product.selling_points)
        for clause in re.split(r"[;；。!！\n]|\.(?=\s|$)", text)
    ]
    every = "\n".join(clauses)
    problems = (
        _prices(facts), _bounds(facts, clauses), _risk(every), _fees(lines, clauses),
        _opposites(every),
    )  # fmt: skip
    for problem in filter(None, problems):
        yield row.found(_RULE, field, problem, _FIX)
    for clause in clauses:
        if problem := _tenors(clause):
            fix = "Check the rates: only where the bank expects them to fall is it right"
            yield row.found(_RULE, field, problem, fix, "warning")


def amounts(text: str) -> list[float]:
    return [
        float(number.replace(",", "")) * _SCALE[scale.lower()]
        for number, scale in _AMOUNT.findall(text)
    ]


def _prices(facts: list[tuple[str, str]]) -> str | None:
    """Prices that have no figure in common."""
    known = [text for label, text in facts if _PRICE_LABEL.fullmatch(label.strip().lower())]
    for one, other in pairwise(text for text in known if amounts(text)):
        if not set(amounts(one)) & set(amounts(other)):
            return f"the price is {one!r} and {other!r}"
    return None


def _bounds(facts: list[tuple[str, str]], clauses: list[str]) -> str | None:
    """A minimum above the maximum of the same thing, in one clause or under two labels."""
    lows: dict[str, float] = {}
    highs: dict[str, float] = {}
    for label, text in facts:
        for bound, found in ((_LOW, lows), (_HIGH, highs)):
            if bound.search(label) and (values := amounts(text)):
                found[bound.sub("", label.lower()).strip()] = values[0]
    for thing in lows.keys() & highs.keys():
        if lows[thing] > highs[thing]:
            return f"the minimum {lows[thing]:g} is above the maximum {highs[thing]:g}"
    for clause in clauses:
        low, high = _LOW.search(clause), _HIGH.search(clause)
        if low and high and low.end() <= high.start():
            least, most = amounts(clause[low.end() : high.start()]), amounts(clause[high.end() :])
            if least and most and least[0] > most[0]:
                return f"the minimum {least[0]:g} is above the maximum {most[0]:g}"
    return None


def _risk(text: str) -> str | None:
    guaranteed, may_lose = _GUARANTEED.search(text), _MAY_LOSE.search(text)
    if guaranteed and may_lose:
        return f"says both {guaranteed[0]!r} and {may_lose[0]!r}"
    if may_lose and (low := _LOW_RISK.search(text)):
        return f"says both {low[0]} and {may_lose[0]!r}"
    if guaranteed and (high := _HIGH_RISK.search(text)):
        return f"says both {high[0]} and {guaranteed[0]!r}"
    return None


def _fees(lines: list[str], clauses: list[str]) -> str | None:
    """A fee that is waived and charged; a bare `no fees` waives all of them."""
    free: dict[str, str] = {}
    for line in lines:
        label, _, value = line.partition(": ")
        if label.lower().endswith((" fee", " fees", "费")) and _FREE_VALUE.fullmatch(value.strip()):
            free[_kind(label)] = line
    charged: dict[str, str] = {}
    for clause in clauses:
        for found in _NO_FEE.finditer(clause):
            free[_kind(found[1] or found[2] or "")] = found[0]
        for found in _FEE.finditer(clause):
            if float((found[2] or found[4]).replace(",", "")) > 0:
                charged[_kind(found[1] or found[3] or "")] = found[0]
    for kind, statement in charged.items():
        if waived := free.get(kind) or free.get(""):
            return f"says both {waived!r} and {statement!r}"
    return None


def _kind(name: str) -> str:
    name = re.sub(r"\bfees?$|\bcharges?$|费$", "", name.strip().lower()).strip()
    return "" if name in ("a", "any", "other", "no", "的") else name.rpartition(" ")[2]


def _tenors(clause: str) -> str | None:
    """A longer tenor that pays less, in one line of rates."""
    found = [(m[1], m["unit"], m[3]) for m in _TENOR_RATE.finditer(clause)]
    found = found or [(m[2], m["unit"], m[1]) for m in _RATE_TENOR.finditer(clause)]
    rates = sorted(
        (float(_HANZI.get(number) or number) * _DAYS[unit[0].lower()], float(rate), number, unit)
        for number, unit, rate in found
    )
    for (days, rate, *_), (more, less, number, unit) in pairwise(rates):
        if more > days and less < rate:
            return f"{number} {unit} pays {less:g} %, less than the {rate:g} % of a shorter tenor"
    return None


def _opposites(text: str) -> str | None:
    for message, one, other in _OPPOSITES_RE:
        if (a := one.search(text)) and (b := other.search(text)):
            return f"{message}: {a[0]!r}, {b[0]!r}"
    return None
