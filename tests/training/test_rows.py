"""Rows for SFT and DPO: what is kept when space is short, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerBase

from salesllm.dialogue import Dialogue, Message, Speaker
from salesllm.errors import InputError
from salesllm.training.rows import (
    IGNORE,
    Preference,
    View,
    fits,
    preference_messages,
    read_preferences,
    sft_rows,
)
from salesllm.training.template import render_ids


def _dialogue(rounds: int, **fields: Any) -> Dialogue:
    turns = []
    for i in range(rounds):
        turns += [
            {"speaker": "customer", "text": f"question number {i}?"},
            {"speaker": "salesperson", "text": f"the answer to {i} is long and full of praise"},
        ]
    record = {"id": "d", "language": "en", "source": "t", "product_line": "p", "turns": turns}
    return Dialogue.model_validate(record | fields)


def test_a_long_dialogue_loses_its_oldest_turns(tokenizer: PreTrainedTokenizerBase) -> None:
    view = View()
    whole = sft_rows([_dialogue(8)], tokenizer, max_length=10_000, view=view)
    short = sft_rows([_dialogue(8)], tokenizer, max_length=250, view=view)
    assert (whole.truncated, short.truncated) == (0, 1)
    text = tokenizer.decode(short.rows[0]["input_ids"])
    assert len(short.rows[0]["input_ids"]) <= 250
    assert text.startswith("<|im_start|>system\nYou are a customer")
    assert text.endswith("question number 7? [END]<|im_end|>\n")
    assert "question number 0?" not in text
    assert "praise" not in tokenizer.decode([t for t in short.rows[0]["labels"] if t != IGNORE])


def test_no_supervised_token_left_is_an_error(tokenizer: PreTrainedTokenizerBase) -> None:
    with pytest.raises(InputError, match="`max_length`: no dialogue of 1 keeps a supervised token"):
        sft_rows([_dialogue(2)], tokenizer, max_length=20, view=View())


def test_only_named_context_is_shown() -> None:
    dialogue = _dialogue(1, context={"title": "old bike", "agreed_price": 80})
    shown = json.dumps(View(context_fields=("title",)).messages(dialogue, None))
    assert "old bike" in shown
    assert "80" not in shown


def test_a_salesperson_view_has_no_marker() -> None:
    messages = View(viewpoint=Speaker.SALESPERSON, mark_end=False).messages(_dialogue(1), None)
    assert [m["role"] for m in messages] == ["system", "user", "assistant"]
    assert "[END]" not in json.dumps(messages)


def test_an_unknown_scenario_is_named(tokenizer: PreTrainedTokenizerBase) -> None:
    with pytest.raises(
        InputError, match="`scenario_id`: dialogue 'd' names the unknown scenario 's9'"
    ):
        sft_rows(
            [_dialogue(1, scenario_id="s9")], tokenizer, max_length=99, view=View(), scenarios={}
        )


PROMPT = [Message(role="system", content="script"), Message(role="user", content="Buy it?")]
GOOD = Preference(PROMPT, "hm, too dear", "Let me tell you about our offer!")


def test_preferences_round_trip(tmp_path: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    path = tmp_path / "p.jsonl"
    explicit = preference_messages(GOOD, scenario_id="s1")
    implicit = {side: PROMPT + explicit[side] for side in ("chosen", "rejected")}
    path.write_text(json.dumps(explicit) + "\n" + json.dumps(implicit) + "\n")
    assert read_preferences(path) == [GOOD, GOOD]
    row = GOOD.row(tokenizer)
    assert row["prompt"].endswith("<|im_start|>assistant\n")
    assert row["chosen"] == "hm, too dear<|im_end|>"
    assert fits(GOOD, tokenizer, 200)
    assert not fits(GOOD, tokenizer, 20)


@pytest.mark.parametrize(
    "reply",
    [
        "hm, too dear",
        " 太贵了\n",
        "ok<|im_end|>\n<|im_start|>user\nok",
        "<<||im_end|>",
        "<",
        "|>",
    ],
)
def test_a_pair_reads_as_in_sft(tokenizer: PreTrainedTokenizerBase, reply: str) -> None:
    history = [*PROMPT, *_reply("<|im_end|>?"), Message(role="user", content="<<||im_start|>now?")]
    pair = Preference(history, chosen=reply, rejected=f"not: {reply}")
    row = pair.row(tokenizer)
    for side in ("chosen", "rejected"):
        whole = render_ids(tokenizer, [*history, *_reply(getattr(pair, side))])
        newline = tokenizer.encode("\n")
        assert tokenizer.encode(row["prompt"] + row[side]) + newline == whole
        assert tokenizer.encode(row["prompt"]) + tokenizer.encode(row[side]) + newline == whole
        assert row[side].count("<|im_end|>") == 1
        assert row[side].endswith("<|im_end|>")


def test_a_pair_may_differ_in_how_the_dialogue_ends_and_bear_other_fields(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    ends = Preference(PROMPT, "no thanks [END]", "no thanks")
    row = preference_messages(ends, dialogue_id="d", turn=3, prompt_version="v1", score_chosen=1.0)
    path.write_text(json.dumps(row))
    assert read_preferences(path) == [ends]


def _pair(**changes: Any) -> dict[str, Any]:
    return preference_messages(GOOD) | changes


def _reply(text: str, role: str = "assistant") -> list[Message]:
    return [Message(role=role, content=text)]


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (_pair(rejected=_reply(" hm, too dear ")), "`rejected`: chosen and rejected are the same"),
        (_pair(rejected=PROMPT + _reply("no")), "`rejected`: its prompt differs"),
        (_pair(chosen=_reply("hm", "user")), "`chosen`: the reply is not the customer's"),
        (_pair(prompt=PROMPT + _reply("hm")), "`prompt`: the prompt ends with the customer's own"),
        (_pair(prompt=_reply("hm", "buyer")), "`prompt.0.role`: unknown role 'buyer'"),
        (_pair(chosen=_reply("  ")), "`chosen.0.content`: is empty"),
        (_pair(chosen="hm"), "`chosen`: is not a list of messages"),
        ({"chosen": _reply("a"), "rejected": _reply("b")}, "`prompt`: there is no prompt"),
        ({"prompt": PROMPT, "chosen": _reply("a")}, "`rejected`: is missing"),
        (_pair(promt=3), "`promt`: unknown key. Did you mean `prompt`"),
        (_pair(rejectd=[]), "`rejectd`: unknown key. Did you mean `rejected`"),
        (_pair(chosen=_reply("a\ud800b")), "`chosen.0.content`: has half of a surrogate pair"),
    ],
)
def test_a_bad_pair_is_named(tmp_path: Path, row: dict[str, Any], named: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(preference_messages(GOOD)) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(InputError) as error:
        read_preferences(path)
    assert f"{path}:2: field {named}" in str(error.value)
