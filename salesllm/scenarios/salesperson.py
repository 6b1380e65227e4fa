"""A salesperson that answers what was said, by rules.

It understands a customer by the `signals` of the catalogue alone, so it can face any customer: one
of the sample dialogues, a trained model, or a model that pitches back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from salesllm import catalog
from salesllm.catalog import Split
from salesllm.dialogue import Speaker, Turn
from salesllm.scenario import Scenario
from salesllm.scenarios.phrasing import Phrasing, gist, join

_EVIDENCE: dict[str, tuple[str, ...]] = {
    "objection_price": ("warranty", "reviews", "fees", "returns", "claims"),
    "objection_trust": ("reviews", "safety", "returns", "warranty", "claims", "cancelling"),
    "compare": ("warranty", "rate", "claims", "fees", "reviews"),
    "objection_fit": ("returns", "setup", "access", "cancelling", "opening"),
    "objection_timing": ("delivery", "opening", "access", "returns", "cancelling"),
    "objection_confidant": ("returns", "cancelling", "access", "safety"),
    "haggle": ("warranty", "delivery", "fees", "claims"),
}
"""Which facts answer an objection."""

_ASKS_BACK = ("?", "？")


def understand(scenario: Scenario, text: str) -> tuple[str, str | None]:
    """What a customer's message means to the salesperson.

    Returns:
        The name of a signal, and for `topic` the label of the fact that was asked for; `other` for
        what it does not understand.
    """
    signals = catalog.signals(scenario.language)
    asks = signals["question"].search(text)
    for name, pattern in signals.items():
        if name == "topic":
            if asks and (label := _asked_for(scenario, text)):
                return name, label
        elif pattern.search(text.strip()):
            return name, None
    return "other", None


def _asked_for(scenario: Scenario, text: str) -> str | None:
    """The label of the product's fact that a question is about."""
    words = {topic.label: topic.words for topic in catalog.topics(scenario.language).values()}
    facts = scenario.product.facts
    text = text.lower().replace(scenario.product.name.lower(), "")
    for label in (k for k in facts if k not in words):  # a fact of this product alone: by its name
        stem = re.escape(label.lower().removesuffix("s"))
        if re.search(stem if scenario.language == "zh" else rf"\b{stem}", text):
            return label
    return next((k for k, pattern in words.items() if k in facts and pattern.search(text)), None)


def salesperson_line(
    scenario: Scenario, turns: Sequence[Turn], *, rng: Random, split: Split = "train"
) -> str:
    """What a salesperson says next, to any customer.

    Every figure in it is from the product's price, selling points or facts.
    """
    words = Phrasing.of(scenario, turns, Speaker.SALESPERSON, rng=rng, split=split)
    return _Salesperson(scenario, words, turns).line()


class _Salesperson:
    def __init__(self, scenario: Scenario, words: Phrasing, turns: Sequence[Turn]) -> None:
        self.scenario, self.words, self.rng = scenario, words, words.rng
        self.first = not words.said
        self.zh = scenario.language == "zh"
        self.heard = [turn.text for turn in turns if turn.speaker is Speaker.CUSTOMER]

    def line(self) -> str:
        """Reaction, substance, and mostly a question that moves the sale on."""
        if not self.heard:
            return join(self.words.say("cold"), self._pitch(), self._ask())
        meaning, label = understand(self.scenario, self.heard[-1])
        if (final := self._final(meaning)) is not None:
            return final
        greeting = self.words.say("greet") if self.first else ""
        if meaning == "topic" and label is not None:
            return join(greeting, self._answer(label), self._ask())
        if meaning == "price":
            extra = self._benefit() if self.rng.random() < 0.4 else ""
            return join(greeting, self.words.say("answer_price"), extra, self._ask())
        if self.first:
            return join(greeting, self._pitch(), self._ask())
        if meaning in ("other", "question"):
            if self.words.just_said("probe"):
                return join(self.words.say("understand"), self._pitch(), self._ask())
            meaning = "unknown" if meaning == "question" else "objection_fit"
        return self._react(meaning)

    def _final(self, meaning: str) -> str | None:
        """Words for a customer who has decided, or nearly."""
        if meaning in ("agree", "refuse", "hangup", "rude"):
            key = {"agree": "close_bought", "rude": "close_rude"}.get(meaning, "close_declined")
            return self.words.say(key)
        if meaning == "conditional":
            return self.words.say("confirm")
        if meaning != "refuse_soft":
            return None
        earlier = (understand(self.scenario, text)[0] for text in self.heard[:-1])
        if "refuse_soft" in earlier:
            return self.words.say("close_declined")
        attempt, more = self.words.say("last_try"), self._benefit()
        if not attempt.endswith(_ASKS_BACK) and not more:  # announces a point, and none is left
            tries = self.words.phrases("last_try")
            attempt = self.words.pick([line for line in tries if line.endswith(_ASKS_BACK)])
        return attempt if attempt.endswith(_ASKS_BACK) else join(attempt, more)

    def _react(self, meaning: str) -> str:
        """To an objection, a doubt or a mere "hm"."""
        if meaning in ("fragment", "interest"):  # wants to hear more
            if more := self._benefit() or self._any_fact():
                return join(self.words.say(f"answer_{meaning}"), more, self._ask())
            meaning = "hesitate"
        key = "unknown" if meaning == "unknown" else "answer_" + meaning.removeprefix("objection_")
        if meaning == "objection_price":
            saving = "savings" in self.words.tags
            key = "answer_rate_objection" if saving else "answer_price_objection"
        reaction = self.words.say(key)
        if reaction.endswith(_ASKS_BACK):
            return reaction
        substance = self._evidence(meaning) or self._benefit()
        return join(reaction, substance, self._ask())

    def _answer(self, label: str) -> str:
        fact = self.scenario.product.facts[label]
        topics = catalog.topics(self.scenario.language).values()
        general = any(topic.label == label for topic in topics)
        name = label if self.zh else label.lower() if general else f"the {label.lower()}"
        return self.words.say("answer", value=fact, label=name)

    def _pitch(self) -> str:
        """Introduces the product, then adds to it."""
        if any(gist(self.scenario.product.name) in text for text in self.words.said):
            return self._benefit()
        points = self._untold(self.scenario.product.selling_points)
        return self.words.say("pitch", point=self.rng.choice(points)) if points else ""

    def _benefit(self) -> str:
        """A selling point that was not told yet."""
        points = self._untold(self.scenario.product.selling_points)
        return self.words.say("benefit", point=self.rng.choice(points)) if points else ""

    def _any_fact(self) -> str:
        facts = self._untold(list(self.scenario.product.facts.values()))
        return self.words.say("evidence", value=self.rng.choice(facts)) if facts else ""

    def _evidence(self, meaning: str) -> str:
        """Mostly, a fact that speaks to the objection."""
        topics = catalog.topics(self.scenario.language)
        facts = self.scenario.product.facts
        labels = [topics[key].label for key in _EVIDENCE.get(meaning, ()) if key in topics]
        untold = self._untold([facts[label] for label in labels if label in facts])
        if not untold or self.rng.random() < 0.4:
            return ""
        return self.words.say("evidence", value=untold[0])

    def _ask(self) -> str:
        """For the need at first, later mostly for the decision."""
        if self.first:
            return self.words.say("probe")
        return self.words.say("trial_close", again=False) if self.rng.random() < 0.5 else ""

    def _untold(self, values: Sequence[str]) -> list[str]:
        return [v for v in values if not any(gist(v) in text for text in self.words.said)]
