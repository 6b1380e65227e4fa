"""The two viewpoints: nothing lost, nothing leaked, and one place where roles flip."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

texts = st.text(min_size=1, max_size=40).filter(
    lambda text: bool(text.strip()) and not text.rstrip().endswith(END_MARKER)
)
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


@given(dialogues)
def test_neither_side_sees_the_others_script(dialogue: Dialogue) -> None:
    for viewpoint, own, other in (
        (Speaker.CUSTOMER, "the budget is 300", "the margin is 40 %"),
        (Speaker.SALESPERSON, "the margin is 40 %", "the budget is 300"),
    ):
        messages = dialogue.messages_for(viewpoint, system=own)
        assert messages[0] == {"role": "system", "content": own}
        assert [m["role"] for m in messages].count("system") == 1
        assert other not in json.dumps(messages)


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


def _turns(*pairs: tuple[str, str]) -> dict[str, object]:
    return {**GOOD, "turns": [{"speaker": s, "text": t} for s, t in pairs]}


@pytest.mark.parametrize(
    ("record", "named"),
    [
        ("{oops", ":2: not JSON"),
        ("[1]", ":2: expected a JSON object"),
        ({k: v for k, v in GOOD.items() if k != "turns"}, ":2: field `turns`"),
        (_turns(("agent", "hi"), ("customer", "ho")), "`turns.0.speaker`: unknown value 'agent'"),
        (_turns(("customer", "hi"), ("salesperson", " ")), "`turns.1.text`: is empty"),
        (_turns(("customer", "hi"), ("customer", "ho")), "only the customer speaks"),
        ({**GOOD, "turns": []}, "a dialogue needs both speakers"),
        ({**GOOD, "language": "fr"}, "`language`: unknown value 'fr'"),
        ({**GOOD, "mood": "bad"}, "`mood`"),
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
    assert str(path) in str(error.value)


def test_a_missing_or_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_dialogues(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InputError, match="the file is empty"):
        read_dialogues(tmp_path / "empty.jsonl")
