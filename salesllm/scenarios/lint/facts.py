"""Product facts that contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from salesllm.scenarios.authors import SELLER_FIELD
from salesllm.scenarios.lint.rows import Finding, Row


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_SCALE = {"万": 1e4, "亿": 1e8, "million": 1e6, "thousand": 1e3, "k": 1e3, "": 1.0}
_AMOUNT = _any(
    rf"([$¥£€])?\s?({_NUMBER})\s?(万|亿|million\b|thousand\b|k\b)?[\s-]?(%|[a-z]+|[\u4e00-\u9fff])?"
)

_ONE_PROPERTY = {
    "price": _any(
        r"(?:sale |selling |unit |current )?price",
        r"(?:产品|商品)?(?:价格|售价|单价|定价|现价)",
    ),
    "interest rate": _any(r"(?:annual )?(?:interest )?rate", "(?:年化?)?利率"),
    "term": _any(r"(?:fixed )?(?:term|tenor)", "期限|存期"),
    "weight": _any(r"(?:item |product )?weight", "(?:产品|商品)?重量"),
    "capacity": _any(r"(?:item |product )?capacity", "(?:产品|商品)?(?:容量|容积)"),
}
_NEGATIVE_RATE = _any(r"(?:\brates?|\bapr|\bapy|利率)(?: of| is|为|是)?[:：]? ?[-−]\d[\d.]*\s?%")
_LOW = _any(r"\bmin(?:imum|\.)?\b", "最低|最少|起(?:购|存|投|售)")
_HIGH = _any(r"\bmax(?:imum|\.)?\b", "最高|最多|上限")

_CAPITAL = "(?:principal|capital)"
_UNDENIED = r"(?<!\bnot )(?<!\bno )(?<!n't )(?<!\bnever )"
_GUARANTEED = _any(
    rf"{_UNDENIED}\b{_CAPITAL}(?:[- ]| is | and interest )(?:fully )?(?:guaranteed?|protected)",
    rf"{_UNDENIED}\bguaranteed? (?:the |your |of )?{_CAPITAL}",
    "(?<![不非])保本(?!比例)",
    "(?<!不)(?:保证|承诺)本金",
    "本金(?:有|百分之百|100%)?保(?:障|证)",
)
_MAY_LOSE = _any(
    r"\b(?:may|can|could|might) lose (?:some |all |part )?(?:or all )?(?:of )?"
    rf"(?:the |your |their )?{_CAPITAL}",
    rf"\b{_CAPITAL} (?:may|can|could|might) be lost",
    rf"\b{_CAPITAL} is (?:not guaranteed|at risk)",
    "(?<!不)(?:可能|会)(?:损失|亏损|亏掉?)(?:部分|全部)?本金",
    "本金(?:可能|有可能|会)(?:损失|亏损|受损)",
    "不保本|非保本",
)
_LOW_RISK, _HIGH_RISK = _any(r"\bR1\b"), _any(r"\bR[45]\b")

_NO_FEE = _any(
    r"\b(?:no|without|zero|free of) (?:(?:an?|any|extra|hidden|monthly) )?(?:([a-z]+) )?"
    r"(?:fees?|charges?)\b(?! (?:for|if|when|over|above|on|until|after|during|in)\b)",
    r"(?:免|零|无|没有|不收)(?:任何)?([\u4e00-\u9fff]{1,4}?)费(?!用)"
    r"(?![^，。；]{0,4}(?:满|超过|以上))",
)
_FEE = _any(
    r"\b([a-z]+) (?:fees?|charges?)\b(?: (?:of|is|are))?[:：]? ?(?:about |from )?"
    rf"[^\w\s]? ?({_NUMBER})",
    rf"([\u4e00-\u9fff]{{0,4}})费率?(?:为|是|[:：]|约|每[年月笔次])*\s*[^\w\s]?({_NUMBER})",
)
_FREE_VALUE = _any("(?:no|none|free|zero|0%?|waived|免费?|无|零)")

_UNIT = "(?P<unit>months?|years?|days?|个月|年|天)"
_TENOR_RATE = _any(
    rf"(?<![\d.第后前首头每])(\d+|[半一两二三五十])[- ]?{_UNIT}期?"
    r"[^\d%，,;；。.]{0,16}?(\d+(?:\.\d+)?)\s?%"
)
_RATE_TENOR = _any(
    r"(\d+(?:\.\d+)?)\s?% (?:p\.a\. |a year )?(?:for|over|on) (?:the )?" rf"(\d+)[- ]{_UNIT}"
)
_DAYS = {"d": 1, "天": 1, "m": 30, "个": 30, "y": 365, "年": 365}
_HANZI = {"半": 0.5, "一": 1, "两": 2, "二": 2, "三": 3, "五": 5, "十": 10}

_WARRANTY = (
    _any(
        r"(?:\d+|one|two|three|five|ten|lifetime)[- ](?:year |month |day )?(?:limited )?warranty",
        r"warranty(?: of|:) (?:\d+|one|two|three|five|ten|lifetime)",
        r"(?<!不)(?<!无)(?:质保|保修)[:：]?\s?(?:期)?[一二三五十两\d终]",
    ),
    _any(
        r"\b(?:no|without|without a|without any) warranty",
        r"\bnot covered by (?:a|any) warranty|\bsold as is\b|warranty: (?:none|no)\b",
        r"不保修|[无没]有?(?:质保|保修)|不(?:提供|含)(?:质保|保修)|(?:质保|保修)[:：]\s?无",
    ),
)
_SHIPPING = (
    _any(
        r"\bfree (?:standard |express |home )?(?:shipping|delivery|postage)\b"
        r"(?! (?:on|over|for|above|from|if|when|with)\b)",
        "(?<![满不元])包邮(?!区)|免(?:运费|邮费|邮)",
    ),
    _any(
        r"\b(?:shipping|delivery|postage)(?: (?:fees?|charges?|costs?))?(?: (?:is|of|at))?[:：]? ?"
        r"[^\w\s]?[1-9][\d.,]*(?! ?(?:to|-|–|hours?|days?|weeks?|business|working|%))",
        r"(?:运费|邮费)(?:为|是|[:：]|每单|另收|约)*\s*[^\w\s]?[1-9]\d*",
    ),
)
_RETURNS = (
    _any(
        r"\b\d+[- ]days? (?:free )?returns?\b|\breturns? (?:accepted )?within \d+",
        "无理由退|(?<!不)支持退|包退",
    ),
    _any(
        r"\bno returns\b|\bnon[- ]returnable\b|\bcannot be returned\b|\ball sales are final\b",
        "不退不换|不支持退|不予退",
    ),
)
_OPPOSITES = {
    "a warranty is given and denied": _WARRANTY,
    "shipping is free and is charged for": _SHIPPING,
    "returns are taken and refused": _RETURNS,
}


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
        _disagree(facts), _bounds(facts, clauses), _risk(every), _fees(lines, clauses),
        _opposites(every), _negative(every),
    )  # fmt: skip
    for problem in filter(None, problems):
        yield row.found("contradictory-facts", field, problem, "Keep the one that is true")
    for rates in filter(None, map(_tenors, clauses)):
        fix = "Check the rates: only where the bank expects them to fall is it right"
        yield row.found("contradictory-facts", field, rates, fix, "warning")


def amounts(text: str) -> list[tuple[float, str]]:
    """Every number of a text, scaled, and what it is a number of: `$`, `%`, `元`, `months`."""
    return [
        (float(number.replace(",", "")) * _SCALE[scale.lower()], sign or unit.lower())
        for sign, number, scale, unit in _AMOUNT.findall(text)
    ]


def _disagree(facts: list[tuple[str, str]]) -> str | None:
    """Two labels of one property, in one unit, whose texts have no figure in common."""
    for name, labels in _ONE_PROPERTY.items():
        known = [text for label, text in facts if labels.fullmatch(label.strip())]
        for one, other in pairwise(text for text in known if amounts(text)):
            (values, units), (others, other_units) = (
                map(set, zip(*amounts(text), strict=True)) for text in (one, other)
            )
            if not values & others and (name == "price" or units == other_units):
                return f"the {name} is {one!r} and {other!r}"
    return None


def _negative(text: str) -> str | None:
    found = _NEGATIVE_RATE.search(text)
    return f"the rate is negative: {found[0]!r}" if found else None


def _bounds(facts: list[tuple[str, str]], clauses: list[str]) -> str | None:
    """A minimum above the maximum of the same thing, in one clause or under two labels."""
    ends: list[tuple[str, str]] = []
    lows = {_LOW.sub("", label).strip(): text for label, text in facts if _LOW.search(label)}
    for label, text in facts:
        if _HIGH.search(label) and (thing := _HIGH.sub("", label).strip()) in lows:
            ends.append((lows[thing], text))
    for clause in clauses:
        low, high = _LOW.search(clause), _HIGH.search(clause)
        if low and high and low.end() <= high.start():
            ends.append((clause[low.end() : high.start()], clause[high.end() :]))
    for least, most in ends:
        if amounts(least) and amounts(most):
            (low_value, unit), (high_value, other) = amounts(least)[0], amounts(most)[0]
            if low_value > high_value and unit == other:
                return f"the minimum {low_value:g} is above the maximum {high_value:g}"
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
    for message, (one, other) in _OPPOSITES.items():
        if (a := one.search(text)) and (b := other.search(text)):
            return f"{message}: {a[0]!r}, {b[0]!r}"
    return None
