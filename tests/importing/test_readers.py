"""Logs in other formats become the same dialogues; what is none is rejected with its reason."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from exports import write_chats, write_csv
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salesllm.dialogue import END_MARKER, Dialogue, Speaker, read_dialogues, write_dialogues
from salesllm.errors import InputError
from salesllm.importing.readers import Draft, Rejected, accept, read_messages, read_records
from salesllm.importing.table import Table
from salesllm.scenarios.grammar import sample_dialogues
from salesllm.scenarios.sampling import sample_scenarios

FORMATS: dict[str, tuple[Callable[..., None], Callable[[Path], Any]]] = {
    "jsonl": (write_dialogues, read_records),
    "csv": (write_csv, Table().read),
    "semicolons": (partial(write_csv, delimiter=";"), Table().read),
    "tabs": (partial(write_csv, delimiter="\t"), Table().read),
    "messages": (
        partial(write_chats, viewpoint=Speaker.SALESPERSON),
        partial(read_messages, customer_role="user"),
    ),
    "sharegpt": (
        partial(write_chats, viewpoint=Speaker.CUSTOMER, sharegpt=True),
        partial(read_messages, customer_role="gpt"),
    ),
    "sharegpt list": (
        partial(write_chats, viewpoint=Speaker.SALESPERSON, sharegpt=True, as_list=True),
        partial(read_messages, customer_role="human"),
    ),
}
TEXTS = st.text(
    st.characters(codec="utf-8") | st.sampled_from("\",;\t\n\r'“你好🙂\u2028"), min_size=1
).filter(lambda text: text.strip() and END_MARKER not in text)
NAMES = st.text("abcäö键,;\"' ", min_size=1).filter(str.strip)


@cache
def generated() -> list[Dialogue]:
    return [
        dialogue
        for language in ("zh", "en")
        for dialogue in sample_dialogues(
            sample_scenarios(language, 20), seed=0, split="train", per_scenario=2
        )
    ]


@st.composite
def dialogues(draw: st.DrawFn) -> list[Dialogue]:
    turns = st.lists(st.tuples(st.sampled_from(Speaker), TEXTS), min_size=2, max_size=5).filter(
        lambda said: len({speaker for speaker, _ in said}) == 2
    )
    count = draw(st.integers(1, 4))
    context = st.dictionaries(st.sampled_from("abc"), st.none() | st.floats(0, 9) | TEXTS)
    return [
        Dialogue.model_validate(
            {
                "id": f"{draw(NAMES)}{number}",
                "language": draw(st.sampled_from(["zh", "en"])),
                "source": draw(NAMES),
                "product_line": draw(NAMES | st.just("")),
                "scenario_id": draw(st.none() | NAMES),
                "worker_id": draw(st.none() | NAMES),
                "outcome": draw(st.sampled_from([None, "bought", "declined"])),
                "context": draw(context),
                "turns": [{"speaker": who, "text": text} for who, text in draw(turns)],
            }
        )
        for number in range(count)
    ]


def round_trip(name: str, given: list[Dialogue], folder: Path) -> None:
    write, read = FORMATS[name]
    write(folder / "log", given)
    accepted, rejected = accept(read(folder / "log"), Dialogue)
    assert not rejected
    write_dialogues(folder / "before.jsonl", given)
    write_dialogues(folder / "after.jsonl", [dialogue for _, dialogue in accepted])
    assert (folder / "after.jsonl").read_bytes() == (folder / "before.jsonl").read_bytes()


@pytest.mark.parametrize("name", FORMATS)
def test_generated_dialogues_come_back_identical(name: str, tmp_path: Path) -> None:
    round_trip(name, generated(), tmp_path)


@pytest.mark.parametrize("name", FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
          max_examples=60, deadline=None)  # fmt: skip
@given(given=dialogues())
def test_any_text_comes_back_identical(name: str, given: list[Dialogue], tmp_path: Path) -> None:
    round_trip(name, given, tmp_path)


@pytest.mark.parametrize("name", FORMATS)
def test_real_dialogues_come_back_identical(name: str, tmp_path: Path) -> None:
    if not (sample := os.environ.get("DIALOGUES_SAMPLE")):
        pytest.skip("DIALOGUES_SAMPLE names no file of dialogue records")
    round_trip(name, read_dialogues(sample), tmp_path)


FIELDS = {"language": "en", "source": "runs", "product_line": "Fund"}
CHAT = [
    {"role": "system", "content": "Sell the fund."},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "Hello!"},
]


def chats(path: Path, *rows: Any) -> Path:
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return path


def test_the_user_is_the_customer_in_a_run_of_a_salesperson(tmp_path: Path) -> None:
    path = chats(tmp_path / "run.jsonl", {"messages": CHAT, "language": "chinese", "model": "m"})
    accepted, _ = accept(read_messages(path, "user"), Dialogue, FIELDS)
    (_, dialogue), = accepted  # fmt: skip
    assert [turn.speaker for turn in dialogue.turns] == [Speaker.CUSTOMER, Speaker.SALESPERSON]
    assert (dialogue.id, dialogue.language) == ("run-1", "en")
    assert dialogue.context == {"model": "m", "system": "Sell the fund."}
    accepted, _ = accept(read_messages(path, "assistant"), Dialogue, FIELDS)
    assert accepted[0][1].turns[0].speaker is Speaker.SALESPERSON


def test_an_unknown_role_of_the_customer(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown role 'buyer'"):
        list(read_messages(chats(tmp_path / "a", {"messages": CHAT}), "buyer"))


@pytest.mark.parametrize(
    ("row", "field", "reason"),
    [
        ("{", None, "not JSON"),
        ("[1]", None, "expected a JSON object"),
        ({"id": "a"}, "messages", "is missing, and so is"),
        ({"messages": CHAT, "conversations": []}, "messages", "has both"),
        ({"messages": "hi"}, "messages", "is not a list"),
        ({"messages": [*CHAT, "hi"]}, "messages.3.role", "is not a text"),
        ({"messages": [*CHAT, {"role": "user"}]}, "messages.3.content", "is not a text"),
        ({"messages": [*CHAT, {"role": "tool", "content": "x"}]}, "messages.3.role", "unknown"),
        ({"messages": [*CHAT, {"role": "user", "content": " "}]}, "turns.2.text", "is empty"),
        ({"messages": CHAT[:2]}, "turns", "only the customer speaks"),
        ({"messages": CHAT, "context": 1}, "context", "is not a mapping"),
        ({"messages": CHAT, "x": 1, "context": {"x": 2}}, "context.x", "is given twice"),
        ({"messages": CHAT, "outcome": "maybe"}, "outcome", "unknown value"),
    ],
)
def test_what_is_no_dialogue_is_rejected(
    row: Any, field: str | None, reason: str, tmp_path: Path
) -> None:
    path = chats(tmp_path / "run.jsonl", {"messages": CHAT}, row)
    accepted, rejected = accept(read_messages(path, "user"), Dialogue, FIELDS)
    assert [dialogue.id for _, dialogue in accepted] == ["run-1"]
    (one,) = rejected
    assert (one.place.file, one.place.line, one.field) == (path, 2, field)
    assert reason in one.reason
    assert one.raw.strip() == (row if isinstance(row, str) else json.dumps(row))


def test_a_message_that_only_ends_the_dialogue_is_no_turn(tmp_path: Path) -> None:
    end = {"role": "user", "content": END_MARKER}
    path = chats(tmp_path / "run.jsonl", {"messages": [*CHAT, end]})
    accepted, _ = accept(read_messages(path, "user"), Dialogue, FIELDS)
    assert len(accepted[0][1].turns) == 2


def test_an_end_marker_in_a_record_is_rejected(tmp_path: Path) -> None:
    turns = [{"speaker": "customer", "text": f"bye {END_MARKER}"}]
    path = chats(tmp_path / "a.jsonl", {"id": "d", **FIELDS, "turns": turns})
    _, rejected = accept(read_records(path), Dialogue)
    assert rejected[0].field == "turns.0.text"


def test_an_id_is_taken_once(tmp_path: Path) -> None:
    path = chats(tmp_path / "a", *[{"id": 7, "messages": CHAT}] * 2)
    accepted, rejected = accept(read_messages(path, "user"), Dialogue, FIELDS)
    assert [dialogue.id for _, dialogue in accepted] == ["7"]
    assert rejected[0].reason == f"is already in {path}:1. Make ids unique"
    assert (rejected[0].id, rejected[0].field) == ("7", "id")


def test_one_json_list_of_records(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"messages": CHAT}, 5], indent=1))
    drafts = list(read_messages(path, "user"))
    assert isinstance(drafts[0], Draft)
    assert isinstance(drafts[1], Rejected)
    assert drafts[1].place.line == 2
