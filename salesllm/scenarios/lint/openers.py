"""Openers that are about something else than the product.

What things there are, and what customers call them, comes from the catalogue. An opener is at odds
with its product when it points at a thing ("the kettle", "这款水壶") that nothing said of the
product, or of its kind in the catalogue, has a word for, while it names nothing of the product. An
opener that names nothing at all fits any product.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from salesllm.catalog.space import Seed, category, clauses, counts
from salesllm.dialogue import Language
from salesllm.scenario import Domain, Product
from salesllm.scenarios.lint.language import language_of
from salesllm.scenarios.lint.rows import Finding, Row
from salesllm.scenarios.lint.vocabulary import words as vocabulary

_DOMAINS: tuple[Domain, ...] = ("consumer", "financial")
_COMMON = 3
"""A thing in more categories than that (`set`, `套装`) says nothing of the product."""

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?")
_SLOT = re.compile(r"\{[^}]*\}")
_POINTS_EN = {"the", "this", "that", "these", "those", "your"}
_WANTS_EN = {"for", "about", "want", "need", "buy", "get", "sell", "have", "stock", "after",
             "order"}  # fmt: skip
_SELLS_EN = {"sell", "stock", "buy"}
_OTHERS_EN = {"my", "our", "his", "her", "their", "in", "on", "with", "to", "of", "and", "or", "i"}
_POINTS_ZH = re.compile(
    r"[这那](?:款|个|台|套|种|份|只|件|把|张|本|双|瓶|盒|条|支|辆|块|部|副|架|口|袋|项|期)?"
    r"|(?:买|找|来|求购)[一]?[个只台款辆张套双件把袋包盒]"
    r"|你们?家?的?(?=[^，。？！]{0,2}[\u4e00-\u9fff])|想(?:买|要|看|问|了解|咨询)[一下个台款些点]*|看[到中上]|了解|咨询|有没有|有卖"
)
_ASKED_ZH = re.compile(
    r"([\u4e00-\u9fff]{2,12}?)(?:现在|还|都){0,2}(?:有货|有吗|有没有|有卖|怎么卖|卖吗|多少钱|什么价)"
)


@dataclass(frozen=True)
class _Kind:
    """A seed of the catalogue in one language.

    Attributes:
        brands: One of which is in its title.
        titles: The fixed parts of its title.
        category: The plain name of its category.
        noun: What it is called in full.
        thing: What it is called at its shortest.
        said: Its names and what its customers open with.
    """

    brands: tuple[str, ...]
    titles: tuple[str, ...]
    category: str
    noun: str
    thing: str
    said: str

    def has(self, name: str) -> bool:
        """Whether it is the kind of a product of that name, which the catalogue made."""
        if not self.titles or self.titles[0] not in name:
            return False
        return all(part in name for part in self.titles) and any(b in name for b in self.brands)


def opener_mismatch(row: Row) -> Iterator[Finding]:
    """An opener about another product."""
    text = row.openers.get(row.opener, "")
    sold = " ".join((row.product.name, *row.product.facts.values(), *row.product.selling_points))
    if not text or not sold.strip() or language_of([sold], row.language) != row.language:
        return
    thing = stranger(text, row.product, row.language)
    if thing is not None:
        message = f"asks about {thing!r}, and the product is {row.product.name or 'another'!r}"
        fix = "Write an opener about the product"
        yield row.found("opener-mismatch", row.opener, message, fix)


def stranger(opener: str, product: Product, language: Language) -> str | None:
    """The thing that an opener names and that is not the product; None where it fits."""
    opener, name = opener.strip().lower(), product.name.lower()
    kinds = [kind for kind in _kinds(language) if kind.has(name)]
    if kinds:
        asked = _asked_of(language).get(opener)
        if asked:
            return None if asked & {kind.noun for kind in kinds} else max(asked, key=len)
    elif _shares_a_word(opener, name, language):
        return None
    else:
        kinds = _like(product, name, language)
    if any(kind.noun in opener for kind in kinds):
        return None
    facts = [f"{label} {text}" for label, text in product.facts.items()]
    texts = [product.name, product.category, *facts, *product.selling_points]
    sold = {_plain(product.category), *(kind.category for kind in kinds)}
    known_by = [
        word for word, where in vocabulary(language).items() if sold & set(map(_plain, where))
    ]
    related = " ".join([*texts, *(kind.said for kind in kinds), *known_by]).lower()
    nouns = [kind.noun for kind in _kinds(language) if _mentions(kind.noun, opener, language)]
    if nouns:
        return None if any(noun in related for noun in nouns) else max(nouns, key=len)
    if language == "zh":
        things, known = _things_zh(opener), _bigrams(related)
        fits = any(_bigrams(thing) & known for thing in things)
    else:
        things, words = _things_en(opener), set(_tokens(related))
        fits = any(_akin(thing, words) for thing in things) or any(
            kind.thing in _tokens(opener) for kind in kinds
        )
    return max(sorted(things), key=len) if things and not fits else None


def _like(product: Product, name: str, language: Language) -> list[_Kind]:
    """Kinds that a product of somebody else's may be: of its category, or called as it is."""
    category = _plain(product.category)
    return [
        kind
        for kind in _kinds(language)
        if kind.category == category or _mentions(kind.thing, name, language)
    ]


def _mentions(thing: str, text: str, language: Language) -> bool:
    """Whether a text names a thing; an English one as whole words, also in the plural."""
    if thing not in text or not thing:
        return False
    return language == "zh" or bool(re.search(rf"\b{re.escape(thing)}(?:s|es)?\b", text))


def _akin(thing: str, words: set[str]) -> bool:
    """Whether it is one of the words, or like `charger` begins as one of them does."""
    return thing in words or (len(thing) > 5 and any(word.startswith(thing[:5]) for word in words))


def _plain(category: str) -> str:
    return category.lower().replace("&", "and").replace("_", " ").strip()


def _shares_a_word(opener: str, name: str, language: Language) -> bool:
    """Whether an opener has a word of a name that the catalogue does not know."""
    if language == "zh":
        return bool(_bigrams(opener) & _bigrams(name)) or _last(name) in opener
    return any(len(word) > 3 for word in set(_tokens(opener)) & set(_tokens(name)))


def _last(name: str) -> str:
    """The character that says what a Chinese name is of; `款` and `单` are in any opener."""
    last = name.rstrip("）) ")[-1:]
    return "\0" if last in ("款", "单") else last


@cache
def _asked_of(language: Language) -> dict[str, set[str]]:
    """Every opener of one kind of thing, and the nouns of the kinds that have it."""
    asked: dict[str, set[str]] = defaultdict(set)
    for domain in _DOMAINS:
        for name in counts(domain):
            for seed in category(domain, name).seeds:
                for text in seed.openers:
                    asked[text.in_(language).lower()].add(seed.noun.in_(language).lower())
    return asked


@cache
def _kinds(language: Language) -> tuple[_Kind, ...]:
    found = []
    for domain in _DOMAINS:
        for name in counts(domain):
            general = category(domain, name)
            for seed in general.seeds:
                title = seed.title.in_(language).lower()
                parts = [part.strip(" -,·") for part in _SLOT.split(title)]
                said = [seed.noun, seed.title, *seed.openers, *general.openers]
                found.append(
                    _Kind(
                        brands=tuple(brand.in_(language).lower() for brand in general.brands),
                        titles=tuple(part for part in parts if part),
                        category=_plain(name),
                        noun=seed.noun.in_(language).lower(),
                        thing=_thing(seed, language),
                        said=" ".join(
                            (general.name.in_(language), *(t.in_(language) for t in said))
                        ),
                    )
                )
    return tuple(found)


def _thing(seed: Seed, language: Language) -> str:
    noun = seed.noun.in_(language).lower()
    return _head(noun) if language == "en" else noun[-2:]


@cache
def _things() -> dict[Language, set[str]]:
    """What things are called, without what many categories share or a general opener says."""
    where: dict[Language, dict[str, set[str]]] = {"en": defaultdict(set), "zh": defaultdict(set)}
    for domain in _DOMAINS:
        for name in counts(domain):
            for seed in category(domain, name).seeds:
                where["en"][_head(seed.noun.en.lower())].add(name)
                noun = seed.noun.zh.lower()
                for start in range(len(noun) - 1):
                    where["zh"][noun[start:]].add(name)
    general = {
        "en": set(_tokens(" ".join(t.en for d in _DOMAINS for t in clauses(d).openings))),
        "zh": _bigrams("，".join(t.zh for d in _DOMAINS for t in clauses(d).openings)),
    }
    return {
        language: {
            thing
            for thing, names in things.items()
            if len(names) <= _COMMON and thing not in general[language] and len(thing) > 1
            if language == "en" or _bigrams(thing)
        }
        | set(vocabulary(language))
        for language, things in where.items()
    }


def _things_en(opener: str) -> set[str]:
    """Things that the opener points at: `the kettle`, `looking for a kettle`, not `my kitchen`."""
    words = _tokens(opener)
    found = set()
    for place, word in enumerate(words):
        if word not in _things()["en"]:
            continue
        for back in range(place - 1, max(-1, place - 5), -1):
            if words[back] in _OTHERS_EN:
                break
            wanted = (
                words[back] in ("a", "an", "some", "any") and words[max(0, back - 1)] in _WANTS_EN
            )
            offered = words[back] in _SELLS_EN or words[back - 1 : back + 1] == ["you", "have"]
            if words[back] in _POINTS_EN or wanted or offered:
                before = words[back - 1] if back else ""
                if (
                    before not in _OTHERS_EN - {"and", "or", "with", "of", "on"}
                    or wanted
                    or offered
                ):
                    found.add(word)
                break
    return found


def _things_zh(opener: str) -> set[str]:
    found: set[str] = set()
    things = _things()["zh"]
    for point in _POINTS_ZH.finditer(opener.lower()):
        window = re.split(r"[，。？！,?!、；]", opener[point.end() : point.end() + 12].lower())[0]
        for start in range(len(window) - 1):
            ends = range(len(window), start + 1, -1)
            thing = next((window[start:end] for end in ends if window[start:end] in things), None)
            if thing:
                found.add(thing)
                break
    for asked in _ASKED_ZH.findall(opener.lower()):
        found.update([next(filter(things.__contains__, _endings(asked)), "")])
    return found - {""}


def _endings(text: str) -> list[str]:
    return [text[start:] for start in range(len(text) - 1)]


def _head(noun: str) -> str:
    """`no-pull harness for dogs` -> `harness`."""
    words = _tokens(re.split(r" (?:for|of|with|in|on|to) ", noun)[0])
    return words[-1] if words else ""


def _tokens(text: str) -> list[str]:
    return [_singular(word) for word in _TOKEN.findall(text.lower())]


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    plural = word.endswith("s") and not word.endswith(("ss", "is", "us")) and len(word) > 3
    return word[:-1] if plural else word


def _bigrams(text: str) -> set[str]:
    return {
        text[n : n + 2]
        for n in range(len(text) - 1)
        if "\u4e00" <= text[n] <= "\u9fff" and "\u4e00" <= text[n + 1] <= "\u9fff"
    }
