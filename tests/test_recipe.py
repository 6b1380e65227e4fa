"""Recipes and their overrides: every mistake is one message that names its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

from salesllm.chat.providers import ChatSpec
from salesllm.errors import InputError
from salesllm.recipe import Recipe, load_recipe, read_yaml


class _Customer(Recipe):
    name: str
    prompts: Path | None = None


class _Job(Recipe):
    rounds: int | list[int] = 1
    alpha: float = Field(default=0.6, ge=0, le=1)
    speakers: list[ChatSpec] = Field(default_factory=list)
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
        (["--rounds", "--judge", "x"], "field `rounds`: it has no value. Write --rounds value."),
        (["--judge", "x", "--rounds"], "field `rounds`: it has no value"),
        (["--judge.model", "x"], "field `judge.model`: `judge` is 'rules', which has no keys"),
    ],
)
def test_a_bad_override_is_named(tmp_path: Path, options: list[str], said: str) -> None:
    with pytest.raises(InputError) as error:
        _load(tmp_path, *options)
    assert str(error.value).startswith("the command line: field `")
    assert said in str(error.value)


SPEAKER = "  - {provider: endpoint, model: m"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"rounds: 2\nspeakers:\n{SPEAKER}, base_url: 'http://h/v1'}}\n{SPEAKER}}}\n",
         ":4: field `speakers.1.base_url`: provider 'endpoint' needs a base_url. Add it, or change "
         "the provider."),
        (f"speakers:\n{SPEAKER},\n    base_url: ftp://h}}\n",
         ":3: field `speakers.0.base_url`: 'ftp://h' is not an http(s) address. Write http://"),
        ("speakers:\n  - provider: local\n    model: ' '\n",
         ":3: field `speakers.0.model`: is empty. Give it a text."),
        ("speakers:\n  - model: m\n",
         ":2: field `speakers.0.provider`: is missing. Add the field."),
        ("speakers:\n  - none of\n",
         ':2: field `speakers.0`: "none of" is not a mapping of fields to values. Write a mapping'),
        ("speakers: 5\n", ":1: field `speakers`: 5 is not a list. Write a list."),
        ("alpha: 1.2\n", ":1: field `alpha`: 1.2 is too large. Write at most 1."),
        ("alpha: -1\n", ":1: field `alpha`: -1 is too small. Write at least 0."),
        ("alpha: half\n", ':1: field `alpha`: "half" is not a number. Write a number.'),
        ("customers:\n  - name: 5\n",
         ":2: field `customers.0.name`: 5 is not a text. Write a text in quotes."),
    ],
)  # fmt: skip
def test_a_bad_value_is_named_with_its_line_and_what_to_do(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_recipe(_Job, ["--config", str(path)])
    assert str(error.value).startswith(f"{path}{said}")


def test_a_list_given_whole_leaves_no_line_of_the_file_to_blame(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        _load(tmp_path, "--customers", "[{name: 5}]")
    assert str(error.value).startswith("the command line: field `customers.0.name`: 5 is not")


def test_a_recipe_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes("judge: 规则".encode("gb18030"))
    with pytest.raises(InputError, match=r"not UTF-8: .* Save it as UTF-8"):
        read_yaml(path)
