"""Preference pairs from a customer's own replies, for DPO (the paper's 3.2).

At points of its dialogues the customer answers several times over. A speaker detector says which
answers sound like the salesperson; the worst is `rejected`. `chosen` is what was really said there
when people talked. In a rollout it is the customer's own likeliest answer among those that sound
less like the salesperson by a margin: the detector alone would choose odd ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from salesllm.chat.base import Reply, Sampling
from salesllm.chat.providers import ChatSpec
from salesllm.dialogue import Dialogue, Language, Message, strip_end
from salesllm.errors import FieldError
from salesllm.recipe import Recipe
from salesllm.scenario import Scenario, find_scenario
from salesllm.training.rows import Preference, View, preference_messages

if TYPE_CHECKING:
    from salesllm.chat.local import LocalChat
    from salesllm.fidelity.inversion import SpeakerDetector


class PairRecipe(Recipe):
    """`recipes/preferences/*.yaml` of `method: mine`.

    Attributes:
        dialogues: Where pairs come from: dialogues of people, or rollouts of the customer.
        chosen: `recorded` takes the turn in the file, for dialogues of people; `best` one of the
            customer's own answers, for rollouts.
        detector_train: Dialogues to fit the mining detector to. Keep them apart from those that
            fit the detector of the ablation: a model measured by its own teacher shows only what
            it was taught.
        customer: The SFT checkpoint.
        candidates: Answers drawn at one point.
        margin: By how much P(salesperson) of rejected must exceed that of chosen.
        max_points: At most so many points are tried, drawn at random.
        max_pairs: At most so many pairs, those with the widest margins.
    """

    method: Literal["mine"] = "mine"
    dialogues: Path
    scenarios: Path | None = None
    chosen: Literal["recorded", "best"]
    detector_train: Path
    customer: ChatSpec
    output: Path
    candidates: int = Field(default=8, ge=1)
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int = Field(default=256, ge=1)
    margin: float = Field(default=0.3, ge=0, le=1)
    max_points: int | None = Field(default=None, ge=1)
    max_pairs: int | None = Field(default=None, ge=1)
    seed: int = 0

    @model_validator(mode="after")
    def _can_pair(self) -> PairRecipe:
        if self.customer.provider != "local":
            problem = "pairs come from a local checkpoint, the one DPO starts at"
            fix = "Write provider: local and the checkpoint's folder as model"
            raise FieldError(problem, field="customer.provider", fix=fix)
        if self.chosen == "best" and self.candidates < 2:
            problem = "a best and a worst answer need at least 2 candidates"
            raise FieldError(problem, field="candidates", fix="Write at least 2")
        return self


@dataclass(frozen=True)
class Point:
    """A place in a dialogue where the customer speaks.

    Attributes:
        prompt: The customer's view up to the salesperson's last message.
        recorded: What the file says there, the end-of-dialogue marker included.
        earlier: The customer's turns before it.
    """

    dialogue_id: str
    language: Language
    turn: int
    prompt: list[Message]
    recorded: str
    earlier: tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """One preference pair with P(salesperson) of both sides."""

    point: Point
    preference: Preference
    p_chosen: float
    p_rejected: float

    @property
    def margin(self) -> float:
        return self.p_rejected - self.p_chosen

    def as_dict(self) -> dict[str, Any]:
        """A row of the file that `train/dpo.py` reads."""
        return preference_messages(
            self.preference,
            dialogue_id=self.point.dialogue_id,
            language=self.point.language,
            turn=self.point.turn,
            p_salesperson={"chosen": self.p_chosen, "rejected": self.p_rejected},
        )


def find_points(
    dialogues: Iterable[Dialogue], scenarios: Mapping[str, Scenario] | None, view: View
) -> Iterator[Point]:
    """Every customer turn that answers a salesperson."""
    for dialogue in dialogues:
        messages = view.messages(dialogue, find_scenario(dialogue, scenarios))
        earlier: list[str] = []
        for index, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            if messages[index - 1]["role"] == "user":
                yield Point(
                    dialogue.id,
                    dialogue.language,
                    index - 1,
                    messages[:index],
                    message["content"],
                    tuple(earlier),
                )
            earlier.append(strip_end(message["content"])[0])


def mine(
    points: Sequence[Point],
    customer: LocalChat,
    detector: SpeakerDetector,
    recipe: PairRecipe,
    advance: Callable[[int], object] = lambda points: None,
) -> tuple[list[Pair], Counter[str]]:
    """Draws `recipe.candidates` answers at every point and keeps the contrasts.

    Returns:
        Pairs by descending margin, and how many points gave none, by reason.
    """
    pairs: list[Pair] = []
    dropped: Counter[str] = Counter()
    batch = max(1, customer.max_batch)
    for start in range(0, len(points), batch):
        chunk = points[start : start + batch]
        draws = [
            customer.generate(
                [point.prompt for point in chunk],
                Sampling(recipe.temperature, recipe.top_p, recipe.max_tokens, recipe.seed + draw),
            )
            for draw in range(recipe.candidates)
        ]
        for point, replies in zip(chunk, zip(*draws, strict=True), strict=True):
            found = _contrast(point, replies, customer, detector, recipe)
            if isinstance(found, Pair):
                pairs.append(found)
            else:
                dropped[found] += 1
        advance(len(chunk))
    pairs.sort(key=lambda pair: -pair.margin)
    return pairs[: recipe.max_pairs], dropped


def _contrast(
    point: Point,
    replies: Sequence[Reply],
    customer: LocalChat,
    detector: SpeakerDetector,
    recipe: PairRecipe,
) -> Pair | str:
    """The pair at one point, or why there is none."""
    drawn = sorted({r.text.strip() for r in replies if r.finish_reason == "stop"})
    # The marker alone says nothing: neither side of a pair should be empty.
    drawn = [text for text in drawn if strip_end(text)[0].strip()]
    if not drawn:
        return "no whole answer"
    if recipe.chosen == "recorded":
        candidates = [point.recorded]
    else:
        candidates = [text for text in drawn if strip_end(text)[0] not in point.earlier]
    if not candidates:
        return "only repetitions"
    texts = [*drawn, *candidates]
    judged = detector.predict_proba([strip_end(text)[0] for text in texts], point.language)
    p = dict(zip(texts, judged.tolist(), strict=True))
    rejected = max(drawn, key=p.__getitem__)
    better = [
        text
        for text in candidates
        if p[rejected] - p[text] >= recipe.margin and bare(text) != bare(rejected)
    ]
    if not better:
        return "no contrast"
    likely = customer.log_likelihood([point.prompt] * len(better), better)
    chosen = max(zip(likely, better, strict=True))[1]
    return Pair(point, Preference(point.prompt, chosen, rejected), p[chosen], p[rejected])


def sample_points(points: Sequence[Point], count: int | None, seed: int) -> list[Point]:
    """At most `count` points at random, in their order."""
    if count is None or len(points) <= count:
        return list(points)
    kept = np.random.default_rng(seed).choice(len(points), count, replace=False)
    return [points[i] for i in sorted(kept.tolist())]


def bare(text: str) -> str:
    """A reply without its marker, case and spacing: two that agree in it are no contrast."""
    return " ".join(strip_end(text)[0].split()).casefold()
