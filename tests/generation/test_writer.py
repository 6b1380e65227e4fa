"""Asking an LLM for JSON records: schema, repair, correction, journal and bill."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Fault, Loopback
from pydantic import BaseModel, ConfigDict
from rich.console import Console

from salesllm.chat.base import Usage
from salesllm.chat.providers import ChatSpec, Price
from salesllm.errors import InputError
from salesllm.generation.recipe import TranslationRecipe, WrittenSpaceRecipe
from salesllm.generation.writer import Task, Writer, estimate, read_record
from salesllm.scoring.ask import OffFormat


class Thing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    parts: list[str]


GOOD = '{"name": "lamp", "parts": ["bulb"]}'
SCHEMA = Thing.model_json_schema()


def parse(text: str) -> dict[str, Any]:
    return read_record(text, Thing).model_dump()


def tasks(n: int) -> list[Task]:
    return [Task((str(i),), partial(str, f"thing {i}"), parse, SCHEMA, "en") for i in range(n)]


@pytest.fixture
def recipe(loopback: Loopback, tmp_path: Path) -> TranslationRecipe:
    return TranslationRecipe.model_validate(
        {
            "backend": "translate", "output_dir": tmp_path, "scenarios": "v1", "attempts": 2,
            "writer": {
                "provider": "endpoint", "model": "m", "base_url": loopback.url,
                "price": {"input": 3.0, "output": 15.0},
            },
        }
    )  # fmt: skip


@pytest.fixture
def open_writer(recipe: TranslationRecipe) -> Iterator[Callable[..., Writer]]:
    opened: list[Writer] = []

    def start(settings: dict[str, Any] | None = None, **changes: Any) -> Writer:
        for writer in opened:
            writer.__exit__(None, None, None)
        changed = recipe.model_copy(update=changes)
        writer = Writer(
            changed, recipe.output_dir, settings or {"x": 1}, Console(file=io.StringIO())
        )
        opened.append(writer)
        return writer

    yield start
    opened[-1].__exit__(None, None, None)


@pytest.mark.parametrize(
    "text", [GOOD, f"```json\n{GOOD}\n```", f"Sure!\n{GOOD}\nThat is it.", f'{{"draft": 1}} {GOOD}']
)
def test_a_record_is_found_where_it_is(text: str) -> None:
    assert read_record(text, Thing) == Thing(name="lamp", parts=["bulb"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no whole JSON object"),
        (GOOD[:-4], "no whole JSON object"),
        ('{"name": "lamp"}', "`parts`: is missing"),
        ('{"name": 3, "parts": []}', "`name`: 3 is not a text"),
        ('{"name": "x", "parts": [], "id": "y"}', "`id`: unknown field"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str) -> None:
    with pytest.raises(OffFormat, match=problem):
        read_record(text, Thing)


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_anything_is_a_record_or_off_format(text: str) -> None:
    with pytest.raises(OffFormat):
        read_record(text, Thing)


def test_the_endpoint_is_held_to_the_schema(
    open_writer: Callable[..., Writer], loopback: Loopback
) -> None:
    loopback.reply = lambda body: GOOD
    assert open_writer().write("thing", tasks(1), "things") == [json.loads(GOOD)]
    assert loopback.requests[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
    }
    open_writer(json_schema=False).write("other", tasks(1), "things")
    assert "response_format" not in loopback.requests[1]


def test_a_bad_answer_is_shown_its_fault_once_more_and_then_given_up(
    open_writer: Callable[..., Writer], loopback: Loopback
) -> None:
    loopback.reply = lambda body: '{"name": "lamp"}'
    writer = open_writer()
    assert writer.write("thing", tasks(1), "things") == [None]
    assert writer.problem("thing", ("0",)) == "`parts`: is missing"
    _, second = loopback.requests
    assert [m["role"] for m in second["messages"]] == ["user", "assistant", "user"]
    assert "`parts`: is missing" in second["messages"][-1]["content"]
    assert open_writer().write("thing", tasks(1), "things") == [None]  # written down, not redone
    assert len(loopback.requests) == 2


def test_an_answer_is_paid_for_once(
    open_writer: Callable[..., Writer], recipe: TranslationRecipe, loopback: Loopback
) -> None:
    loopback.reply = lambda body: GOOD
    open_writer().write("thing", tasks(2), "things")
    writer = open_writer()
    assert writer.used == Usage(22, 10)
    writer.write("thing", tasks(3), "things")
    assert len(loopback.requests) == 3
    assert writer.costs() == {
        "usage": {"prompt_tokens": 33, "completion_tokens": 15},
        "cost": pytest.approx((33 * 3 + 15 * 15) / 1e6, abs=1e-4),
    }
    assert writer.bill() == "33 + 15 tokens, cost 0.00"
    unpriced: ChatSpec = recipe.writer.model_copy(update={"price": None})
    assert open_writer(writer=unpriced).bill() == "33 + 15 tokens"


def test_no_answer_stops_the_job_and_keeps_the_others(
    open_writer: Callable[..., Writer], loopback: Loopback
) -> None:
    loopback.reply = lambda body: GOOD
    loopback.fault_of = lambda body: (
        Fault(status=400) if body["messages"][0]["content"] == "thing 1" else None
    )
    with pytest.raises(InputError, match=r"1 of 3 got no answer: .*Run the same command again"):
        open_writer().write("thing", tasks(3), "things")
    loopback.fault_of = lambda body: None
    assert open_writer().write("thing", tasks(3), "things") == [json.loads(GOOD)] * 3
    assert len(loopback.requests) == 4
    with pytest.raises(InputError, match="another run: `x` was 1 and is 2"):
        open_writer({"x": 2})


def test_an_estimate_grows_with_the_text() -> None:
    assert estimate(["a" * 400, "字" * 100]) == pytest.approx(100 + 70)
    assert Price(input=1, output=2).of(Usage(1_000_000, 500_000)) == 2.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"writer": {"provider": "scripted", "model": "customer"}}, "cannot write"),
        ({"amazon": {"Pet_Suplies": "x"}}, "is no consumer category"),
        ({"amazon": ["meta_Books.jsonl.gz"]}, "no product of it is asked for"),
        ({"evaluation": {"version": "v2"}}, "evaluation"),
        ({"counts": {"Pets": 3}}, "is no category"),
        ({"amazon": [1]}, "1 is no path"),
        ({"prompts_dir": "nowhere"}, "there is no folder nowhere"),
    ],
)
def test_mistakes_in_a_recipe_are_named(changes: dict[str, Any], message: str) -> None:
    values = {
        "backend": "llm", "output_dir": "out", "language": "zh", "counts": {"Pet_Supplies": 3},
        "writer": {"provider": "endpoint", "model": "m", "base_url": "http://localhost/v1"},
    }  # fmt: skip
    WrittenSpaceRecipe.model_validate(values)
    with pytest.raises(ValueError, match=message):
        WrittenSpaceRecipe.model_validate(values | changes)
