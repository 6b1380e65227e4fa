"""The two viewpoints: nothing lost, nothing leaked, and one place where roles flip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scenes import scene

from salesllm.dialogue import (
    END_MARKER,
    Dialogue,
    Speaker,
    Turn,
    read_dialogues,
    strip_end,
    write_dialogues,
)
from salesllm.errors import InputError
from salesllm.scenario import Scenario
from salesllm.scenarios.scripts import ScriptStyle
from salesllm.training.rows import View

anything = st.text(min_size=1, max_size=40)
texts = anything.filter(lambda text: bool(text.strip()) and END_MARKER not in text)
refused = st.builds(f"{{}}{END_MARKER}{{}}".format, st.text(), st.text())
turns = st.lists(st.builds(Turn, speaker=st.sampled_from(Speaker), text=texts), min_size=2).filter(
    lambda ts: len({t.speaker for t in ts}) == 2
)
dialogues = st.builds(
    Dialogue,
    id=st.just("d"),
    language=st.sampled_from(["zh", "en"]),
    source=st.just("test"),
    product_line=st.just("fund"),
    turns=turns.map(tuple),
)


@given(dialogues, st.sampled_from(Speaker))
def test_flipping_twice_is_the_identity(dialogue: Dialogue, viewpoint: Speaker) -> None:
    fields = dialogue.model_dump(exclude={"turns"})
    messages = dialogue.messages_for(viewpoint, system="script")
    assert Dialogue.from_messages(messages, viewpoint, **fields) == dialogue
    mirrored = Dialogue.from_messages(messages, viewpoint.other, **fields)
    back = Dialogue.from_messages(mirrored.messages_for(viewpoint), viewpoint.other, **fields)
    assert back == dialogue
    assert [t.speaker for t in mirrored.turns] == [t.speaker.other for t in dialogue.turns]


@given(dialogues, st.sampled_from(Speaker))
def test_no_text_is_lost_and_the_first_turn_is_kept(dialogue: Dialogue, viewpoint: Speaker) -> None:
    messages = dialogue.messages_for(viewpoint)
    assert [m["content"] for m in messages] == [t.text for t in dialogue.turns]
    own = dialogue.turns[0].speaker is viewpoint
    assert messages[0]["role"] == ("assistant" if own else "user")


@pytest.mark.parametrize("style", get_args(ScriptStyle))
@given(dialogues)
def test_neither_side_sees_the_others_script(style: ScriptStyle, dialogue: Dialogue) -> None:
    scenario = two_sided_scene()
    secrets = {Speaker.CUSTOMER: "the budget is 300", Speaker.SALESPERSON: "the margin is 40 %"}
    for viewpoint, own in secrets.items():
        view = View(viewpoint=viewpoint, script_style=style, mark_end=False)
        messages = view.messages(dialogue.model_copy(update={"language": "en"}), scenario)
        assert own in messages[0]["content"]
        assert [m["role"] for m in messages].count("system") == 1
        assert secrets[viewpoint.other] not in json.dumps(messages)


@given(refused, st.sampled_from(Speaker))
def test_a_turn_with_the_marker_is_refused(text: str, speaker: Speaker) -> None:
    with pytest.raises(ValidationError, match="holds the end marker"):
        Turn(speaker=speaker, text=text)


@given(dialogues)
def test_only_the_last_customer_turn_bears_the_marker(dialogue: Dialogue) -> None:
    messages = dialogue.messages_for(Speaker.CUSTOMER, mark_end=True)
    last = max(i for i, t in enumerate(dialogue.turns) if t.speaker is Speaker.CUSTOMER)
    marked = [i for i, m in enumerate(messages) if strip_end(m["content"])[1]]
    assert marked == [last]
    assert strip_end(messages[last]["content"])[0] == dialogue.turns[last].text.rstrip()


@given(st.lists(dialogues, min_size=1, max_size=4))
def test_files_round_trip(tmp_path_factory: pytest.TempPathFactory, some: list[Dialogue]) -> None:
    unique = [d.model_copy(update={"id": f"d{i}"}) for i, d in enumerate(some)]
    path = tmp_path_factory.mktemp("d") / "d.jsonl"
    write_dialogues(path, unique)
    assert read_dialogues(path) == unique


GOOD = {
    "id": "a",
    "language": "en",
    "source": "test",
    "product_line": "fund",
    "turns": [
        {"speaker": "customer", "text": "hi"},
        {"speaker": "salesperson", "text": "Hello!"},
    ],
}


def two_sided_scene() -> Scenario:
    """A scenario whose sides each know something that the other must not."""
    plain = scene()
    product: dict[str, Any] = {"price": "$39, the margin is 40 %"}
    attributes = {"motivations": "Tea at night; the budget is 300."}
    changes = {
        "product": plain.product.model_copy(update=product),
        "attributes": plain.attributes.model_copy(update=attributes),
    }
    return plain.model_copy(update=changes)


def _turns(*pairs: tuple[str, str]) -> dict[str, object]:
    return {**GOOD, "turns": [{"speaker": s, "text": t} for s, t in pairs]}


MARKED = f"holds the end marker {END_MARKER}. Remove {END_MARKER}: training adds it"
HALF = r"has half of a surrogate pair (\ud800 to \udfff), which is not a character. Remove it"


@pytest.mark.parametrize(
    ("record", "named"),
    [
        ("{oops", ":2: not JSON"),
        ("[1]", ":2: expected a JSON object, found [1]. Write one JSON object a line."),
        ("[" * 100_000, ":2: not read: it is nested too deeply. Flatten the record."),
        ('{"id": ' + "9" * 5000 + "}", ":2: not read: it has a number of too many digits."),
        ({k: v for k, v in GOOD.items() if k != "turns"}, "`turns`: is missing. Add the field."),
        (_turns(("agent", "hi"), ("customer", "ho")), "`turns.0.speaker`: unknown value 'agent'"),
        (
            _turns(("customer", "hi"), ("salesperson", " ")),
            "`turns.1.text`: is empty. Give it a text, or remove the turn.",
        ),
        (_turns(("customer", "hi"), ("customer", "ho")), "only the customer speaks"),
        (_turns(("customer", "hi [END]"), ("salesperson", "x")), f"`turns.0.text`: {MARKED}"),
        (_turns(("customer", "hi"), ("salesperson", "x [END] y")), f"`turns.1.text`: {MARKED}"),
        (_turns(("customer", "[END]"), ("salesperson", "x")), f"`turns.0.text`: {MARKED}"),
        (_turns(("customer", "a\ud800b"), ("salesperson", "x")), f"`turns.0.text`: {HALF}"),
        ({**GOOD, "context": {"a": [{"b": "\udfff"}]}}, f"`context.a.0.b`: {HALF}"),
        ({**GOOD, "context": {"\udfff": 1}}, f"`context`: {HALF}"),
        ({**GOOD, "turns": []}, "a dialogue needs both speakers. Remove the record."),
        ({**GOOD, "turns": "hi"}, '`turns`: "hi" is not a list. Write a list.'),
        ({**GOOD, "turns": ["hi"]}, '`turns.0`: "hi" is not a mapping of fields to values.'),
        ({**GOOD, "id": 5}, "`id`: 5 is not a text. Write a text in quotes."),
        ({**GOOD, "id": " "}, "`id`: is empty. Give it a text."),
        ({**GOOD, "source": None}, "`source`: null is not a text. Write a text in quotes."),
        ({**GOOD, "language": "fr"}, "`language`: unknown value 'fr'"),
        ({**GOOD, "mood": "bad"}, "`mood`: unknown field. Remove it, or put it under `context`."),
        (GOOD, "id 'a' is already on line 1"),
    ],
)
def test_a_bad_record_is_named(tmp_path: Path, record: object, named: str) -> None:
    path = tmp_path / "d.jsonl"
    bad = record if isinstance(record, str) else json.dumps(record)
    path.write_text(json.dumps(GOOD) + "\n" + bad + "\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_dialogues(path)
    assert named in str(error.value)
    assert str(error.value).startswith(f"{path}:2: ")


def test_a_whole_surrogate_pair_is_a_character(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(_turns(("customer", "😂"), ("salesperson", "x"))), "ascii")
    assert read_dialogues(path)[0].turns[0].text == "😂"


def test_an_opener_with_the_marker_is_refused() -> None:
    record = scene().model_dump()
    record["attributes"]["initial_utterance"] += f" {END_MARKER}"
    with pytest.raises(ValidationError, match="holds the end marker"):
        Scenario.model_validate(record)


def test_a_missing_or_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_dialogues(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InputError, match="the file is empty"):
        read_dialogues(tmp_path / "empty.jsonl")
