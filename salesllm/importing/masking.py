"""Finds personal data in Chinese and English texts and puts a placeholder in its place.

A number is personal by its form (a mobile, an area code, a country code), by its checksum (resident
ID, bank card) or by a word before it (a WeChat id, a QQ number, a local number). A price, a date, a
model, an order number or a stock code is none of it and stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum


class Kind(StrEnum):
    """What was found; its placeholder is the name in brackets."""

    EMAIL = "EMAIL"
    ID = "ID"
    CARD = "CARD"
    QQ = "QQ"
    PHONE = "PHONE"
    WECHAT = "WECHAT"

    @property
    def placeholder(self) -> str:
        return f"[{self.value}]"


@dataclass(frozen=True)
class Find:
    """Personal data at `text[start:end]`."""

    kind: Kind
    start: int
    end: int


def find_personal(text: str) -> list[Find]:
    """Personal data in order of appearance; no two overlap."""
    plain = _plain(text)
    taken = bytearray(len(plain))
    found = []
    for rule in _RULES:
        for start, end in rule.spans(plain):
            if not any(taken[start:end]):
                taken[start:end] = b"\x01" * (end - start)
                found.append(Find(rule.kind, start, end))
    return sorted(found, key=lambda find: find.start)


def mask(text: str, found: list[Find]) -> str:
    """The text with a placeholder for each find of `find_personal`."""
    parts, last = [], 0
    for find in found:
        parts += [text[last : find.start], find.kind.placeholder]
        last = find.end
    return "".join([*parts, text[last:]])


# Same length as what they replace, so that places in the plain text are places in the text.
_ASCII = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | dict.fromkeys(
    map(ord, "\u00a0\u2002\u2003\u2009\u3000"), " "
) | dict.fromkeys(map(ord, "‐‑‒–—−"), "-")  # fmt: skip
_NUMERALS = str.maketrans("〇零一二三四五六七八九幺", "001234567891")
_SPELLED = re.compile("[〇零一二三四五六七八九幺]{11,}")


def _plain(text: str) -> str:
    """Full-width forms, odd spaces, dashes and numbers spelled in Chinese, as ASCII."""
    return _SPELLED.sub(lambda run: run[0].translate(_NUMERALS), text).translate(_ASCII)


def _luhn(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7]|35)\d{14}|3[47]\d{13}|3[0689]\d{12}"
    r"|(?:50|5[6-9]|6\d|81)\d{10,17}|9[4-9]\d{14,17}"
)
"""Bank cards by first digits and length: Visa, Mastercard, JCB, American Express, Diners,
UnionPay with Maestro and Discover, and Chinese debit cards from before UnionPay."""


def _is_card(digits: str) -> bool:
    return _ISSUERS.fullmatch(digits) is not None and _luhn(digits)


_PROVINCE = re.compile("1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]")
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)  # GB 11643-1999


def _is_resident_id(digits: str) -> bool:
    """18 characters with a birthday and a checksum, or the 15 digits of before 1999."""
    born = digits[6:14] if len(digits) == 18 else f"19{digits[6:12]}"
    try:
        date(int(born[:4]), int(born[4:6]), int(born[6:]))
    except ValueError:
        return False
    if not _PROVINCE.match(digits):
        return False
    total = sum(int(digit) * weight for digit, weight in zip(digits, _WEIGHTS, strict=False))
    return len(digits) == 15 or "10X98765432"[total % 11] == digits[17].upper()


def _is_international(digits: str) -> bool:
    return 9 <= len(digits.removeprefix("00")) <= 15


_NAMED_OTHERWISE = re.compile(
    r"(?:订单|单号|编号|流水|条码|条形码|序列|型号|运单|快递|车架|保单|合同|参考|批号|积分|货号|税号|发票"
    r"|\b(?:order|tracking|part|model|sku|serial|isbn|upc|barcode|ref|reference|transaction|lot"
    r"|batch|cusip|policy|invoice|item|imei|s/?n|vin|case|ticket|confirmation)\b)"
    r"(?:\sno\.)?[^0-9,.;!?\n]{0,14}$",
    re.IGNORECASE | re.ASCII,
)
_CONTACT = re.compile(
    r"电话|手机|座机|致电|拨打|联系|身份证|证件|卡|phone|mobile|cell|call|text|tel|ssn|social|card",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"[$¥£€]\s?$")
_UNIT = re.compile(
    r"\s?(?:[日韩欧港美]?元|块|圆|万|亿|美金|港币|人民币|股|份|件|箱|瓶|分(?!机)|%|(?:dollars?|usd|rmb|cny|yuan"
    r"|bucks|pounds|euros|points?|pts|units?|shares|miles|km)\b)",
    re.IGNORECASE,
)


def _is_something_else(text: str, start: int, end: int) -> bool:
    """Whether the words around a number say that it is an amount, or some document's number."""
    before = text[max(0, start - 32) : start]
    named = _NAMED_OTHERWISE.search(before)
    return (
        (named is not None and not _CONTACT.search(named[0]))
        or _CURRENCY.search(before) is not None
        or _UNIT.match(text, end) is not None
    )


@dataclass(frozen=True)
class _Rule:
    """A kind of personal data by its form.

    Attributes:
        pattern: Its group `it` is what is personal; without one, the whole match.
        check: Whether the digits (and a final X) of the match pass.
        number: Whether the words around may say that it is something else.
    """

    kind: Kind
    pattern: re.Pattern[str]
    check: Callable[[str], bool] | None = None
    number: bool = True

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        group = "it" if "it" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            if self.check and not self.check(re.sub(r"[^0-9Xx]", "", match[group])):
                continue
            if self.number and _is_something_else(text, *match.span(group)):
                continue
            yield match.span(group)


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.IGNORECASE | re.VERBOSE)


_START = r"(?<!\d)(?<!\d[.-])"
_END = r"(?!\d)(?!\.\d)(?!-\d{5})"
_NOT_IN_A_WORD = r"(?: (?<![a-z_]) | (?<=tel) | (?<=phone) | (?<=[vw]x) | (?<=qq) )"
_NO_WORD_BEFORE, _NO_WORD_AFTER = r"(?<!\w)", r"(?!-?\w)"
_LOCAL = r"(?: 电话 | 座机 | 固话 | 致电 | 拨打 ) (?: 号码?|是|为|[:\s] ){0,3}"
_WECHAT = r"微信 | [薇威维]信 | v信 | (?<![a-z0-9])(?:vx|wx|wechat|weixin)"
_FILLER = r"""(?: [号码是为我的加个下上有聊搜找吗呗吧呢:,?\s-]
                | (?<!\w)(?:id|is|as|at|me|mine|my|too|no\.?|num|number)(?!\w) ){0,8}"""
"""What people write between the word and the id."""

_RULES = (
    _Rule(Kind.EMAIL, _form(r"""
        (?<![\w.+'%-]) \w[\w.+'%-]{0,63}
        (?: @ | \s?[\[(]at[\])]\s? )
        (?: (?: \w[\w-]{0,62} | [\u4e00-\u9fff]{1,30} ) (?: \. | \s?[\[(]dot[\])]\s? ) ){1,5}
        [a-z]{2,24} (?![\w-])
        | (?<![\w.+-]) \w[\w.+-]{1,63} [ ]at[ ]
          (?:gmail|googlemail|yahoo|hotmail|outlook|live|icloud|proton|protonmail|qq|163|126|foxmail)
          [ ]dot[ ] (?:com|net|me|co[ ]dot[ ]uk)\b
        """), number=False),
    _Rule(Kind.ID, _form(
        rf"{_START} [1-9]\d{{5}}[ -]?(?:19|20)\d{{6}}[ -]?\d{{3}}[\dX] (?![\dA-Z]) {_END}"
        ), _is_resident_id, number=False),
    _Rule(Kind.CARD, _form(rf"""
        {_NO_WORD_BEFORE} {_START} (?:
            \d{{12,19}} | \d{{4}}([ -])\d{{4}}\1\d{{4}}\1\d{{4}}(?:\1\d{{1,3}})?
            | \d{{4}}[ -]\d{{6}}[ -]\d{{4,5}} | \d{{6}}[ -]\d{{10,13}}
        ) {_NO_WORD_AFTER} {_END}
        """), _is_card),
    _Rule(Kind.ID, _form(rf"{_NO_WORD_BEFORE} {_START} [1-9]\d{{14}} {_NO_WORD_AFTER} {_END}"),
          _is_resident_id),
    _Rule(Kind.ID, _form(rf"""
        (?: \b(?:ssn|social(?:\ssecurity)?)(?:\s(?:number|no\.?))?(?:\sis)?[:\s]{{1,2}}
            (?P<it>(?!000|666|9)\d{{3}}[ -]?(?!00)\d{{2}}[ -]?(?!0000)\d{{4}})
        ) {_NO_WORD_AFTER} {_END}
        """), number=False),
    _Rule(Kind.ID, _form(rf"""
        {_NO_WORD_BEFORE} {_START} (?!000|666|9)\d{{3}}-(?!00)\d{{2}}-(?!0000)\d{{4}}
        {_NO_WORD_AFTER} {_END}
        """)),
    _Rule(Kind.QQ, _form(rf"""
        (?<![a-z]) (?: qq | 扣扣 | 企鹅 | 加q | q(?=号) ) {_FILLER} (?P<it>[1-9]\d{{4,9}}) (?!\d)
        """)),
    _Rule(Kind.PHONE, _form(rf"""
        {_START} (?<!\+) {_NOT_IN_A_WORD}
        (?: \(?(?:\+|00)?86\)?[ -]? )? (?:
            1[3-9]\d (?: \d{{8}} | ([ .-])\d{{4}}\1\d{{4}} )
            | 1[3-9]\d{{2}}([ -])\d{{3}}\2\d{{4}} | 1[ ][3-9](?:[ ]\d){{9}}
        ) {_END}
        """)),
    _Rule(Kind.PHONE, _form(rf"""
        {_START} (?: \+ | 00(?=\d{{1,3}}[ -]) )
        [1-9]\d{{0,2}} (?: [ .-]?\(?\d{{1,5}}\)? ){{2,6}} {_END}
        """), _is_international),
    _Rule(Kind.PHONE, _form(rf"""
        {_START} {_NOT_IN_A_WORD} (?: # with an area code: in China, then in the United Kingdom
            (?: \(0(?:10|2\d|[3-9]\d{{2}})\) | 0(?:10|2\d|[3-9]\d{{2}}) )
            [ -]?[2-9]\d{{2,3}}[ -]?\d{{4}}
            | 07\d{{3}}[ ]?\d{{3}}[ ]?\d{{3}}
            | (?: \(0[1-9]\d{{2,3}}\) | 0[1-9]\d{{2,3}} ) [ -] (?: \d{{3}}[ -]\d{{3,4}} | \d{{6}} )
            | [48]00-\d{{3,4}}-\d{{3,4}} | 400[ ]?\d{{3}}[ ]?\d{{4}}
        ) {_END}
        """)),
    _Rule(Kind.PHONE, _form(rf"""
        {_NO_WORD_BEFORE} {_START} (?:1[ .-])?
        (?: \([2-9]\d{{2}}\)[ ]? | [2-9]\d{{2}}[ .-] ) [2-9]\d{{2}}[ .-]\d{{4}}
        {_NO_WORD_AFTER} {_END}
        """)),
    _Rule(Kind.PHONE, _form(rf"""
        {_LOCAL} (?P<it>[2-9]\d{{2,3}}[ -]?\d{{4}}) {_END}
        """)),
    _Rule(Kind.PHONE, _form(rf"""
        (?: {_LOCAL} | 0\d{{2,3}}-? ) [2-9]\d{{6,7}} [、,和或/\s]{{1,2}} # a second after the first
        (?P<it>[2-9]\d{{6,7}}) {_END}
        """)),
    _Rule(Kind.PHONE, _form(rf"""
        \b(?: phone | cell | mobile | call | text | message | tel | dial | ring | reach | whatsapp
            | number )
        (?: [ ](?:number|no\.?|me|us|is|at|on|it's) ){{0,3}} [:\s]{{1,2}}
        (?P<it>1?[2-9]\d{{2}}[2-9]\d{{6}} | [2-9]\d{{2}}-\d{{4}}) {_NO_WORD_AFTER} {_END}
        """)),
    _Rule(Kind.WECHAT, _form(r"""
        (?<![a-z0-9_]) wxid_\w{6,20} (?!\w)
        """), number=False),
    _Rule(Kind.WECHAT, _form(rf"""
        (?: {_WECHAT} | 加我 | 加个?v(?!ip) | \+v | (?<![\w/.-])v(?=\s?:) ) {_FILLER}
        (?P<it>(?=[a-z_-]{{0,19}}\d|[a-z-]{{0,19}}_)[a-z][\w-]{{5,19}}) (?!\w)
        """), number=False),
    _Rule(Kind.WECHAT, _form(rf"""
        (?: {_WECHAT} ) (?: 号码?[是为]?[:\s]{{0,2}} | [ ]?id(?:[ ]is)?[:\s]{{1,2}} | [:]\s? )
        (?P<it>[a-z]{{6,20}} | [1-9]\d{{5,9}}) (?![\w-])
        """)),
)  # fmt: skip
