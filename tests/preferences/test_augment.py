"""The writer's replies: how they are read, and when they take the place of the chosen one."""

from __future__ import annotations

from typing import Any

import pytest
from pairs_made import pair, pipeline

from salesllm.preferences.augment import better, parse
from salesllm.scoring.ask import OffFormat


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("too pricey", ("too pricey", False)),
        ("Customer: too pricey [END]", ("too pricey", True)),
        ("客户：“太贵了” [END] bye", ("太贵了", True)),
        ('"no"', ("no", False)),
        ("He said “no”", ("He said “no”", False)),
        ('"', ('"', False)),
    ],
)
def test_a_writers_line(answer: str, line: tuple[str, bool]) -> None:
    assert parse(answer) == line


@pytest.mark.parametrize("answer", ["", "Customer: ", "[END]", "“”"])
def test_no_line(answer: str) -> None:
    with pytest.raises(OffFormat):
        parse(answer)


GOOD = {"ok": True, "text": "and in blue? [END]", "inverted": False, "likeness": 8, "reason": "r"}


@pytest.mark.parametrize(
    ("entry", "outcome"),
    [
        ({}, "replaced"),
        ({"ok": False}, "kept: nobody could be reached"),
        ({"text": None}, "kept: no reply"),
        ({"inverted": None, "likeness": None}, "kept: the reply is unscored"),
        ({"inverted": True}, "kept: the reply is inverted"),
        ({"likeness": 7}, "kept: the reply is less like a customer"),
        ({"text": pair().rejected}, "kept: the reply is a repetition"),
        ({"text": "hi, is kettle 0  quiet? [END]"}, "kept: the reply is a repetition"),
    ],
)
def test_the_old_reply_stays_unless_the_new_is_no_worse(
    values: dict[str, Any], entry: dict[str, Any], outcome: str
) -> None:
    before = pair()
    found, after = better(pipeline(values).records, before, GOOD | entry)
    assert found == outcome
    if outcome != "replaced":
        assert after == before
        return
    assert (after.chosen, after.chosen_by) == ("and in blue? [END]", "writer")
    assert after.verdicts["chosen"] is not None
    assert after.verdicts["rejected"] == before.verdicts["rejected"]
    assert after.prompt == before.prompt
    assert "en/customer_reply" in after.versions
