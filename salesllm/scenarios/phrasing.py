"""From a list of phrases to one message: choosing, filling in, and a customer's slips."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random

from salesllm import catalog
from salesllm.catalog import Manner, Split
from salesllm.dialogue import Language, Speaker, Turn
from salesllm.scenario import Persona, Product, Scenario


@dataclass(frozen=True)
class _Phrase:
    """A phrase taken apart: `<tag> text with {slots}`.

    Attributes:
        gist: Letters and digits of its longest fixed part, by which it is found in what was said.
    """

    text: str
    tag: str | None
    slots: frozenset[str]
    gist: str


@cache
def _phrase(source: str) -> _Phrase:
    tag, text = None, source
    if match := re.match(r"<(\w+)> ", source):
        tag, text = match[1], source[match.end() :]
    fixed = re.split(r"\{\w+\}|\[[^\]]*\]", text)
    slots = frozenset(name.lower() for name in re.findall(r"\{(\w+)\}", text))
    return _Phrase(text, tag, slots, max(map(gist, fixed), key=len))


def gist(text: str) -> str:
    """Letters and digits only, in lower case: what is left of a text through most slips."""
    return re.sub(r"[\W_]+", "", text.lower())


@dataclass
class Phrasing:
    """Words one side's messages from the phrase banks, without repeating what it has said.

    Attributes:
        slots: What `{slot}` stands for. A phrase that needs a missing one is not used.
        tags: What the product is; `<tag>` phrases need theirs.
        said: Gists of the side's earlier messages.
    """

    language: Language
    split: Split
    rng: Random
    slots: dict[str, str]
    tags: frozenset[str]
    said: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        turns: Sequence[Turn],
        speaker: Speaker,
        *,
        rng: Random,
        split: Split,
    ) -> Phrasing:
        """For the next message of `speaker`. A customer only names a price that was told."""
        attributes, language = scenario.attributes, scenario.language
        said = [gist(turn.text) for turn in turns if turn.speaker is speaker]
        slots = product_slots(scenario.product, language)
        slots |= persona_slots(scenario.persona, language)
        if speaker is Speaker.CUSTOMER:
            for name, text in (
                ("need", attributes.motivations),
                ("worry", attributes.pain_points),
            ):
                fresh = [c for c in clauses(text) if not any(is_in(gist(c), t) for t in said)]
                if fresh:
                    slots[name] = rng.choice(fresh)
            if not any(scenario.product.price in turn.text for turn in turns):
                for name in ("price", "amount", "offer"):
                    slots.pop(name, None)
        return cls(language, split, rng, slots, product_tags(scenario.product, language), said)

    def phrases(self, key: str) -> tuple[str, ...]:
        """The list `key` and what the product's domain adds to it."""
        domains = (tag for tag in ("consumer", "financial") if tag in self.tags)
        keys = [key, *(f"{key}_{domain}" for domain in domains)]
        return tuple(p for k in keys for p in catalog.phrases(self.language, k, self.split))

    def say(self, key: str, *, again: bool = True, **slots: str) -> str:
        """A phrase of the list `key`, filled in.

        Args:
            again: Rather repeat a phrase than say nothing.
            slots: More slots.
        """
        return self.pick(self.phrases(key), again=again, **slots)

    def pick(self, sources: Sequence[str], *, again: bool = True, **slots: str) -> str:
        """`say` for phrases that are not of one list."""
        values = self.slots | slots
        usable = [
            phrase
            for phrase in map(_phrase, sources)
            if phrase.tag in (None, *self.tags) and phrase.slots <= values.keys()
        ]
        used = {phrase: self._last_use(phrase) for phrase in usable}
        oldest = min(used.values(), default=-1)
        if not used or (oldest >= 0 and not again):
            return ""
        choice = self.rng.choice([phrase for phrase, when in used.items() if when == oldest])
        return self._fill(choice.text, values)

    def _last_use(self, phrase: _Phrase) -> int:
        """Number of the message that had the phrase last, -1 if none had it."""
        return max((i for i, text in enumerate(self.said) if is_in(phrase.gist, text)), default=-1)

    def just_said(self, key: str) -> bool:
        """Whether the side's last message has a phrase of the list `key`."""
        last = self.said[-1] if self.said else ""
        return any(is_in(_phrase(source).gist, last) for source in self.phrases(key))

    def _fill(self, text: str, values: dict[str, str]) -> str:
        text = re.sub(r"\[([^\]]*)\]", lambda m: self.rng.choice(m[1].split("|")), text)

        def value(match: re.Match[str]) -> str:
            name = match[1]
            found = values[name.lower()]
            return capitalise(found) if name[0].isupper() else found

        text = re.sub(r"\{(\w+)\}", value, text)
        if self.language == "zh":
            return text
        return re.sub(r"(?:^|(?<=[.?!] ))[a-z]", lambda m: m[0].upper(), text)


def is_in(part: str, text: str) -> bool:
    """Whether a gist is in another; very short ones ("ok") occur in anything and tell nothing."""
    return len(part) >= 4 and part in text


def join(*parts: str) -> str:
    """Sentences to one message; after a comma or colon the next goes on in lower case."""
    text = ""
    for part in filter(None, parts):
        if not text:
            text = part
        elif text[-1] in "，。？！、：…" or part[0] >= "\u4e00":
            text += part if text[-1] in "，。？！、：…" else f"，{part}"
        elif text[-1] in ",:" and not part.startswith(("I ", "I'")):
            text += f" {part[0].lower()}{part[1:]}"
        else:
            text += f" {part}"
    return text


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def clauses(text: str) -> list[str]:
    """The sentences of an attribute, to be used inside another sentence."""
    found = [c.strip() for c in re.split(r"[.;。；!！]+(?:\s|$|(?<=[。；！]))", text) if c.strip()]
    return [c if re.match(r"I\b", c) else c[0].lower() + c[1:] for c in found]


def product_tags(product: Product, language: Language) -> frozenset[str]:
    known = catalog.goods(language).get(product.id)
    return frozenset({product.domain}) | (known.tags if known else frozenset())


def product_slots(product: Product, language: Language) -> dict[str, str]:
    """Slots that follow from the product; one that the catalogue lacks is called by its name."""
    known = catalog.goods(language).get(product.id)
    slots = {"name": product.name, "price": product.price, "channel": product.channel}
    if language == "zh":
        measure = known.measure if known else ""
        slots |= {"kind": known.kind if known else product.name}
        slots |= {"mw": measure or "个", "mw_one": f"一{measure or '个'}"}
        slots["amount"] = re.sub(r"起.*", "", product.price)
    else:
        slots |= {"kind": known.kind if known else product.name}
        slots |= {"a_kind": known.a_kind if known else f"the {product.name}"}
        money = re.search(r"\$[\d,.]*\d(?: an? \w+)?", product.price)
        slots["amount"] = money[0] if money else product.price
    if offer := _offer(product, language):
        slots["offer"] = offer
    return slots


def persona_slots(persona: Persona, language: Language) -> dict[str, str]:
    known = catalog.people(language).get(persona.id)
    family = "家里人" if language == "zh" else "my family"
    return {"city": persona.city, "confidant": known.confidant if known else family}


def _offer(product: Product, language: Language) -> str | None:
    """About a fifth under the price, as a round sum; nobody haggles over money to be saved."""
    found = re.search(r"\d[\d,]*", product.price)
    if product.domain == "financial" or not found:
        return None
    sum_ = int(found[0].replace(",", "")) * 0.8
    step = 5 if sum_ < 100 else 10 ** (len(str(int(sum_))) - 2)
    offer = max(step, round(sum_ / step) * step)
    return f"{offer}块" if language == "zh" else f"${offer}"


_SLIPS_ZH = (("的", "得"), ("在", "再"), ("怎么", "咋么"), ("这样", "酱紫"),
             ("知道", "知到"), ("需要", "须要"), ("已经", "己经"), ("吗", "嘛"), ("吧", "把"),
             ("考虑", "考滤"), ("不是", "不四"), ("没有", "木有"), ("什么", "神马"))  # fmt: skip


def blemish(
    text: str, manner: Manner, *, language: Language, glad: bool, split: Split, rng: Random
) -> str:
    """The text as this customer would type it."""
    if rng.random() < manner.typo:
        text = _slip_zh(text, rng) if language == "zh" else _slip_en(text, rng)
    if rng.random() < manner.unstopped:
        text = re.sub(r"(?<![.。…])[.。]$", "", text)
        if rng.random() < 0.4:
            text = re.sub(r"[?？]$", "", text)
        if language == "zh" and rng.random() < 0.3:
            text = text.replace("，", " ")
    if language == "en" and rng.random() < manner.lower:
        text = text.lower()
        if rng.random() < 0.4:
            text = text.replace("'", "")
    if rng.random() < manner.emoji:
        text += " " * (language == "en") + rng.choice(
            catalog.phrases(language, "emoji_good" if glad else "emoji_bad", split)
        )
    return text


def _slip_en(text: str, rng: Random) -> str:
    """Two letters of one word swapped, or one left out; figures stay as they are."""
    words = list(re.finditer(r"[a-z]{6,}", text))
    if not words:
        return text
    word = rng.choice(words)
    place = rng.randrange(word.start() + 1, word.end() - 2)
    middle = text[place + 1] + text[place] if rng.random() < 0.6 else text[place]
    return text[:place] + middle + text[place + 2 :]


def _slip_zh(text: str, rng: Random) -> str:
    slips = [slip for slip in _SLIPS_ZH if slip[0] in text]
    return text.replace(*rng.choice(slips), 1) if slips else text
