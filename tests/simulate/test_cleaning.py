"""What is cut out of replies, against golden cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.dialogue import END_MARKER, Speaker
from salesllm.simulate.cleaning import clean

CASES = json.loads((Path(__file__).parent / "cleaning_cases.json").read_text(encoding="utf-8"))
PIECES = [
    "<think>",
    "</think>",
    "Customer:",
    "客户：",
    "*",
    "(",
    ")",
    "smiles",
    "（微笑）",
    "\n",
    ". ",
]
PIECES += ["hm", "[", "]", "User:", "<|im_end|>", END_MARKER]


@pytest.mark.parametrize(("speaker", "reply", "text", "removed"), CASES["cleaned"])
def test_what_is_said_is_kept(speaker: str, reply: str, text: str, removed: dict[str, int]) -> None:
    cleaned = clean(reply, Speaker(speaker))
    assert (cleaned.text, cleaned.removed) == (text, removed)
    again = clean(cleaned.text, Speaker(speaker))
    assert (again.text, again.removed) == (text, {})


@pytest.mark.parametrize("speaker", list(Speaker))
@pytest.mark.parametrize("reply", CASES["untouched"])
def test_what_only_looks_like_it_stays(speaker: Speaker, reply: str) -> None:
    assert clean(reply, speaker) == (reply, False, False, {})


@pytest.mark.parametrize(
    ("reply", "text", "marked"),
    [
        (f"Bye {END_MARKER}", "Bye", True),
        (f"<think>{END_MARKER}</think>How much?", "How much?", False),
        (f"How much?\nSalesperson: $39.\nCustomer: OK {END_MARKER}", "How much?", False),
        (f"*waves* Bye {END_MARKER}", "Bye", True),
        (f"Customer: {END_MARKER}", "", True),
    ],
)
def test_a_marker_counts_only_in_what_is_said(reply: str, text: str, marked: bool) -> None:
    cleaned = clean(reply, Speaker.CUSTOMER)
    assert (cleaned.text, cleaned.marked) == (text, marked)


@pytest.mark.parametrize(
    "reply", ["*hangs up*", "(ends the call)", "[Customer hangs up]", "（挂断电话）"]
)
def test_who_hangs_up_leaves(reply: str) -> None:
    assert clean(reply, Speaker.CUSTOMER) == ("", False, True, {"stage_direction": 1})


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.sampled_from(Speaker))
def test_any_mixture_can_be_read(reply: str, speaker: Speaker) -> None:
    cleaned = clean(reply, speaker)
    assert END_MARKER not in cleaned.text
    assert "<think>" not in cleaned.text
    assert cleaned.removed or cleaned.text == reply.partition(END_MARKER)[0].strip()
