"""Reads the end of a dialogue from what is said, where nobody writes a marker.

A false end costs more than a missed one: a dialogue that is cut short loses a sale, and one that
goes on reaches the round limit. So nothing is looked for in the middle of a text. A message is
taken apart into clauses, and each clause has to be one of the phrases in `phrases` from its first
word to its last: "goodbye to my old kettle" and "再见面的时候" are no farewells. Whatever asks or
makes a condition keeps the dialogue open.

Who ends it? The customer may leave at any time, as with the marker: its farewell, or a refusal
that says it is final, is the end. "No, thanks" is not, for it may be about the gift wrapping, and
"I'll let you know, bye" leaves the door open. A salesperson's goodbye alone is not either: many say "have a nice
day" in every message, and a customer with a question left would lose its answer. It takes both:
after one side has closed and the other has nothing to add, the dialogue is over, and the side that
closed first has ended it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from salesllm.dialogue import Language, Speaker, Turn
from salesllm.simulate.phrases import PHRASES, Clause, Phrases

_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|\'[^\'\n]{2,}\'(?!\w)')
_EMOJI = "\u2600-\u27bf\U0001f300-\U0001faff"
_BREAKS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(rf"[.,!;:~—\n\r{_EMOJI}]+|\s[-–]+\s|\sand\s(?=have an? |take care)"),
    "zh": re.compile(rf"[.,!;:~—\s。、…{_EMOJI}-]+"),
}
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
    phrases, text = PHRASES[language], _plain(text)
    if "?" in text:
        return False
    clauses = _clauses(text, language)
    kinds = [phrases.read(clause) for clause in clauses]
    if any(map(phrases.later.search, clauses)):
        return False
    while kinds and kinds[-1] in (Clause.COURTESY, Clause.REFUSAL):
        kinds.pop()
    if not kinds:
        return _refuses_and_thanks(clauses, phrases) and not _offers_more(answered, phrases)
    core = kinds.pop()
    others = [clause for clause, kind in zip(clauses, kinds, strict=False) if kind is None]
    if (
        core is None
        or any(phrases.open.search(clause) for clause in others)
        or (kinds and phrases.reports.search(clauses[len(kinds) - 1]))
    ):
        return False
    if core is Clause.FAREWELL:
        return True
    besides = any(phrases.settles.search(clause) for clause in others)
    return not besides and not _offers_more(answered, phrases)


def winds_down(text: str, language: Language) -> bool:
    """Whether a customer's message adds nothing: thanks, a yes, a no, a later, a farewell."""
    phrases, text = PHRASES[language], _plain(text)
    clauses = _clauses(text, language)
    return "?" not in text and bool(clauses) and all(map(phrases.read, clauses))


def takes_leave(text: str, language: Language) -> bool:
    """Whether a salesperson says goodbye, with nothing asked."""
    if "?" in text or "？" in text:
        return False
    phrases = PHRASES[language]
    if not phrases.leave.search(text):
        return False
    clauses = _clauses(_plain(text), language)
    return any(phrases.leave.search(clause) for clause in clauses[-2:])


def _refuses_and_thanks(clauses: Sequence[str], phrases: Phrases) -> bool:
    """A plain refusal of the product and thanks for the talk are a leave-taking together."""
    refused = any(phrases.read(clause) is Clause.REFUSAL for clause in clauses)
    return refused and any(phrases.parting.search(clause) for clause in clauses)


def _offers_more(text: str, phrases: Phrases) -> bool:
    question = _LAST_QUESTION.search(_plain(text))
    return question is not None and phrases.more.search(question[0]) is not None


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text.replace("’", "'").replace("‘", "'")).lower()


def _clauses(text: str, language: Language) -> list[str]:
    text = _QUOTED.sub("§", text)  # what somebody else said matches no phrase
    parts = (re.sub(r"^[^\w§]+|[^\w§]+$", "", part) for part in _BREAKS[language].split(text))
    return [" ".join(part.split()) for part in parts if part]
