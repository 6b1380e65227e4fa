"""The numbers of a Chinese text: 5万元, 百分之三点五, 两三天, 一年半, 八折, 第二年."""

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

_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}
_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
_HAN = f"[{''.join([*_DIGITS, *_SCALES])}]"
_UNITS = {
    "港元|港币": "HKD", "美元|美金": "USD", "英镑": "GBP", "欧元": "EUR", "新元|新币": "SGD",
    "加元|加币": "CAD", "澳元|澳币": "AUD", "元|块钱": "CNY",
    "%|个百分点|个点": "%", "年|周?岁": "year", "个?季度": "quarter", "个?月": "month",
    "周|个?星期|个?礼拜": "week", "天|日": "day", "个?小时|个?钟头": "hour", "分钟": "minute",
    "秒": "second", "公斤|千克|kg": "kg", "斤": "jin", "毫克|mg": "mg", "克|g(?![a-z])": "g",
    "吨": "t", "公里|千米|km": "km", "厘米|公分|cm": "cm", "毫米|mm": "mm",
    "平方米|平米|m2": "m2", "米|m(?![a-z])": "m", "毫升|ml": "ml", "升|l(?![a-z])": "l",
    "英寸|寸": "inch", "千瓦|kw": "kw", "瓦|w(?![a-z])": "w",
}  # fmt: skip
_IDLE_UNITS = {
    "年": "year", "季": "quarter", "季度": "quarter", "月": "month", "周": "week", "天": "day",
    "小时": "hour",
}  # fmt: skip
_COUNTED = (
    "个只件条台张本次回位人款种层块片支份家间套双瓶盒包袋罐桶项档级步遍口部根颗粒页集章节句字道门股手单笔"
    "轮趟场组格排桌挡段名倍盘首枚顶把面座栋辆匹头届"
)
_NOT_NUMBERS = re.compile(
    rf"(?<!{_HAN})万一|千万(?=别|不|要|记)|(?<!小时)十分(?!钟|之)|十足|百货|万能|百科|百搭|百变|万物"
    "|千家万户|百姓|百合|百叶|万用|十字|百香果|八角|三明治|五金|[三六]角|四周(?=有|围|都)|五谷|八宝"
    "|九宫格|千层|(?:星期|周|礼拜)[一二三四五六日]|三天两头|三分钟热度|(?<=十年)八年|[几数][十百千万亿]+"
)
_NUMBER = re.compile(
    rf"{CODE}"
    rf"|(?P<part>{_HAN}+)分之(?P<share>{FIGURE}|{_HAN}+(?:点{_HAN}+)?)"
    rf"|(?P<ordinal>第)?{SIGN}(?:(?P<figure>{FIGURE})(?P<scale>[百千]?[万亿]{{1,2}}|[百千](?![克瓦米]))?"
    rf"|(?P<han>{_HAN}+(?:点{_HAN}+)?))(?:[多来余几](?P<times>[百千]?[万亿])?)?"
    rf"(?P<half>个?半(?=个|小时|年|月|天))?(?P<tenths>[成折](?!本|为|功|分|员|年))?"
    rf"(?:\s?(?:{unit_pattern(_UNITS)}))?(?P<counted>[{_COUNTED}])?(?P<after>半(?!价|径)|期)?"
    # Decades, batteries, paper, silver, screens: English names them in other ways.
    r"(?P<named>(?=号电池|开|银|P|代))?"
    r"|(?P<clock>(?<=点)半)|(?P<idle>[半双每全整])个?(?P<idle_unit>年|季度?|月|周|天|小时)?",
    re.IGNORECASE,
)


def chinese(text: str) -> Iterator[Quantity]:
    """Every number of a Chinese text, in order."""
    text = unicodedata.normalize("NFKC", text)
    for match in _NUMBER.finditer(_NOT_NUMBERS.sub(lambda idiom: "·" * len(idiom[0]), text)):
        for quantity in _read(match):
            yield replace(quantity, start=match.start())


def _read(match: re.Match[str]) -> Iterator[Quantity]:
    if match["letters"]:
        yield code_of(match)
    elif match["part"]:
        (part,), (share,) = _han(match["part"]), _values(match["share"])
        percent = part >= 100
        values = (share * 100 / part,) if percent else (share / part, share * 100 / part, share)
        yield Quantity(match[0], values, "%" if percent else "")
    elif match["clock"]:
        yield Quantity(match[0], (30.0,), loose=True)
    elif match["idle"]:
        value = {"半": 0.5, "双": 2.0}.get(match["idle"], 1.0)
        yield Quantity(match[0], (value,), _IDLE_UNITS.get(match["idle_unit"], ""), loose=True)
    else:
        yield from _counted(match)


def _counted(match: re.Match[str]) -> Iterator[Quantity]:
    said, han, unit = match[0].strip(), match["han"] or "", unit_of(match, _UNITS)
    scale = _scale(match["scale"]) * _scale(match["times"])
    half = 0.5 if match["half"] or match["after"] == "半" else 0.0
    if han == "一" and match["after"] == "半" and not unit:  # 一半, 另一半
        yield Quantity(said, (0.5, 50.0), loose=True)
        return
    for value in _values(han or match["figure"]):
        value = value * scale + half
        if match["tenths"]:  # 八折, 八五折, 三成
            share = value / 10 if value < 10 else value / 100
            off = (1 - share, 100 - share * 100) if match["tenths"] == "折" else ()
            yield Quantity(said, (share, share * 100, *off))
            continue
        loose = value == 0 or bool(match["ordinal"]) or match["named"] is not None
        if han and not half:
            bare = not match["counted"] and (value < 10 or not set(han) & set(_SCALES))
            idle = not unit and (bare or set(han) <= set(_SCALES))
            small = value <= 2 or "一两" in han
            loose |= idle or (small and match["after"] != "期")
        yield Quantity(said, (value,), unit, loose)


def _scale(text: str | None) -> float:
    value = 1.0
    for character in text or "":
        value *= _SCALES[character]
    return value


def _values(text: str) -> list[float]:
    return [figure(text)] if text[0] in "0123456789" else _han(text)


_GUESS = re.compile("([一二两三四五六七八])([二两三四五六七八九])")


def _han(text: str) -> list[float]:
    """Value of a Chinese numeral; two for a guess like 两三百 or 十七八."""
    text, _, decimals = text.partition("点")
    if guess := _GUESS.search(text):
        before, after = text[: guess.start()], text[guess.end() :]
        step = _DIGITS[guess[2]] - _DIGITS[guess[1]]
        if step in (1, 2) and not set(before + after) & set(_DIGITS):
            return [_whole(f"{before}{digit}{after}") for digit in guess.groups()]
    fraction = sum(_DIGITS.get(c, 0) / 10**place for place, c in enumerate(decimals, 1))
    return [round(_whole(text) + fraction, 9)]


def _whole(text: str) -> float:
    if not set(text) & set(_SCALES):  # 二〇二五
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
    # 两千五 is 2,500, 一百零五 is 105.
    return total + section + digit * (last / 10 if last >= 100 else 1)
