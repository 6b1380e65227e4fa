"""Near duplicates: the exact index decides, whatever MinHash proposes."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.dedup import Deduplicator, jaccard, near_duplicates

WORDS = [f"w{i}" for i in range(500)]


def text(rng: Random, length: int = 60) -> str:
    return " ".join(rng.choices(WORDS, k=length))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a b c d", "a b c d", 1.0),
        ("A, b: c d!", "a b c d", 1.0),
        ("a b c d", "a b c e", 1 / 3),
        ("我想买个锅", "我想买个碗", 1 / 2),  # 我想买 想买个 | 买个锅 / 买个碗: 2 of 4
        ("a b c", "d e f", 0.0),
        ("a", "a", 1.0),
        ("a", "b", 0.0),
        ("", "", 1.0),
        ("rate 3.5 %", "rate 3.6 %", 0.0),
    ],
)
def test_jaccard_by_hand(one: str, other: str, expected: float) -> None:
    assert jaccard(one, other) == pytest.approx(expected)


def test_planted_duplicates_are_found_and_nothing_else() -> None:
    rng = Random(0)
    originals = [text(rng) for _ in range(400)]
    copies = [original.replace(original.split()[-1], "end") for original in originals[:100]]
    found = near_duplicates([*originals, *copies], 0.7)
    expected = {(400 + i, i) for i, copy in enumerate(copies) if jaccard(originals[i], copy) >= 0.7}
    assert len(expected) > 90
    assert {(d.index, d.of) for d in found} == expected
    assert all(d.similarity >= 0.7 for d in found)


def test_indices_count_on_and_duplicates_are_not_kept() -> None:
    deduplicator = Deduplicator(0.5)
    a = "a b c d e f g h i j k l"
    b = "a b c d e f g h i x y z"
    c = "p q c d e f g h i x y z"
    assert deduplicator.add([a]) == []
    (found,) = deduplicator.add([b])
    assert (found.index, found.of) == (1, 0)
    # c is near b only, and b was not kept.
    assert jaccard(b, c) >= 0.5 > jaccard(a, c)
    assert deduplicator.add([c]) == []


@given(st.lists(st.text(max_size=30), max_size=20))
def test_what_is_kept_has_no_duplicate_and_what_is_not_has_one(texts: list[str]) -> None:
    dropped = {d.index: d for d in near_duplicates(texts, 0.8)}
    kept = [t for i, t in enumerate(texts) if i not in dropped]
    assert len(set(kept)) == len(kept)
    for index, duplicate in dropped.items():
        assert duplicate.of < index
        assert duplicate.of not in dropped
        assert jaccard(texts[index], texts[duplicate.of]) == duplicate.similarity >= 0.8


def test_the_result_does_not_depend_on_the_process() -> None:
    code = """if True:
        from random import Random
        from salesllm.dedup import near_duplicates
        rng = Random(1)
        words = [f"w{i}" for i in range(40)]
        texts = [" ".join(rng.choices(words, k=6)) for _ in range(3000)]
        print([(d.index, d.of) for d in near_duplicates(texts, 0.3)])
    """
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(outputs) == 1
    assert "(" in outputs.pop()
