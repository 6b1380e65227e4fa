"""The closing check against golden cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from salesllm.dialogue import Language
from salesllm.simulate.closing import ends, takes_leave, winds_down

CASES = json.loads((Path(__file__).parent / "closing_cases.json").read_text(encoding="utf-8"))


def cases(group: str) -> list[tuple[Language, str, str]]:
    """Language, the salesperson's message before where the case has one, and the message."""
    return [
        (language, *(("", case) if isinstance(case, str) else case))
        for language, groups in CASES.items()
        for case in groups[group]
    ]


@pytest.mark.parametrize(("language", "answered", "text"), cases("ends"))
def test_a_customer_that_leaves(language: Language, answered: str, text: str) -> None:
    assert ends(text, language, answered)


@pytest.mark.parametrize(("language", "answered", "text"), cases("goes_on"))
def test_a_customer_that_does_not(language: Language, answered: str, text: str) -> None:
    assert not ends(text, language, answered)


@pytest.mark.parametrize(("language", "_", "text"), cases("winds_down"))
def test_a_customer_that_has_nothing_to_add(language: Language, _: str, text: str) -> None:
    assert winds_down(text, language)
    assert not ends(text, language)


@pytest.mark.parametrize(("language", "_", "text"), cases("adds"))
def test_a_customer_that_adds_something(language: Language, _: str, text: str) -> None:
    assert not winds_down(text, language)


@pytest.mark.parametrize(("language", "_", "text"), cases("takes_leave"))
def test_a_salesperson_that_says_goodbye(language: Language, _: str, text: str) -> None:
    assert takes_leave(text, language)


@pytest.mark.parametrize(("language", "_", "text"), cases("stays"))
def test_a_salesperson_that_does_not(language: Language, _: str, text: str) -> None:
    assert not takes_leave(text, language)
