"""The evaluation set that comes with the package: frozen, parallel, in strata, clean."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from salesllm.benchmark.recipe import BenchmarkRecipe, scenarios_of
from salesllm.catalog.space import CONSUMER_COUNTS, FINANCIAL_COUNTS
from salesllm.files import read_json, sha256
from salesllm.scenario import Scenario, read_scenarios
from salesllm.scenarios.evaluation import SHIPPED, scenario_file
from salesllm.scenarios.lint import lint
from salesllm.scenarios.scripts import customer_script, salesperson_script

FINGERPRINTS = read_json(scenario_file("v1").with_name("fingerprints.json"))


@pytest.fixture(scope="module")
def rows() -> list[Scenario]:
    return read_scenarios(scenario_file("v1"))


def number(scenario: Scenario) -> str:
    return scenario.id.rpartition("-")[0]


@pytest.mark.parametrize("name", SHIPPED)
def test_its_bytes_are_frozen_and_it_is_clean(name: str) -> None:
    path = scenario_file(name)
    assert sha256(path) == FINGERPRINTS[name], "a changed set is another version"
    assert lint(path).findings == []


def test_english_is_parallel_to_chinese(rows: list[Scenario]) -> None:
    assert Counter(row.language for row in rows) == {"zh": 1000, "en": 805}
    chinese = {number(row): row for row in rows if row.language == "zh"}
    for row in rows[1000:]:
        twin = chinese[number(row)]
        assert row.product.id == twin.product.id
        assert row.persona.id == twin.persona.id
        assert row.difficulty == twin.difficulty
        assert row.attributes.decision_factors == twin.attributes.decision_factors


@pytest.mark.parametrize(("language", "n"), [("zh", 1000), ("en", 805)])
def test_strata_have_their_shares(rows: list[Scenario], language: str, n: int) -> None:
    of = [row for row in rows if row.language == language]
    categories = Counter(row.product.category for row in of)
    counts = CONSUMER_COUNTS | FINANCIAL_COUNTS
    for name, count in counts.items():
        assert categories[name] == pytest.approx(count / 30_074 * n, abs=1)
    assert set(Counter(row.difficulty for row in of).values()) == {n // 5}


@pytest.mark.parametrize(("name", "n"), [("v1-ablation", 100), ("v1-smoke", 60)])
def test_subsets(rows: list[Scenario], name: str, n: int) -> None:
    part = read_scenarios(scenario_file(name))
    whole = {row.id: row for row in rows}
    assert [whole[row.id] for row in part] == part
    assert Counter(row.language for row in part) == {"zh": n // 2, "en": n // 2}
    assert max(Counter(row.difficulty for row in part).values()) <= n // 5 + 2
    assert {row.product.domain for row in part} == {"consumer", "financial"}


def test_a_recipe_names_it(tmp_path: Path) -> None:
    recipe = BenchmarkRecipe.model_validate(
        {
            "name": "smoke",
            "output_dir": tmp_path,
            "scenarios": "v1-smoke",
            "salespeople": [{"name": "s", "provider": "scripted", "model": "salesperson"}],
            "customers": [{"name": "c", "provider": "scripted", "model": "customer"}],
        }
    )
    for scenario in scenarios_of(recipe):
        assert scenario.product.name in customer_script(scenario)
        assert scenario.product.price in salesperson_script(scenario)
