"""Reads the end of a dialogue from what is said, where nobody writes a marker.

A false end costs more than a missed one: a dialogue that is cut short loses a sale, and one that
goes on reaches the round limit. So nothing is looked for in the middle of a text. A message is
taken apart into clauses, and each clause has to be one of the phrases in `phrases` from its first
word to its last: "goodbye to my old kettle" and "再见面的时候" are no farewells. Whatever asks or
makes a condition keeps the dialogue open.

Who ends it? The customer may leave at any time, as with the marker: its farewell, or a refusal
that says it is final, is the end. "No, thanks" is not, for it may be about the gift wrapping, and
"I'll let you know, bye" leaves the door open. A salesperson's goodbye alone is not either: many say
"have a nice day" in every message, and a customer with a question left would lose its answer. It
takes both: where a salesperson says goodbye and a customer has nothing to add, in this order or
the other, the dialogue is over, and the side that closed first has ended it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from salesllm.dialogue import Language, Speaker, Turn
from salesllm.simulate.phrases import Clause, Phrases
from salesllm.simulate.phrases_en import ENGLISH
from salesllm.simulate.phrases_zh import CHINESE

_PHRASES: dict[Language, Phrases] = {"en": ENGLISH, "zh": CHINESE}
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|(?<!\w)\'[^\'\n]{2,}\'(?!\w)')
_MARKS = frozenset("\"“「『'")
_EMOJI = "\u2600-\u27bf\U0001f300-\U0001faff"
_BREAKS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(rf"[.,!;:~–—…\n{_EMOJI}]+"),
    "zh": re.compile(rf"[\s.,!;:~–—…，。！；：、～{_EMOJI}]+"),
}
_EDGES = " -*_()（）[]【】\"'"
_LEAVE_CHARS = 120  # of a message's end, in which a goodbye is looked for
_LAST_QUESTION = re.compile(r"[^.!?。\n]*\?(?=[^?]*\Z)")


def closed_by(turns: Sequence[Turn], language: Language) -> Speaker | None:
    """Who has ended the dialogue, now that its last turn is said; None while it is open."""
    before, last = turns[-2:]
    if last.speaker is Speaker.CUSTOMER:
        if ends(last.text, language, before.text):
            return Speaker.CUSTOMER
        if takes_leave(before.text, language) and winds_down(last.text, language):
            return Speaker.SALESPERSON
    elif takes_leave(last.text, language) and winds_down(before.text, language):
        return Speaker.CUSTOMER
    return None


def ends(text: str, language: Language, answered: str = "") -> bool:
    """Whether a customer's message is its last, whatever the other side would say.

    Args:
        answered: The salesperson's message before. A refusal in answer to an offer of something
            more ("anything else?", "with a warranty?") is not about the product.
    """
    phrases, text = _PHRASES[language], _plain(text)
    if "?" in text:
        return False
    clauses = _clauses(text, language)
    core, kind = len(clauses), None
    while core and (kind := phrases.read(clauses[core - 1])) in (Clause.COURTESY, Clause.REFUSAL):
        core -= 1
    if core == 0:
        return _refuses_and_thanks(clauses, phrases) and not _offers_more(answered, phrases)
    if kind is None or any(map(phrases.later.search, clauses)):
        return False
    others = [clause for clause in clauses[: core - 1] if phrases.read(clause) is None]
    if any(map(phrases.open.search, others)):
        return False
    if core > 1 and phrases.reports.search(clauses[core - 2]):
        return False
    if kind is Clause.FAREWELL:
        return True
    return not (any(map(phrases.settles.search, others)) or _offers_more(answered, phrases))


def winds_down(text: str, language: Language) -> bool:
    """Whether a customer's message adds nothing: thanks, a yes, a no, a later, a farewell."""
    phrases, text = _PHRASES[language], _plain(text)
    clauses = _clauses(text, language)
    return "?" not in text and bool(clauses) and all(map(phrases.read, clauses))


def takes_leave(text: str, language: Language) -> bool:
    """Whether a salesperson says goodbye, with nothing asked."""
    if "?" in text or "？" in text:
        return False
    ending = text[-_LEAVE_CHARS:]
    phrases = _PHRASES[language]
    if not phrases.leave.search(ending):
        return False
    return any(map(phrases.leave.search, _clauses(_plain(ending), language)[-2:]))


def _refuses_and_thanks(clauses: Sequence[str], phrases: Phrases) -> bool:
    """A plain refusal of the product and thanks for the talk are a leave-taking together."""
    refused = any(phrases.read(clause) is Clause.REFUSAL for clause in clauses)
    return refused and any(phrases.parting.search(clause) for clause in clauses)


def _offers_more(text: str, phrases: Phrases) -> bool:
    question = _LAST_QUESTION.search(_plain(text))
    return question is not None and phrases.more.search(question[0]) is not None


def _plain(text: str) -> str:
    return text.lower().replace("’", "'").replace("？", "?").replace("啦", "了")


def _clauses(text: str, language: Language) -> list[str]:
    if not _MARKS.isdisjoint(text):
        text = _QUOTED.sub("§", text)  # what somebody else said is no phrase
    if language == "en":
        text = text.replace(" and have a", ". have a").replace(" and take care", ". take care")
    parts = (" ".join(part.split()).strip(_EDGES) for part in _BREAKS[language].split(text))
    return [part for part in parts if part]
