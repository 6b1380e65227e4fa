"""Preference pairs: which answers become chosen and rejected, and which points give none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from salesllm.chat.base import Reply, Sampling
from salesllm.dialogue import Dialogue, Message
from salesllm.fidelity.inversion import SpeakerDetector
from salesllm.files import write_jsonl
from salesllm.training.pairs import PairRecipe, find_points, mine, sample_points
from salesllm.training.rows import View, read_preferences

PITCH = "Our kettle boils in a minute, may I offer you one today?"
DOUBT = "hm too pricey"


def dialogue(name: str, *texts: str) -> Dialogue:
    speakers = ("customer", "salesperson")
    turns = [{"speaker": speakers[i % 2], "text": text} for i, text in enumerate(texts)]
    return Dialogue.model_validate(
        {"id": name, "language": "en", "source": "test", "product_line": "kettles", "turns": turns}
    )


@pytest.fixture(scope="module")
def detector() -> SpeakerDetector:
    said = {
        "hm dunno": "Our toaster is a bestseller, may I show you?",
        "too pricey": "May I offer you our lamp today?",
        "how much is it": "Our kettle boils in a minute.",
        "ok deal then": "I can offer you our best toaster today.",
    }
    return SpeakerDetector.fit([dialogue(doubt, doubt, pitch) for doubt, pitch in said.items()])


@dataclass
class Customer:
    """Answers from a list, one a draw."""

    answers: Sequence[Reply]
    max_batch: int = 4
    seen: list[list[Message]] = field(default_factory=list)

    def generate(self, batch: Sequence[Sequence[Message]], sampling: Sampling) -> list[Reply]:
        assert sampling.seed is not None
        self.seen += [list(messages) for messages in batch]
        return [self.answers[sampling.seed]] * len(batch)

    def log_likelihood(
        self, conversations: Sequence[Sequence[Message]], replies: Sequence[str]
    ) -> list[float]:
        assert len(conversations) == len(replies)
        return [-float(len(text)) for text in replies]


def recipe(**values: Any) -> PairRecipe:
    fields: dict[str, Any] = {
        "dialogues": "d.jsonl", "chosen": "best", "detector_train": "t.jsonl",
        "customer": {"provider": "local", "model": "m"}, "output": "o.jsonl", "candidates": 2,
        "margin": 0.1,
    }  # fmt: skip
    return PairRecipe.model_validate(fields | values)


def replies(*texts: str, reason: str = "stop") -> list[Reply]:
    return [Reply(text, finish_reason=reason) for text in texts]


TALK = dialogue("talk", "hi", "Hello! Our kettle is great.", "how much", "It is $39.", "ok deal")


def test_points_are_the_answers_to_a_salesperson_with_the_marker_on_the_last() -> None:
    points = list(find_points([TALK], None, View()))
    assert [point.recorded for point in points] == ["how much", "ok deal [END]"]
    assert [point.turn for point in points] == [2, 4]
    assert points[1].earlier == ("hi", "how much")
    assert points[0].prompt[-1] == {"role": "user", "content": "Hello! Our kettle is great."}


def test_best_against_worst_of_the_customers_own_answers(detector: SpeakerDetector) -> None:
    points = list(find_points([TALK], None, View()))
    customer = Customer(replies(PITCH, DOUBT))
    pairs, dropped = mine(points, customer, detector, recipe(), lambda n: None)  # type: ignore[arg-type]
    assert {(p.preference.chosen, p.preference.rejected) for p in pairs} == {(DOUBT, PITCH)}
    assert len(pairs) == 2
    assert not dropped
    assert all(pair.p_chosen < 0.5 < pair.p_rejected for pair in pairs)


def test_of_several_good_answers_the_likeliest_is_chosen(detector: SpeakerDetector) -> None:
    points = list(find_points([TALK], None, View()))[:1]
    customer = Customer(replies("too pricey for me hm", PITCH, DOUBT))
    pairs, _ = mine(points, customer, detector, recipe(candidates=3))  # type: ignore[arg-type]
    assert [p.preference.chosen for p in pairs] == [DOUBT]  # the shorter one


def test_what_people_said_against_the_customers_worst(detector: SpeakerDetector) -> None:
    points = list(find_points([TALK], None, View()))
    pairs, _ = mine(points, Customer(replies(PITCH, PITCH)), detector, recipe(chosen="recorded"))  # type: ignore[arg-type]
    assert {p.preference.chosen for p in pairs} == {"how much", "ok deal [END]"}


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (replies(DOUBT, DOUBT), "no contrast"),
        (replies(DOUBT, DOUBT + " [END]"), "no contrast"),
        (replies(PITCH, DOUBT, reason="length"), "no whole answer"),
        (replies(" ", "[END]"), "no whole answer"),
        (replies("hi", "hi"), "only repetitions"),
    ],
)
def test_points_without_a_pair_are_counted_by_reason(
    answers: list[Reply], reason: str, detector: SpeakerDetector
) -> None:
    points = list(find_points([TALK], None, View()))[:1]
    pairs, dropped = mine(points, Customer(answers), detector, recipe())  # type: ignore[arg-type]
    assert not pairs
    assert dropped == {reason: 1}


def test_widest_margins_are_kept_and_the_rows_are_what_dpo_reads(
    detector: SpeakerDetector, tmp_path: Path
) -> None:
    points = list(find_points([TALK], None, View()))
    wanted = recipe(chosen="recorded", max_pairs=1)
    pairs, _ = mine(points, Customer(replies(PITCH, PITCH)), detector, wanted)  # type: ignore[arg-type]
    everything, _ = mine(
        points, Customer(replies(PITCH, PITCH)), detector, recipe(chosen="recorded")  # type: ignore[arg-type]
    )  # fmt: skip
    assert [p.margin for p in pairs] == [max(p.margin for p in everything)]
    write_jsonl(tmp_path / "p.jsonl", (pair.as_dict() for pair in pairs))
    assert read_preferences(tmp_path / "p.jsonl") == [pairs[0].preference]


def test_points_are_drawn_in_their_order_and_the_same_each_time() -> None:
    points = [p for i in range(9) for p in find_points([dialogue(f"t{i}", "hi", "Yes?", "no")],
                                                       None, View())]  # fmt: skip
    some = sample_points(points, 4, seed=1)
    assert some == sample_points(points, 4, seed=1)
    assert [points.index(p) for p in some] == sorted(points.index(p) for p in some)
    assert sample_points(points, None, seed=1) == points
