"""What a run costs: reckoned beforehand, measured, kept within a limit."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback
from rich.console import Console
from runs import actor, run, script, values_of

from salesllm.benchmark.budget import Prices, estimate, tokens
from salesllm.benchmark.cell import JOURNAL, cells_of
from salesllm.benchmark.inputs import inputs_of
from salesllm.benchmark.purse import Kind, Purse
from salesllm.benchmark.recipe import BenchmarkRecipe, first_of_each_language, scenarios_of
from salesllm.benchmark.run import run_benchmark
from salesllm.chat.base import Usage
from salesllm.errors import InputError
from salesllm.files import read_json
from salesllm.journal import Journal


@pytest.fixture
def values(tmp_path: Path, actors: Loopback) -> dict[str, Any]:
    """Every call costs 11 tokens in and 5 out, at 1 and 2 USD a thousand: 0.021 USD."""
    values = values_of(tmp_path, actors.url)
    for spec in (*values["salespeople"], *values["customers"], values["judge"]):
        spec["price"] = {"input": 1000.0, "output": 2000.0}
    return values


CALL = (11 * 1000 + 5 * 2000) / 1e6


def test_prices() -> None:
    endpoint = {"provider": "endpoint", "model": "m", "base_url": "http://localhost:1/v1"}
    recipe = BenchmarkRecipe.model_validate(
        {
            "name": "n",
            "output_dir": "out",
            "sample": {"n": 1},
            "salespeople": [
                endpoint | {"name": "A", "price": {"input": 2, "output": 10}},
                endpoint | {"name": "B"},
            ],
            "customers": [{"provider": "scripted", "model": "customer", "name": "C"}],
        }
    )
    prices = Prices(recipe)
    usage = Usage(prompt_tokens=500_000, completion_tokens=100_000)
    assert prices.cost(("salespeople", "A"), usage) == pytest.approx(1.0 + 1.0)
    assert prices.cost(("salespeople", "B"), usage) is None
    assert prices.cost(("customers", "C"), usage) == 0
    assert prices.unknown() == ["B"]


CHEAP, DEAR = ("A", "C", False), ("B", "C", False)


async def begins(purse: Purse, most: int, kind: Kind = CHEAP) -> int:
    """How many dialogues begin without one of them ending."""
    for number in range(most):
        try:
            if not await asyncio.wait_for(purse.begin(kind), 0.01):
                return number
        except TimeoutError:
            return number
    return most


def test_a_purse_reckons_with_what_is_under_way() -> None:
    async def scenario() -> None:
        purse = Purse(1.85, {CHEAP: 0.3, DEAR: 0.9})
        assert await begins(purse, 9) == 6
        for _ in range(6):  # they turn out to cost a third of what was assumed
            purse.end(CHEAP, 0.1)
        assert await begins(purse, 9) == 4  # six of them may have been the short ones
        for _ in range(4):
            purse.end(CHEAP, 0.1)
        assert await begins(purse, 1) == 1
        assert await begins(purse, 1, DEAR) == 0  # the cheap ones say nothing of it
        assert await begins(purse, 9) == 7
        for _ in range(8):
            purse.end(CHEAP, 0.1)
        assert not purse.empty
        assert not await purse.begin(CHEAP)
        assert purse.empty
        free = Purse(None, {})
        assert await begins(free, 100) == 100
        unknown = Purse(1.0, {CHEAP: 9.0})
        assert await begins(unknown, 9) == 1  # what one costs is to be found out
        assert await begins(Purse(1.0, {}, spent=1.0), 9) == 0
        assert await begins(Purse(1.0, {CHEAP: 9.0}, spent=0.9, ended=4), 9) == 0

    asyncio.run(scenario())


def test_cheap_dialogues_let_no_dear_ones_in(values: dict[str, Any]) -> None:
    for spec in (values["salespeople"][0], values["customers"][0], values["judge"]):
        spec["price"] = {"input": 0, "output": 0}
    summary = run(values | {"max_cost": 3 * CALL})  # a dialogue of B's costs two calls
    assert summary["cost"]["salesperson"]["B"] == pytest.approx(2 * CALL)
    assert summary["untried"] == 5


def test_a_limit_holds_for_a_run_continued_with_many_at_once(
    values: dict[str, Any], actors: Loopback
) -> None:
    run(values)
    asked = len(actors.requests)
    spent = asked * CALL
    run(values | {"repeats": 3, "concurrency": 24, "max_cost": spent + 7 * CALL})
    assert len(actors.requests) - asked == 5


def test_what_a_former_speaker_and_judge_have_cost_counts(
    values: dict[str, Any], actors: Loopback
) -> None:
    run(values)
    asked = len(actors.requests)
    values["salespeople"] = values["salespeople"][1:]
    values["judge"] = values["judge"] | {"name": "K"}
    stopped = run(values | {"max_cost": asked * CALL})
    assert len(actors.requests) == asked
    assert stopped["incomplete"] == 6
    assert (
        "6 dialogues are still to be judged. The same command with a higher --max_cost"
        in (stopped["notes"][0])
    )
    assert not any("failed" in note for note in stopped["notes"])
    assert run(values | {"max_cost": (asked + 12) * CALL})["incomplete"] == 0


def test_a_run_stops_before_its_limit_and_goes_on(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    whole = 12 * 5 * CALL  # twelve dialogues of four messages and one judgement
    values |= {"concurrency": 1, "max_cost": whole / 2}
    first = run(values)
    spent = sum(cost for names in first["cost"].values() for cost in names.values())
    assert 0.8 * values["max_cost"] < spent <= values["max_cost"]
    assert first["untried"] == first["incomplete"] > 0
    assert "still to come" in first["notes"][0]
    asked = len(actors.requests)
    assert run(values)["cost"] == first["cost"]  # what earlier sessions spent counts
    assert len(actors.requests) == asked

    done = run(values | {"max_cost": 2 * whole})
    assert (done["untried"], done["incomplete"]) == (0, 0)
    assert len(actors.requests) == 60
    assert done["cost"]["salesperson"] == {
        "A": pytest.approx(12 * CALL),
        "B": pytest.approx(12 * CALL),
    }
    assert done["cost"]["customer"] == {"C": pytest.approx(24 * CALL)}
    assert done["cost"]["judge"] == {"J": pytest.approx(12 * CALL)}


def test_a_limit_needs_every_price(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    del values["judge"]["price"]
    with pytest.raises(InputError, match=r"the price of J is not known.*price: \{input"):
        run(values | {"max_cost": 1.0})
    assert actors.requests == []
    assert not (tmp_path / "out").exists()


def test_a_dry_run_asks_nobody_and_writes_nothing(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    console = Console(width=100, record=True)
    recipe = BenchmarkRecipe.model_validate(values | {"dry_run": True})
    assert run_benchmark(recipe, console) == {}
    text = console.export_text()
    assert "salespeople: A" in text
    assert "if all went to 4 rounds" in text
    assert actors.requests == []
    assert not (tmp_path / "out").exists()


def reckoned(values: dict[str, Any], journal: Journal | None = None) -> dict[Any, Any]:
    recipe = BenchmarkRecipe.model_validate(values)
    every = scenarios_of(recipe)
    scenarios = {s.id: s for s in first_of_each_language(every, recipe.limit)}
    inputs = inputs_of(recipe, scenarios.values(), every)
    if journal is None and (recipe.folder / JOURNAL).exists():
        with Journal(recipe.folder / JOURNAL, inputs.dialogues) as journal:
            return estimate(recipe, cells_of(recipe, scenarios), scenarios, inputs, journal)[0]
    return estimate(recipe, cells_of(recipe, scenarios), scenarios, inputs, None)[0]


def test_the_rest_is_reckoned_from_the_run_so_far(values: dict[str, Any]) -> None:
    before = reckoned(values)
    assert before["salespeople", "A"].calls == 6 * 4  # to the limit of four rounds
    assert before["customers", "C"].calls == 12 * 3
    run(values)
    assert not any(reckoned(values)[part].calls for part in before)
    after, left = reckoned(values | {"repeats": 2}), 12
    assert after["customers", "C"].calls == pytest.approx(left * 2)
    assert after["judge", "J"].calls == pytest.approx(left)
    total = sum(each.cost for each in after.values())
    assert total == pytest.approx(left * 5 * CALL)


def test_tokens_of_a_text() -> None:
    assert tokens("a" * 400, "en") == 100
    assert tokens("好" * 100, "zh") == pytest.approx(70)


def test_the_summary_has_the_costs(values: dict[str, Any], tmp_path: Path) -> None:
    run(values)
    assert read_json(tmp_path / "out" / "summary.json")["cost"]["judge"]["J"] > 0


def test_money_for_not_one_dialogue(values: dict[str, Any], actors: Loopback) -> None:
    run(values)
    command = script(values, "--customers.0.name", "D", "--max_cost", "0.01")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert "12 of 12 dialogues are still to come" in " ".join(done.stdout.split())
    assert "with a higher --max_cost continues" in " ".join(done.stdout.split())
    assert len(actors.requests) == 60


def test_judges_and_samples_are_counted_and_refusals_are_left_alone(
    values: dict[str, Any], actors: Loopback
) -> None:
    values["judge"] = [values["judge"] | {"name": name} for name in "JK"]
    values |= {"judge_samples": 3, "judge_sampling": {"temperature": 0.7}}
    before = reckoned(values)
    assert before["judge", "K"].calls == 12 * 3
    no = {"message": {"role": "assistant", "content": None, "refusal": "I cannot."}}
    actors.reply = lambda body: (
        no
        if body["model"] == "seller" and "kettle 1" in body["messages"][0]["content"]
        else actor(body)
    )
    summary = run(values)
    assert (summary["terminations"]["refused"], summary["incomplete"]) == (2, 0)
    assert not any(reckoned(values)[part].calls for part in before)
    asked = sum(body["model"] == "judge" for body in actors.requests)
    assert reckoned(values | {"repeats": 2})["judge", "K"].calls * 2 == asked / 10 * 12
