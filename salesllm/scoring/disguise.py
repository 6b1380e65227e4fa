"""Text in disguise, read as what it says: other alphabets, unseen characters, simple codes."""

from __future__ import annotations

import base64
import codecs
import html
import re
import unicodedata
import urllib.parse
from collections.abc import Callable, Iterator, Sequence

_INVISIBLE = "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff"
_TAGS = "\U000e0000-\U000e007f"  # ASCII once more, unseen
_HIDDEN = re.compile(f"[{_INVISIBLE}{_TAGS}]")
_LOOKALIKES = str.maketrans(
    "авекмнорстухгіјѕԁһԛԝαβεηικνορτυχᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢı∶꞉ː︰",
    "abekmhopctyxrijsdhqwabenikvoptuxabcdefghijklmnoprstuvwyzi::::",
)
_VARIANTS = (
    "請給評輸無視規則標準說這對話滿記銷戶顧買賣數為實際個確過寫應該統結導嚴覆蓋員於將參與環節處價"
)
_TRADITIONAL = str.maketrans(
    _VARIANTS,
    "请给评输无视规则标准说这对话满记销户顾买卖数为实际个确过写应该统结导严覆盖员于将参与环节处价",
)
_ODD = re.compile(
    f"[{_INVISIBLE}{_TAGS}{_VARIANTS}\u00c0-\u02ff\u0370-\u058f\u1d00-\u1d7f\u1e00-\u1eff\u2100-"
    "\u214f\u2236\u24b6-\u24e9\ua730-\ua7ff\ufe10-\ufe6b\uff10-\uff19\uff1c\uff1e\uff21-\uff5d"
    "\U0001d400-\U0001d7ff]"
)


def is_odd(text: str) -> bool:
    """Whether it holds characters that `folded` turns into others, apart from case."""
    return _ODD.search(text) is not None


def plain(text: str) -> str:
    """One case, one width and simplified characters, which is no disguise."""
    return unicodedata.normalize("NFKC", text).lower().translate(_TRADITIONAL)


def folded(text: str) -> tuple[str, Sequence[int]]:
    """The text in `plain` characters and without disguise; and where each comes from in `text`."""
    if not is_odd(text):
        return text.lower(), range(len(text))
    chars, where = [], []
    for index, char in enumerate(text):
        if "\U000e0000" <= char <= "\U000e007f":
            char = chr(ord(char) - 0xE0000)
        elif _HIDDEN.match(char):
            continue
        seen = unicodedata.normalize("NFKD", char).lower().translate(_LOOKALIKES)
        for each in seen.translate(_TRADITIONAL):
            if not unicodedata.combining(each):
                chars.append(each)
                where.append(index)
    return "".join(chars), where


def _base64(run: str) -> str:
    run = run.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(run + "=" * (-len(run) % 4)).decode()


def _hex(run: str) -> str:
    return bytes.fromhex(re.sub("[ :,]", "", run)).decode()


def _unescaped(text: str) -> str:
    codes = re.compile(r"(?:\\[ux]|0x)([0-9a-fA-F]{4}|[0-9a-fA-F]{2}) ?")
    return codes.sub(lambda code: chr(int(code[1], 16)), text)


def _joined(text: str) -> str:
    return re.sub(r"(?<!\w)(\w[ .*_·-]){4,}\w(?!\w)", lambda run: run[0][::2], text)


def _leet(text: str, letters: str) -> str:
    table = str.maketrans("013457@$!|", letters)

    def read(word: re.Match[str]) -> str:
        return word[0] if word[0].isdigit() else word[0].translate(table)

    return re.sub(r"[\w@$!|]+", read, text)


_Code = tuple[re.Pattern[str], Callable[[str], str]]
# Runs of text that may be a code, each read by itself.
_RUNS: tuple[_Code, ...] = (
    (re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}"), _base64),
    (re.compile(r"(?:[0-9a-fA-F]{2}[ :,]?){8,}"), _hex),
)
# What betrays a code that is read in the whole text.
_TEXTS: tuple[_Code, ...] = (
    (re.compile(r"%[0-9a-fA-F]{2}"), urllib.parse.unquote),
    (re.compile(r"&(?:#\w|[a-z])"), html.unescape),
    (re.compile(r"(?:\\[ux]|0x)[0-9a-fA-F]{2}"), _unescaped),
    (re.compile(r"vtaber|qvfertneq|bhgchg"), lambda text: codecs.decode(text, "rot13")),
    (re.compile(r"(?:[ .*_·-]\w){4}(?!\w)"), _joined),
    (re.compile(r"[013457@$|][A-Za-z]"), lambda text: _leet(text, "oieastasil")),
    (re.compile(r"[013457@$|][A-Za-z]"), lambda text: _leet(text, "oleastasil")),
)


def visible(text: str) -> str:
    """The text without the characters that nobody sees."""
    return _HIDDEN.sub("", text) if is_odd(text) else text


def decoded(text: str) -> Iterator[str]:
    """What its encoded parts may say: base64, hex, escapes, ROT13, leetspeak, s p a c e d letters.

    Most of it is nonsense, of words and numbers that were never encoded.
    """
    for pattern, decode in _RUNS:
        for run in pattern.findall(text):
            try:
                yield decode(run)
            except ValueError:  # no code after all
                continue
    for pattern, decode in _TEXTS:
        if pattern.search(text):
            yield decode(text)
