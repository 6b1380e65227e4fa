"""Recipes and their overrides: every mistake is one message that names its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

from salesllm.errors import InputError
from salesllm.recipe import Recipe, load_recipe, read_yaml


class _Customer(Recipe):
    name: str
    prompts: Path | None = None


class _Job(Recipe):
    rounds: int | list[int] = 1
    scenarios: Path | None = None
    judge: str | _Customer | None = None
    customers: list[_Customer] = Field(default_factory=list)


TEXT = """\
scenarios: data/s.jsonl
judge: rules
customers:
  - name: a
    prompts: data/p
"""


def _load(folder: Path, *options: str) -> _Job:
    path = folder / "r.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return load_recipe(_Job, ["--config", str(path), *options])


def test_overrides_reach_into_lists_and_what_is_not_there_yet(tmp_path: Path) -> None:
    job = _load(tmp_path, "--customers.0.name", "b", "--rounds", "[1, 2]")
    assert (job.customers[0].name, job.rounds) == ("b", [1, 2])
    path = tmp_path / "empty.yaml"
    path.write_text("judge:\n", encoding="utf-8")
    job = load_recipe(_Job, ["--config", str(path), "--judge.name", "j"])
    assert job.judge == _Customer(name="j")


def test_none_takes_back_what_the_recipe_names(tmp_path: Path) -> None:
    assert _load(tmp_path).scenarios == Path("data/s.jsonl")
    job = _load(tmp_path, "--scenarios", "none", "--customers.0.prompts", "none")
    assert (job.scenarios, job.customers[0].prompts) == (None, None)
    named = _load(tmp_path, "--customers.0.name", "none")  # not optional: a name like any other
    assert named.customers[0].name == "none"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rounds", "[1"], "field `rounds`: not YAML"),
        (
            ["--customers.9.name", "x"],
            "`customers` has no item '9' among its 1",
        ),
        (["--customers.-1.name", "x"], "`customers` has no item '-1'"),
        (["--customers.first.name", "x"], "`customers` has no item 'first'"),
        (["--judge.model", "x"], "field `judge.model`: `judge` is 'rules', which has no keys"),
    ],
)
def test_a_bad_override_is_named(tmp_path: Path, options: list[str], said: str) -> None:
    with pytest.raises(InputError) as error:
        _load(tmp_path, *options)
    assert str(error.value).startswith("the command line: field `")
    assert said in str(error.value)


def test_a_recipe_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes("judge: 规则".encode("gb18030"))
    with pytest.raises(InputError, match=r"not UTF-8: .* Save it as UTF-8"):
        read_yaml(path)
