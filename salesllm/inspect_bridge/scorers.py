"""Buying, selling and final score as scorers of Inspect's.

What a judge that answers cannot settle is unscored (NaN, which Inspect counts and leaves out of
every metric); a judge that cannot be reached is an error of the sample. Neither is a zero.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import cache
from typing import Any, cast

import anyio
import anyio.to_thread
from inspect_ai.scorer import (
    Metric,
    MetricProtocol,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from salesllm.benchmark.recipe import SamplingRecipe
from salesllm.chat.providers import ChatSpec
from salesllm.dialogue import Dialogue, Language, Message, Speaker
from salesllm.files import require_model
from salesllm.inspect_bridge.chat import InspectChat, Part
from salesllm.scenario import PartialProduct
from salesllm.scoring import rules
from salesllm.scoring.final import ALPHA, final_score
from salesllm.scoring.intent import IntentScore, IntentScorer
from salesllm.scoring.judge import SellingJudge
from salesllm.scoring.panel import combine
from salesllm.simulate import Termination, derived_seed

GRADER = "grader"
"""The role of the judge, by Inspect's convention."""


class BrokenDown(Exception):
    """A speaker or the judge could not answer. An infrastructure failure, and never a score."""


@metric
def stderr_by_product() -> Metric:
    """Standard error of the mean: scenarios about the same product resemble each other.

    Of fewer than two products there is none; Inspect's own would be 0.
    """
    clustered = cast(MetricProtocol, stderr(cluster="product_id"))

    def error(scores: list[SampleScore]) -> Value:
        products = {(score.sample_metadata or {})["product_id"] for score in scores}
        return clustered(scores) if len(products) > 1 else math.nan

    return error


@metric
def by_language() -> Metric:
    """Mean and standard error of each language that has any score."""
    average, error = cast(MetricProtocol, mean()), cast(MetricProtocol, stderr_by_product())

    def figures(scores: list[SampleScore]) -> Value:
        languages: dict[str, list[SampleScore]] = {}
        for score in scores:
            languages.setdefault((score.sample_metadata or {})["language"], []).append(score)
        return {
            f"{name}_{language}": cast(float, measure(mine))
            for language, mine in sorted(languages.items())
            for name, measure in (("mean", average), ("stderr", error))
        }

    return figures


_METRICS = [mean(), stderr_by_product(), by_language()]


def _of_dialogue(score: Callable[[TaskState, Dialogue], Awaitable[Score]]) -> Scorer:
    """A scorer of dialogues that came to an end; any other is unscored."""

    async def scored(state: TaskState, target: Target) -> Score:
        termination = state.metadata.get("termination")
        if termination is None or Termination(termination).failed:
            refused = termination == Termination.REFUSED
            reason = "refusal" if refused else "scoring_failed"
            why = f"the dialogue came to no end that can be scored ({termination or 'cut off'})"
            return Score.unscored(reason=reason, explanation=why)
        return await score(state, _dialogue(state))

    return scored


def _dialogue(state: TaskState) -> Dialogue:
    """The transcript in the sample's messages, which are the salesperson's view of it."""
    scenario = state.metadata["scenario"]
    return Dialogue.from_messages(
        [Message(role=message.role, content=message.text) for message in state.messages],
        Speaker.SALESPERSON,
        id=f"{state.sample_id}::{state.epoch}",
        language=scenario["language"],
        source="inspect",
        product_line=scenario["product"]["category"],
        scenario_id=scenario["id"],
    )


@scorer(metrics=_METRICS)
def buying(intent: dict[Language, str]) -> Scorer:
    """The customer's intent at the end, by the encoder of the dialogue's language.

    Args:
        intent: Checkpoint of the intent scorer of each language.

    Raises:
        InputError: One cannot be loaded.
    """
    readers = {language: _Reader(_load(path, language)) for language, path in intent.items()}

    async def score(state: TaskState, dialogue: Dialogue) -> Score:
        if dialogue.language not in readers:
            why = f"the recipe names no intent scorer for {dialogue.language}"
            return Score.unscored(reason="scoring_failed", explanation=why)
        found = await readers[dialogue.language].score(dialogue)
        return Score(value=found.buying, answer=found.label, metadata=asdict(found))

    return _of_dialogue(score)


@scorer(metrics=_METRICS)
def selling(
    judges: list[dict[str, Any]] | None = None,
    sampling: dict[str, Any] | None = None,
    attempts: int = 3,
    samples: int = 1,
    weighted: bool = False,
    seed: int = 0,
    prompts_dir: str | None = None,
) -> Scorer:
    """The salesperson's work: the mean of the models of the role `grader`, else of the judges.

    Args:
        judges: Each a `ChatSpec`; none, and no role, for the rule-based stand-in.
        sampling: A `SamplingRecipe`.
        attempts: As `samples` and `weighted`, of a `SellingJudge`.

    Raises:
        InputError: A judge cannot be opened, and the role is not given.
    """
    part = Part(GRADER, [ChatSpec.model_validate(judge) for judge in judges or ()])
    settings = SamplingRecipe.model_validate(sampling or {}).settings()

    async def score(state: TaskState, dialogue: Dialogue) -> Score:
        product = PartialProduct.model_validate(state.metadata["scenario"]["product"])
        drawn = derived_seed(seed, "judge", dialogue.id)
        chats = part.chats()
        raters = [
            SellingJudge(
                chat,
                sampling=settings,
                attempts=attempts,
                samples=samples,
                weighted=weighted,
                prompts_dir=prompts_dir,
            )
            for chat in chats
        ]
        rated = await asyncio.gather(*(rater.rate(dialogue, product, drawn) for rater in raters))
        by_judge = dict(zip((rater.name for rater in raters), rated, strict=True))
        if not by_judge:
            by_judge = {rules.NAME: rules.rate(dialogue.turns, dialogue.language)}
        rating = combine(by_judge)
        if rating.failed:
            raise broken_down(rating.reason, *chats)
        about = {
            "judges": {name: each.score for name, each in by_judge.items()},
            "evidence": [asdict(evidence) for evidence in rating.evidence],
            "usage": asdict(rating.usage),
        }
        if rating.score is None:
            return Score.unscored(reason="grader_failed", explanation=rating.reason, metadata=about)
        return Score(value=rating.score, explanation=rating.reason, metadata=about)

    return _of_dialogue(score)


@scorer(metrics=_METRICS)
def final(alpha: float = ALPHA) -> Scorer:
    """alpha * buying + (1 - alpha) * selling, of the two scorers that ran before it."""

    async def score(state: TaskState, dialogue: Dialogue) -> Score:
        parts = {name: _value(state, name) for name in ("buying", "selling")}
        value = final_score(parts["buying"], parts["selling"], alpha)
        if value is None:
            missing = ", ".join(name for name, part in parts.items() if part is None)
            return Score.unscored(reason="scoring_failed", explanation=f"unscored: {missing}")
        return Score(value=value, metadata={"alpha": alpha, **parts})

    return _of_dialogue(score)


def _value(state: TaskState, name: str) -> float | None:
    found = (state.scores or {}).get(name)
    return None if found is None or math.isnan(found.as_float()) else found.as_float()


def broken_down(problem: str, *chats: object) -> Exception:
    """What to raise: what Inspect itself raised, which may be a limit, else `BrokenDown`."""
    failures = (chat.failure for chat in chats if isinstance(chat, InspectChat))
    return next((failure for failure in failures if failure), BrokenDown(problem))


class _Reader:
    """An intent scorer for many samples at once: whoever has the lock scores all that wait."""

    def __init__(self, scorer: IntentScorer) -> None:
        self._scorer, self._lock = scorer, anyio.Lock()
        self._waiting: dict[object, Dialogue] = {}
        self._scores: dict[object, IntentScore] = {}

    async def score(self, dialogue: Dialogue) -> IntentScore:
        ticket = object()
        self._waiting[ticket] = dialogue
        async with self._lock:
            if ticket in self._waiting:
                batch = dict(self._waiting)
                scores = await anyio.to_thread.run_sync(self._scorer.score, list(batch.values()))
                self._scores |= zip(batch, scores, strict=True)
                for scored in batch:
                    del self._waiting[scored]
        return self._scores.pop(ticket)


@cache
def _load(path: str, language: Language) -> IntentScorer:
    require_model(path, f"intent.{language}")
    return IntentScorer.load(path, language)
