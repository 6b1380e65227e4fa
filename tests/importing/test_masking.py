"""Personal data is found, and prices, dates and order numbers are left alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import read, score, texts

from salesllm.importing.masking import Kind, find_personal, mask


@pytest.mark.parametrize("language", ["zh", "en"])
def test_planted_personal_data(language: str) -> None:
    result = score("planted", language)
    assert result.recall >= 0.98, result.missed
    assert result.precision >= 0.95, result.wrong


@pytest.mark.parametrize("name", ["heldout", "fresh"])
def test_texts_written_after_the_masker(name: str) -> None:
    result = score(name)
    assert result.recall >= 0.95, result.missed
    assert result.precision >= 0.95, result.wrong


def test_texts_learned_from() -> None:
    result = score("learned")
    assert not result.missed
    assert not result.wrong


@pytest.mark.parametrize(("name", "fewest"), [("planted", 220), ("heldout", 80)])
def test_the_sets_are_hard(name: str, fewest: int) -> None:
    every = texts(name)
    assert len(set(every)) == len(every) >= fewest
    assert sum(not read(text)[1] for text in every) >= 0.4 * len(every)
    kinds = {find.kind for text in every for find in read(text)[1]}
    assert kinds == set(Kind)


def test_a_placeholder_takes_its_place() -> None:
    text = "打13800138000，或者邮件ann@example.com，预算13800元"
    assert mask(text, find_personal(text)) == "打[PHONE]，或者邮件[EMAIL]，预算13800元"


def test_a_wrong_checksum_is_no_personal_data() -> None:
    assert find_personal("身份证11010519491231002X")
    assert not find_personal("身份证110105194912310021")
    assert find_personal("card 4111 1111 1111 1111")
    assert not find_personal("card 4111 1111 1111 1112")


@given(st.text(alphabet="0123456789+-(). @微信qxwv电话call:一三abc[]元$\n", max_size=80))
def test_masking_is_final(text: str) -> None:
    found = find_personal(text)
    assert all(a.end <= b.start for a, b in pairwise(found))
    masked = mask(text, found)
    assert sum(masked.count(kind.placeholder) for kind in Kind) >= len(found)


@pytest.mark.parametrize("piece", ["1", "a", "1 ", "+1 ", "a.", "a@b.", "微信", "0 ", "一", "12-"])
def test_a_very_long_text_is_read_through(piece: str) -> None:
    find_personal(piece * 50_000)
