"""Near duplicates among many texts: MinHash finds candidates, the exact Jaccard index decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rensa import RMinHash, RMinHashLSH

_TOKENS = re.compile(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]")
_CHUNK = 2000
"""Texts shingled at once: the shingles of thirty thousand would take half a gigabyte."""


PERMUTATIONS = 256
_RECALL = 0.995
_STANDARD_ERROR = 0.5 / PERMUTATIONS**0.5


@dataclass(frozen=True)
class Duplicate:
    """Text `index` is a near duplicate of the earlier text `of`, which was kept.

    Attributes:
        similarity: Jaccard index of their shingles, exact, in [threshold, 1].
    """

    index: int
    of: int
    similarity: float


class Deduplicator:
    """Keeps the texts that are no near duplicate of an earlier one.

    A text is the set of its 3-shingles; a token is a word, or one Chinese character. Texts whose
    Jaccard index reaches the threshold are near duplicates (Broder 1997).

    Args:
        threshold: Jaccard index in (0, 1]. Two texts that reach it are compared with a probability
            of at least 0.995, those above it with more.
    """

    def __init__(self, threshold: float = 0.8) -> None:
        self.threshold = threshold
        number, rows = bands(threshold)
        self._permutations = number * rows
        self._index = RMinHashLSH(threshold, self._permutations, number)
        self._texts: list[str] = []
        self._hashes: list[RMinHash] = []
        self._kept: list[bool] = []

    def add(self, texts: Sequence[str]) -> list[Duplicate]:
        """Takes texts in order; indices count on from the last call.

        Returns:
            Those that are near duplicates of a kept one, each with the most similar. They are not
            kept, so nothing is a duplicate of them.
        """
        found = []
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            found += self._add(chunk)
        return found

    def _near(self, index: int, other: int) -> bool:
        """Whether MinHash's own estimate, within its standard error, comes near."""
        estimate = self._hashes[index].jaccard(self._hashes[other])
        return bool(estimate >= self.threshold - 4 * _STANDARD_ERROR)

    def _add(self, texts: Sequence[str]) -> list[Duplicate]:
        first = len(self._texts)
        self._texts += texts
        hashes = RMinHash.from_token_sets([shingles(t) for t in texts], self._permutations, 1)
        self._hashes += hashes
        self._index.insert_many(hashes, first)
        found = []
        for index, candidates in enumerate(self._index.query_all(hashes), first):
            nearest = max(
                (
                    (jaccard(self._texts[index], self._texts[other]), -other)
                    for other in candidates
                    if other < index and self._kept[other] and self._near(index, other)
                ),
                default=(0.0, 0),
            )
            duplicate = nearest[0] >= self.threshold
            self._kept.append(not duplicate)
            if duplicate:
                found.append(Duplicate(index, -nearest[1], nearest[0]))
                self._index.remove(index)
        return found


def bands(threshold: float) -> tuple[int, int]:
    """Bands and rows a band of the LSH index, the most selective that finds what it should.

    Texts at Jaccard `s` share a band with probability `1 - (1 - s^rows)^bands`.
    """
    for rows in range(32, 1, -1):
        number = PERMUTATIONS // rows
        if 1 - (1 - threshold**rows) ** number >= _RECALL:
            return number, rows
    return PERMUTATIONS, 1


def near_duplicates(texts: Sequence[str], threshold: float = 0.8) -> list[Duplicate]:
    """`Deduplicator.add` for all texts at once."""
    return Deduplicator(threshold).add(texts)


def jaccard(one: str, other: str) -> float:
    """Jaccard index of two texts' shingles, 0-1."""
    a, b = _shingle_set(one), _shingle_set(other)
    return len(a & b) / len(a | b) if a or b else 1.0


def shingles(text: str) -> list[str]:
    """The 3-shingles of a text, in order; a text of fewer than three tokens is one shingle."""
    tokens = _TOKENS.findall(text.lower())
    return [*map(" ".join, zip(tokens, tokens[1:], tokens[2:], strict=False))] or [" ".join(tokens)]


@lru_cache(maxsize=4096)
def _shingle_set(text: str) -> frozenset[str]:
    return frozenset(shingles(text))
