"""What a run costs: reckoned beforehand, measured, kept within a limit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback
from rich.console import Console
from runs import run, values_of

from salesllm.benchmark.budget import Prices, Purse, estimate, tokens
from salesllm.benchmark.cell import JOURNAL, cells_of
from salesllm.benchmark.inputs import inputs_of
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


async def begins(purse: Purse, most: int) -> int:
    """How many dialogues begin without one of them ending."""
    for number in range(most):
        try:
            if not await asyncio.wait_for(purse.begin(), 0.01):
                return number
        except TimeoutError:
            return number
    return most


def test_a_purse_reckons_with_what_is_under_way() -> None:
    async def scenario() -> None:
        purse = Purse(1.0, assumed=0.3)
        assert await begins(purse, 9) == 4
        for _ in range(4):  # they turn out to cost a third of what was assumed
            purse.pay(0.1)
            purse.end()
        assert await begins(purse, 9) == 6
        for _ in range(6):
            purse.pay(0.1)
            purse.end()
        assert not await purse.begin()
        assert await begins(Purse(1.0, assumed=9.0), 9) == 1  # what one costs is to be found out
        assert await begins(Purse(1.0, assumed=0.1, spent=1.0), 9) == 0
        assert await begins(Purse(None, assumed=9.0), 100) == 100

    asyncio.run(scenario())


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
    assert "at most" in text
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
