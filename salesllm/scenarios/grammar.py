"""Sample dialogues: a customer who has a plan, and a salesperson who answers what was said.

A plan is drawn before anyone speaks: what the customer is going to bring up, and how it ends. The
scenario's propensity is the probability that it ends in a purchase; difficulty shapes the way
there. The salesperson (`salesllm.scenarios.salesperson`) never sees the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from salesllm import catalog
from salesllm.catalog import Manner, Split
from salesllm.dialogue import Dialogue, Outcome, Speaker, Turn
from salesllm.scenario import DecisionFactor, Difficulty, Scenario
from salesllm.scenarios.phrasing import Phrasing, blemish, capitalise, join
from salesllm.scenarios.salesperson import salesperson_line, understand

K = TypeVar("K")

MOST_CUSTOMER_TURNS = 6


@dataclass(frozen=True)
class Plan:
    """What the customer does, message by message.

    Attributes:
        acts: `opener`, `ask` (a question about a fact), or the name of a phrase list.
    """

    acts: tuple[str, ...]
    outcome: Outcome


@dataclass(frozen=True)
class _Habits:
    """How customers of one difficulty behave.

    Attributes:
        length: Fewest and most acts between the opener and the end.
        acts: Act to its weight in between.
        yes: How a purchase ends: acts to weight.
        no: How a refusal ends.
    """

    length: tuple[int, int]
    acts: Mapping[str, float]
    yes: Mapping[tuple[str, ...], float]
    no: Mapping[tuple[str, ...], float]


def _weigh(keys: Sequence[K], *weights: float) -> dict[K, float]:
    return dict(zip(keys, weights, strict=True))


_ACTS = ("ask", "ask_price", "interest", "fragment", "hesitate", "haggle", "compare",
         "objection_price", "objection_trust", "objection_fit", "objection_timing",
         "objection_confidant")  # fmt: skip
_YES = (("accept",), ("accept_grumble",), ("conditional", "accept"),
        ("refuse_soft", "come_round"))  # fmt: skip
_NO = (("refuse_soft",), ("refuse_polite",), ("refuse_rude",), ("hangup",),
       ("refuse_soft", "refuse_polite"), ("refuse_soft", "refuse_soft"),
       ("refuse_soft", "refuse_rude"), ("conditional", "refuse_polite"),
       ("conditional", "refuse_soft"), ("interest", "refuse_polite"),
       ("accept", "withdraw"))  # fmt: skip

_HABITS: dict[Difficulty, _Habits] = {
    Difficulty.EASY: _Habits(
        (1, 2),
        _weigh(_ACTS, 6, 4, 4, 1, 1, 1, 0.3, 0.6, 0.4, 1, 0.3, 0.3),
        _weigh(_YES, 10, 1, 2, 1.5),
        _weigh(_NO, 4, 4, 0.5, 1, 1, 1, 0.3, 1, 1, 2, 1),
    ),
    Difficulty.MEDIUM: _Habits(
        (1, 3),
        _weigh(_ACTS, 5, 4, 2, 1, 2, 2, 1, 2, 1.5, 2, 1, 1),
        _weigh(_YES, 6, 2, 3, 2),
        _weigh(_NO, 4, 4, 1, 1, 2, 1, 0.5, 1.5, 1, 1.5, 0.7),
    ),
    Difficulty.HARD: _Habits(
        (2, 4),
        _weigh(_ACTS, 3, 3, 0.7, 1, 2, 3, 2, 4, 3, 3, 1.5, 1.5),
        _weigh(_YES, 4, 4, 3, 3),
        _weigh(_NO, 4, 4, 2, 1, 3, 1.5, 1, 1, 0.7, 0.7, 0.3),
    ),
    Difficulty.VERY_HARD: _Habits(
        (1, 4),
        _weigh(_ACTS, 3, 2, 0.4, 1, 2, 1.5, 3, 2.5, 5, 3, 4, 4),
        _weigh(_YES, 3, 4, 4, 3),
        _weigh(_NO, 5, 3, 1.5, 1.5, 3, 3, 1, 1, 1, 0.4, 0.2),
    ),
    Difficulty.ADVERSARIAL: _Habits(
        (1, 3),
        _weigh(_ACTS, 2, 2, 0.2, 1.5, 0.7, 2.5, 4, 5, 6, 3, 1, 1),
        _weigh(_YES, 2, 6, 2, 1.5),
        _weigh(_NO, 1.5, 1.5, 8, 4, 0.7, 0.4, 2, 0.4, 0.3, 0.3, 0.1),
    ),
}

_CONCERNS: dict[DecisionFactor, tuple[str, ...]] = {
    DecisionFactor.RETURNS_AND_TOTAL_COST: ("rate", "returns_past", "fees", "excess"),
    DecisionFactor.SAFETY_AND_PROTECTION: ("safety", "risk", "cover"),
    DecisionFactor.BRAND_TRUST: ("reviews", "safety", "claims"),
    DecisionFactor.CORE_QUALITY: ("warranty", "reviews"),
    DecisionFactor.TRANSPARENCY_AND_TERMS: ("fees", "term", "waiting", "cover", "cancelling"),
    DecisionFactor.SUPPORT_AND_AFTERSALES: ("warranty", "returns", "claims"),
    DecisionFactor.CONVENIENCE_AND_DIGITAL: ("setup", "opening", "access"),
    DecisionFactor.AVAILABILITY_AND_DELIVERY: ("delivery",),
    DecisionFactor.SOCIAL_PROOF: ("reviews",),
    DecisionFactor.FIT_AND_FLEXIBILITY: ("returns", "access", "cancelling", "term"),
}
"""Which questions a decision factor leads to."""

_GLAD = ("opener", "need", "interest", "accept", "conditional", "come_round")


def draw_plan(scenario: Scenario, rng: Random) -> Plan:
    """Draws how the customer behaves; it buys with the scenario's propensity."""
    habits = _HABITS[scenario.difficulty]
    bought = rng.random() < scenario.propensity
    endings = habits.yes if bought else habits.no
    ending = rng.choices(list(endings), list(endings.values()))[0]
    acts = ["opener"]
    if rng.random() < 0.85:  # the salesperson always asks for it
        acts.append("need" if rng.random() < 0.9 else "need_vague")
    room = MOST_CUSTOMER_TURNS - len(acts) - len(ending)
    acts += _middle(habits, min(rng.randint(*habits.length), room), ending, rng)
    return Plan((*acts, *ending), "bought" if bought else "declined")


def _middle(habits: _Habits, length: int, ending: Sequence[str], rng: Random) -> list[str]:
    """Acts between the opener and the end, in an order in which people bring them up."""
    weights = dict(habits.acts) | {"interest": 0.0}  # not before anything was answered
    acts: list[str] = []
    while len(acts) < length:
        act = rng.choices(list(weights), list(weights.values()))[0]
        if act in ("objection_price", "haggle") and "ask_price" not in acts:
            act = "ask_price"  # nobody finds a price too high that was never told
        if act == "interest" and acts[-1] == "hesitate":
            act = "objection_fit"  # asked what the doubt is
        acts.append(act)
        if len(acts) == 1:
            weights["interest"] = habits.acts["interest"]
        if act != "ask" or acts.count("ask") > 1:
            weights[act] = 0.0
    if ending[0].startswith("accept"):
        if acts[-1] == "hesitate":  # asked for the doubt, "I'll take it" is no answer
            acts[-1] = "ask"
        if "ask_price" not in acts and rng.random() < 0.8:
            acts[0] = "ask_price"  # few buy without knowing the price
    return acts


def customer_line(
    scenario: Scenario, plan: Plan, turns: Sequence[Turn], *, rng: Random, split: Split
) -> tuple[str, bool]:
    """The customer's next message, and whether it is the last one of the plan."""
    spoken = sum(turn.speaker is Speaker.CUSTOMER for turn in turns)
    # Called first, the customer has no opener to say.
    step = spoken + (bool(turns) and turns[0].speaker is Speaker.SALESPERSON)
    act = plan.acts[min(step, len(plan.acts) - 1)]
    last = step >= len(plan.acts) - 1
    if act == "opener":
        return scenario.attributes.initial_utterance, last
    words = Phrasing.of(scenario, turns, Speaker.CUSTOMER, rng=rng, split=split)
    if act == "ask_price" and "price" in words.slots:
        act = "ask"  # it was told already
    text = _question(scenario, words, turns) if act == "ask" else words.say(act)
    if not text:
        text = words.say("hesitate")
    if act.startswith(("ask", "objection", "compare", "haggle")) and rng.random() < 0.2:
        text = join(words.say("ack"), text)
    glad = act.startswith(_GLAD)
    manner = manner_of(scenario)
    text = blemish(text, manner, language=scenario.language, glad=glad, split=split, rng=rng)
    return text, last


def manner_of(scenario: Scenario) -> Manner:
    """How this customer writes, which its communication preferences say."""
    manners = catalog.manners(scenario.language)
    wanted = scenario.attributes.communication_preferences
    return next((m for m in manners if m.text in wanted), manners[1])


def _question(scenario: Scenario, words: Phrasing, turns: Sequence[Turn]) -> str:
    """Asks for a fact that was not told yet, mostly one that its decision factors care for."""
    language, rng = scenario.language, words.rng
    told = "\n".join(turn.text for turn in turns).lower()
    known = catalog.goods(language).get(scenario.product.id)
    by_label = {topic.label: key for key, topic in catalog.topics(language).items()}
    open_labels = [
        label for label, fact in scenario.product.facts.items() if fact.lower() not in told
    ]
    if not open_labels:
        return ""
    cared = {key for f in scenario.attributes.decision_factors for key in _CONCERNS[f]}
    weights = [3.0 if by_label.get(label) in cared else 1.0 for label in open_labels]
    label = rng.choices(open_labels, weights)[0]
    if label in by_label:
        topic = catalog.topics(language)[by_label[label]]
        if rng.random() < 0.15:
            return words.say("fragment_topic", topic=topic.short)
        return words.pick(catalog.questions(language, by_label[label], words.split))
    if known and label in known.specs:
        question = known.specs[label][1]
        return capitalise(question) if language == "en" else question
    return words.say("fragment_topic", topic=label)


def sample_dialogue(
    scenario: Scenario, *, seed: int, split: Split, key: str | None = None
) -> Dialogue:
    """Plays one scenario through.

    Args:
        seed: With the scenario, it determines the dialogue.
        split: Which phrasings to draw from; the scenario's own.
        key: The dialogue's id; the scenario's and the seed by default.
    """
    rng = Random(f"dialogue {scenario.id} {seed}")
    plan = draw_plan(scenario, rng)
    turns: list[Turn] = []
    if rng.random() < 0.12:
        text = salesperson_line(scenario, turns, rng=rng, split=split)
        turns.append(Turn(speaker=Speaker.SALESPERSON, text=text))
    while True:
        text, last = customer_line(scenario, plan, turns, rng=rng, split=split)
        turns.append(Turn(speaker=Speaker.CUSTOMER, text=text))
        # After a soft refusal the salesperson would try again, and the customer has gone.
        closing = rng.random() < 0.25 and understand(scenario, text)[0] != "refuse_soft"
        if last and not (closing or len(turns) < 4):
            break
        reply = salesperson_line(scenario, turns, rng=rng, split=split)
        turns.append(Turn(speaker=Speaker.SALESPERSON, text=reply))
        if last:
            break
    return Dialogue(
        id=key or f"{scenario.id}-{seed}",
        language=scenario.language,
        source="sample",
        product_line=scenario.product.category,
        turns=tuple(turns),
        scenario_id=scenario.id,
        outcome=plan.outcome,
    )


def sample_dialogues(
    scenarios: Iterable[Scenario], *, seed: int, split: Split, per_scenario: int = 1
) -> list[Dialogue]:
    """`per_scenario` dialogues of each scenario, with ids `<scenario>-<seed>-<number>`."""
    return [
        sample_dialogue(
            scenario,
            seed=seed * per_scenario + number,
            split=split,
            key=f"{scenario.id}-{seed}-{number}",
        )
        for scenario in scenarios
        for number in range(per_scenario)
    ]
