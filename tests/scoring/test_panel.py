"""Several judges of one dialogue."""

from __future__ import annotations

from salesllm.chat.base import Usage
from salesllm.scoring.panel import combine
from salesllm.scoring.selling import Evidence, SellingScore

BOUGHT, ASKED = Evidence("I'll take it", 3), Evidence("how much", 1)
MILD = SellingScore(9, "bought", (BOUGHT,), usage=Usage(10, 2), samples=(9,), weighted=True)
STRICT = SellingScore(6, "asked", (ASKED, BOUGHT), usage=Usage(20, 3), samples=(6,))
SILENT = SellingScore(None, "no score in 3 answers", usage=Usage(5, 5))
BROKEN = SellingScore(None, "the judge failed: down", failed=True)


def test_one_judge_is_no_panel() -> None:
    assert combine({"a": MILD}) is MILD


def test_the_mean_with_all_evidence() -> None:
    both = combine({"a": MILD, "b": STRICT})
    assert (both.score, both.reason) == (7.5, "a: bought; b: asked")
    assert both.evidence == (BOUGHT, ASKED)
    assert both.usage == Usage(30, 5)
    assert not both.weighted
    assert combine({"a": MILD, "b": MILD}).weighted


def test_without_one_judges_score_there_is_none() -> None:
    rated = combine({"a": MILD, "b": SILENT, "c": BROKEN})
    assert (rated.score, rated.reason) == (None, "b: no score in 3 answers")
    assert rated.failed  # asking again may help
    assert not combine({"a": MILD, "b": SILENT}).failed
