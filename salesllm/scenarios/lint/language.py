"""Which language a text is in, by its share of Han characters."""

from __future__ import annotations

import re
from collections.abc import Iterable

from salesllm.dialogue import Language

HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"(?<![A-Za-z_])[A-Za-z][A-Za-z'’-]+(?![A-Za-z_])")
NAME: dict[Language, str] = {"zh": "Chinese", "en": "English"}


def disagrees(text: str, language: Language) -> bool:
    """Whether a text is plainly not in that language; names and units of the other may occur."""
    han, words = len(HAN.findall(text)), len(_WORD.findall(text))
    if language == "zh":
        return han < words and words >= 4
    return han >= 2 and han > words


def language_of(texts: Iterable[str], said: Language) -> Language:
    """What most of the texts are in, or what is said of them where they leave it open."""
    known = [text for text in texts if text.strip()]
    if 2 * sum(disagrees(text, said) for text in known) > len(known):
        return "en" if said == "zh" else "zh"
    return said
