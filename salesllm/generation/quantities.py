"""Numbers and their units in Chinese and English text, and whether two texts agree in them.

`5万元` is `¥50,000`, `百分之三` is `3%`, `两三天` is `two to three days`. A number that may be read
in several ways (`八折` is 80% of the price, or 20% off) has all of its readings.

Chinese is full of numerals that count nothing (`一直`, `四处`), English of articles and ordinals.
Such a number is `loose`: it may answer one of the other text, and needs no answer itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from salesllm.dialogue import Language


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

    def agrees(self, other: Quantity) -> bool:
        """Whether both can say the same, units converted; an unknown unit may be any."""
        factor = 1.0
        if {self.unit, other.unit} <= _DOLLARS and "$" in (self.unit, other.unit):
            pass  # a dollar sign alone may be any country's
        elif self.unit and other.unit and self.unit != other.unit:
            mine, theirs = _SIZES.get(self.unit), _SIZES.get(other.unit)
            if mine is None or theirs is None or mine[0] != theirs[0]:
                return False
            factor = mine[1] / theirs[1]
        pairs = ((a * factor, b) for a in self.values for b in other.values)
        return any(isclose(a, b, rel_tol=1e-4) for a, b in pairs)


def quantities(text: str, language: Language) -> list[Quantity]:
    """Every number of a text, in order."""
    text = unicodedata.normalize("NFKC", text)
    return list(_chinese(text) if language == "zh" else _english(text.replace("-", " ")))


def disagreements(source: Sequence[Quantity], target: Sequence[Quantity]) -> list[str]:
    """What one of two texts has and the other has not, in words; nothing where they agree.

    Every number answers one of the other text: the firm ones first, those of one unit first.
    """
    pairs = sorted(
        (
            (s.loose + t.loose, s.unit != t.unit, i, j)
            for i, s in enumerate(source)
            for j, t in enumerate(target)
            if s.agrees(t)
        ),
    )
    answered: dict[int, int] = {}
    for *_, i, j in pairs:
        if i not in answered and j not in answered.values():
            answered[i] = j
    taken = set(answered.values())
    lost = [s.text for i, s in enumerate(source) if not s.loose and i not in answered]
    new = [
        t.text
        for j, t in enumerate(target)
        if not (t.loose or j in taken or any(s.agrees(t) for s in source))  # said twice is not new
    ]
    return [f"{text} is lost" for text in lost] + [f"{text} is new" for text in new]


_SIZES: dict[str, tuple[str, float]] = {
    **{"second": ("time", 1), "minute": ("time", 60), "hour": ("time", 3600)},
    **{"day": ("time", 86400), "week": ("time", 604800)},
    **{"month": ("calendar", 1), "quarter": ("calendar", 3), "year": ("calendar", 12)},
    **{"mm": ("length", 1), "cm": ("length", 10), "m": ("length", 1e3), "km": ("length", 1e6)},
    **{"g": ("weight", 1), "jin": ("weight", 500), "kg": ("weight", 1e3), "t": ("weight", 1e6)},
    **{"ml": ("volume", 1), "l": ("volume", 1000), "w": ("power", 1), "kw": ("power", 1000)},
}
"""Units that convert: family, and size within it."""
_DOLLARS = {"$", "USD", "HKD", "SGD", "CAD", "AUD"}

_UNITS_ZH = {
    "港元|港币": "HKD", "美元|美金": "USD", "英镑": "GBP", "欧元": "EUR", "新元|新币": "SGD",
    "加元|加币": "CAD", "澳元|澳币": "AUD", "元|块钱|块": "CNY",
    "%|个百分点|个点": "%", "年|周?岁": "year", "个?季度": "quarter", "个?月": "month",
    "周|个?星期|个?礼拜": "week", "天|日": "day", "个?小时|个?钟头": "hour", "分钟": "minute",
    "秒": "second", "公斤|千克|kg": "kg", "斤": "jin", "毫克|mg": "mg", "克|g(?![a-z])": "g",
    "吨": "t", "公里|千米|km": "km", "厘米|公分|cm": "cm", "毫米|mm": "mm",
    "平方米|平米|m2|㎡": "m2", "米|m(?![a-z])": "m", "毫升|ml": "ml", "升|l(?![a-z])": "l",
    "英寸|寸": "inch", "千瓦|kw": "kw", "瓦|w(?![a-z])": "w",
}  # fmt: skip
_UNITS_EN = {
    "%|percent|per cent|percentage points?": "%", "years?|yrs?": "year", "quarters?": "quarter",
    "months?": "month", "weeks?": "week", "(?:(?:working|business|trading) )?days?": "day",
    "hours?|hrs?|h": "hour", "minutes?|mins?": "minute", "seconds?|secs?": "second",
    "kg|kilos?|kilograms?|kilogrammes?": "kg", "mg|milligrams?": "mg", "g|grams?|grammes?": "g",
    "tonnes?": "t", "km|kilomet(?:re|er)s?": "km", "cm|centimet(?:re|er)s?": "cm",
    "mm|millimet(?:re|er)s?": "mm", "m2|sq\\.? m|square met(?:re|er)s?": "m2",
    "m|met(?:re|er)s?": "m", "ml|millilit(?:re|er)s?": "ml", "l|lit(?:re|er)s?": "l",
    "inch(?:es)?": "inch", "kw|kilowatts?": "kw", "w|watts?": "w",
    "yuan|rmb|cny": "CNY", "dollars?": "$", "pounds sterling|pounds?": "GBP", "euros?": "EUR",
}  # fmt: skip
_SIGNS = {
    "HK$": "HKD", "US$": "USD", "S$": "SGD", "C$": "CAD", "A$": "AUD", "$": "$", "¥": "CNY",
    "RMB": "CNY", "CNY": "CNY", "USD": "USD", "HKD": "HKD", "£": "GBP", "€": "EUR",
}  # fmt: skip


def _unit_pattern(units: dict[str, str]) -> str:
    return "|".join(f"(?P<u{n}>{pattern})" for n, pattern in enumerate(units))


def _unit(match: re.Match[str], units: dict[str, str]) -> str:
    names = list(units.values())
    found = (name for n, name in enumerate(names) if match[f"u{n}"])
    sign = match["sign"]
    return next(found, "") or (_SIGNS[sign.upper()] if sign else "")


_DIGITS = {c: n % 10 for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}
_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
_FIGURE = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_HAN = r"[零〇一二两俩三四五六七八九十百千万亿]"
_COUNTED = (
    "[个只件条台张本次回位人款种层块片支份家间套双瓶盒包袋罐桶项档级步遍口部根颗粒页集章节句字道门"
    "股手单笔轮趟场组格排桌挡段股名倍盘首枚顶把面座栋辆匹头位届]"
)
_CODE = r"(?<![a-z])(?P<letters>[a-z]{1,4})(?P<number>\d+)(?![\d.,]*\d)"
_SIGN = r"(?P<sign>(?<![a-z])(?:hk|us|s|c|a)\$|[$¥£€]|(?:rmb|cny|usd|hkd)\s?)?"
_NOT_NUMBERS = re.compile(
    "(?<![一二两三四五六七八九十百千])万一|千万(?=别|不|要|记)|(?<!小时)十分(?!钟|之)|十足|百货|万能|百科|百搭|百变|万物|千家万户|百姓|百合|百叶"
    "|万用|十字|百香果|八角|三明治|五金|[三六]角|四周(?=有|围|都)|五谷|八宝|九宫格|千层|(?:星期|周|礼拜)[一二三四五六日]|三天两头|(?<=十年)八年|[几数][十百千万亿]+"
)  # fmt: skip
_ZH = re.compile(
    rf"{_CODE}|(?P<share>(?P<part>百|千|万|{_HAN}+)分之(?P<of>{_FIGURE}|{_HAN}+(?:点{_HAN}+)?))"
    rf"|(?P<ordinal>第)?{_SIGN}(?:(?P<figure>{_FIGURE})(?P<scale>[百千]?[万亿]{{1,2}}|[百千](?![克瓦米]))?"
    rf"|(?P<han>{_HAN}+(?:点{_HAN}+)?))"
    rf"(?P<more>[多来余几](?P<times>[百千]?[万亿])?)?(?P<half>个?半(?=个|小时|年|月|天))?"
    rf"(?P<cheng>[成折](?!本|为|功|分|员|年))?(?:\s?(?:{_unit_pattern(_UNITS_ZH)}))?"
    rf"(?P<counted>{_COUNTED})?(?P<after>半(?!价|径)|期)?"
    rf"(?P<named>(?=号电池|开|银|P))?"
    rf"|(?P<idle>[半双每全整])个?(?P<idle_unit>年|季度?|月|周|天|小时)?",
    re.IGNORECASE,
)  # fmt: skip


_IDLE = {
    "年": "year", "季": "quarter", "季度": "quarter", "月": "month", "周": "week", "天": "day",
    "小时": "hour",
}  # fmt: skip


def _chinese(text: str) -> Iterator[Quantity]:
    text = _NOT_NUMBERS.sub("·", text)
    for match in _ZH.finditer(text):
        said = match[0].strip()
        if match["letters"]:
            yield _code(match)
        elif match["share"]:
            part = _han(match["part"])[0]
            of = _number(match["of"])
            yield (
                Quantity(said, (of[0] * 100 / part,), "%")
                if part >= 100
                else Quantity(said, (of[0] / part, of[0], part))
            )
        elif match["idle"]:
            value = {"半": 0.5, "双": 2.0}.get(match["idle"], 1.0)
            yield Quantity(said, (value,), _IDLE.get(match["idle_unit"], ""), loose=True)
        else:
            yield from _counted_zh(match, said)


def _counted_zh(match: re.Match[str], said: str) -> Iterator[Quantity]:
    han, unit = match["han"], _unit(match, _UNITS_ZH)
    scale = _scale(match["scale"] or "") * _scale(match["times"] or "")
    half = 0.5 if match["half"] or match["after"] == "半" else 0.0
    for value in _number(han or match["figure"]):
        if han == "一" and match["after"] == "半" and not unit:  # 一半, 另一半
            yield Quantity(said, (0.5, 50.0), loose=True)
            continue
        value = value * scale + half
        if match["cheng"]:
            share = value / 10 if value < 10 else value / 100
            yield Quantity(said, (share, share * 100, value, 100 - share * 100, 1 - share))
            continue
        loose = value == 0 or bool(match["ordinal"]) or match["named"] is not None
        if han and not half:
            idle = not unit and (value < 10 and not match["counted"] or set(han) <= set(_SCALES))
            small = value <= 2 or "一两" in han
            loose |= idle or (small and match["after"] != "期")
        yield Quantity(said, (value,), unit, loose)


def _scale(text: str) -> float:
    value = 1.0
    for character in text:
        value *= _SCALES[character]
    return value


def _number(text: str) -> list[float]:
    return [float(text.replace(",", ""))] if text[0] in "0123456789" else _han(text)


def _han(text: str) -> list[float]:
    """Value of a Chinese numeral; two for a guess like 两三百 or 十七八."""
    text, _, decimals = text.partition("点")
    guess = re.search(r"([一二两三四五六七八])([二两三四五六七八九])", text)
    if guess and _DIGITS[guess[1]] in (_DIGITS[guess[2]] - 1, _DIGITS[guess[2]] - 2):
        around = text[: guess.start()], text[guess.end() :]
        if not set(around[0] + around[1]) & set(_DIGITS):
            return [_han_value(around[0] + digit + around[1]) for digit in guess.groups()]
    value = _han_value(text)
    for place, digit in enumerate(decimals, 1):
        value += _DIGITS.get(digit, 0) / 10**place
    return [round(value, 9)]


def _han_value(text: str) -> float:
    if not set(text) & set(_SCALES):
        return float("".join(str(_DIGITS[c]) for c in text))
    total = section = digit = 0.0
    last = 1.0
    for character in text:
        if character in _DIGITS:
            digit = _DIGITS[character]
            last = 1.0 if digit == 0 else last
        elif (scale := _SCALES[character]) >= 10_000:
            total = (total + section + digit or 1) * scale
            section, digit, last = 0.0, 0.0, scale
        else:
            section += (digit or 1) * scale
            digit, last = 0.0, scale
    # 两千五 is 2,500.
    return total + section + digit * (last / 10 if last >= 100 else 1)


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = {w: float(n) for n, w in enumerate(_ONES)} | {w: 10.0 * n for n, w in enumerate(_TENS, 2)}
_BIG = {
    "hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9,
    "k": 1e3, "bn": 1e9, "mn": 1e6, "megapixel": 1e6,
}  # fmt: skip
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()
_MONTHS = (
    "january february march april may june july august september october november december"
).split()
_LOOSE: dict[str, tuple[tuple[float, ...], str]] = {
    **{w: ((1.0,), "") for w in ("a", "an", "once", "single", "each", "per", "every", "another")},
    **{w: ((2.0,), "") for w in ("both", "twice", "couple", "pair", "double", "second", "two")},
    **{w: ((3.0,), "") for w in ("triple", "thrice", "threefold")},
    **{w: ((12.0,), "") for w in ("dozen", "twelvemonth")},
    **{w: ((0.5, 50.0), "") for w in ("half", "halves", "halved")},
    **{w: ((0.25, 25.0, 3.0, 1.0), "") for w in ("quarter", "quarters", "quarterly")},
    **{w: ((0.1, 1.0), "") for w in ("tenth",)},
    "decade": ((10.0,), "year"), "century": ((100.0,), "year"), "fortnight": ((14.0,), "day"),
    **{w: ((1.0, 100.0), "year") for w in ("annual", "annually", "yearly")},
    "monthly": ((1.0,), "month"), "weekly": ((1.0,), "week"), "daily": ((1.0,), "day"),
    **{w: ((n, 1 / n, 100 / n), "") for n, w in enumerate(_ORDINALS, 1)},
    **{f"{w}s": ((1 / n,), "") for n, w in enumerate(_ORDINALS, 1) if n > 2},
    **{w: ((float(n),), "month") for n, w in enumerate(_MONTHS, 1) if w != "may"},
    "hundreds": ((100.0,), ""), "thousands": ((1e3,), ""), "fully": ((100.0,), "%"),
}  # fmt: skip
_WORD = rf"(?:{'|'.join([*sorted(_WORDS, key=len, reverse=True), 'hundred', 'thousand', 'million', 'billion'])})"
_EN = re.compile(
    rf"{_CODE}|{_SIGN}(?:(?P<figure>{_FIGURE})(?P<scale>\s?(?:thousand|million|billion)\b|(?-i:k)\b|bn\b|mn\b|\s?megapixel)?"
    rf"|\b(?P<words>(?:an?\s(?=hundred|thousand|million))?{_WORD}(?:(?:\s|\sand\s){_WORD})*)\b)"
    rf"(?:\s(?:in|out\sof)\s(?:a|one|every)\s(?P<among>hundred|thousand|million))?"
    rf"(?P<parts>\s(?:third|quarter|fifth|eighth|tenth)s)?(?P<half>\sand\sa\shalf)?(?:\s?(?:{_unit_pattern(_UNITS_EN)})(?![a-z]))?"
    rf"|\b(?:a|one)\s(?P<one>year|month|week|day|hour|minute)\sand\sa\shalf"
    rf"|\b(?P<loose>{'|'.join(sorted(_LOOSE, key=len, reverse=True))})\b"
    rf"(?:\s(?P<loose_unit>year|month|week|day|hour|minute)(?![a-z]))?",
    re.IGNORECASE,
)  # fmt: skip


def _english(text: str) -> Iterator[Quantity]:
    for match in _EN.finditer(text):
        said = match[0].strip()
        if match["letters"]:
            yield _code(match)
        elif match["one"]:
            yield Quantity(said, (1.5,), match["one"].lower())
        elif match["loose"]:
            values, unit = _LOOSE[match["loose"].lower()]
            yield Quantity(said, values, match["loose_unit"] or unit, loose=True)
        else:
            unit, words = _unit(match, _UNITS_EN), (match["words"] or "").lower()
            half = 0.5 if match["half"] else 0.0
            if words:
                values = _words(words)
            else:
                scale = _BIG[match["scale"].strip().lower()] if match["scale"] else 1.0
                values = [float(match["figure"].replace(",", "")) * scale]
            for value in values:
                if match["among"]:
                    yield Quantity(said, (value * 100 / _BIG[match["among"].lower()],), "%")
                    continue
                if match["parts"]:
                    part = {"t": 3, "q": 4, "f": 5, "e": 8}.get(match["parts"][1], 10)
                    if match["parts"].strip().lower() == "tenths":
                        part = 10
                    share = value / part
                    yield Quantity(said, (share, share * 100, value), "")
                    continue
                # "ten pages", "one of the three": a word is often no more than a manner of speaking.
                loose = value == 0 or bool(words and value <= 12 and not unit)
                loose |= words in (*_BIG, "one") and (not unit or unit == "day")
                yield Quantity(said, (value + half,), unit, loose and not half)


def _words(text: str) -> list[float]:
    """Values of English number words; several where no one number is made of them."""
    found: list[float] = []
    total = current = last = 0.0
    for word in text.split():
        if word in ("a", "an", "and"):
            continue
        if word in _BIG:
            scale = _BIG[word]
            if scale == 100:
                current = (current or 1) * 100
            else:
                total += (current or 1) * scale
                current = 0.0
            last = scale
            continue
        value = _WORDS[word]
        follows = last >= 100 or (last >= 20 and value < 10) or not (total or current)
        if not follows:
            found.append(total + current)
            total = current = 0.0
        current += value
        last = value
    return [*found, total + current]


def _code(match: re.Match[str]) -> Quantity:
    return Quantity(match[0], (float(match["number"]),), f"code {match['letters'].lower()}")
