"""A saved speaker detector as the live guard of a run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from salesllm.benchmark.guard import DetectorGuard, guard_rates
from salesllm.chat.base import Reply, Sampling
from salesllm.chat.scripted import ScriptedCustomer, ScriptedSalesperson
from salesllm.dialogue import Dialogue, Language, Message, Speaker
from salesllm.errors import InputError
from salesllm.fidelity.inversion import SpeakerDetector
from salesllm.scenario import Scenario
from salesllm.scenarios.sampling import sample_scenarios
from salesllm.simulate import Guard, Simulated, simulate


class Inverted(ScriptedCustomer):
    """Turns salesperson in the drafts of every other seed."""

    async def reply(  # type: ignore[override]
        self, messages: list[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        assert sampling.seed is not None
        if sampling.seed % 2:
            return Reply("Our offer comes with free delivery. Shall I reserve one for you today?")
        return await super().reply(messages, sampling, scenario)


def played(language: Language, n: int, guard: Guard | None = None) -> list[Simulated]:
    split = "train" if guard is None else "test"
    customer = ScriptedCustomer("train") if guard is None else Inverted("test")

    async def play() -> list[Simulated]:
        made = sample_scenarios(language, n, split=split)  # type: ignore[arg-type]
        salesperson = ScriptedSalesperson(split)  # type: ignore[arg-type]
        return [await simulate(s, salesperson, customer, guard=guard) for s in made]

    return asyncio.run(play())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("guard") / "detector.npz"
    dialogues = [
        Dialogue(id=f"{i}", language="en", source="test", product_line="x", turns=d.turns)
        for i, d in enumerate(played("en", 150))
    ]
    SpeakerDetector.fit(dialogues).save(path)
    return path


def test_it_flags_salespeoples_turns_and_lowers_the_rate(saved: Path) -> None:
    guard = DetectorGuard.load(saved, ["en"], redraws=3)
    done = played("en", 40, guard)
    counts = [d.guard.as_dict() for d in done if d.guard]
    rates = guard_rates(counts)
    turns = sum(row["turns"] for row in counts)
    assert rates["before"].n == rates["after"].n == turns
    assert rates["before"].value == pytest.approx(sum(r["flagged"] for r in counts) / turns)
    said = [
        guard.flags((), turn.text, "en")
        for dialogue in done
        for turn in dialogue.turns[1:]
        if turn.speaker is Speaker.CUSTOMER
    ]
    assert rates["after"].value == pytest.approx(sum(said) / len(said))
    assert rates["after"].value < rates["before"].value / 2
    strict = DetectorGuard.load(saved, ["en"], threshold=0.999999)
    assert not strict.flags((), "Shall I reserve one for you today?", "en")


def test_a_detector_without_the_language(saved: Path) -> None:
    with pytest.raises(InputError, match="fitted to no dialogue in 'zh'"):
        DetectorGuard.load(saved, ["en", "zh"])


def test_rates_of_no_turns() -> None:
    assert guard_rates([])["before"].n == 0
