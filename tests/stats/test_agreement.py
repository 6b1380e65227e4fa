"""Krippendorff's alpha and the intraclass correlations against other libraries and by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from salesllm.stats import intraclass_correlation, krippendorff_alpha

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", GOLDEN["alphas"])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_golden_alphas(case: dict[str, Any], level: Any) -> None:
    assert krippendorff_alpha(case["units"], level) == pytest.approx(case[level])


@pytest.mark.parametrize(
    "case", GOLDEN["intraclass"], ids=lambda case: f"{len(case['scores'])} targets"
)
def test_golden_intraclass_correlations(case: dict[str, Any]) -> None:
    icc = intraclass_correlation(case["scores"])
    for found, name in ((icc.single, "single"), (icc.average, "average")):
        assert found.value == pytest.approx(case[name]["value"])
        # That library gives two digits.
        assert (found.low, found.high) == pytest.approx(tuple(case[name]["interval"]), abs=5.1e-3)
        assert found.n == len(case["scores"])


def test_icc_of_shrout_and_fleiss() -> None:
    # Shrout and Fleiss (1979), tables 2 and 4: ICC(2,1) = .29, ICC(2,4) = .62.
    table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    icc = intraclass_correlation(table)
    assert (round(icc.single.value, 2), round(icc.average.value, 2)) == (0.29, 0.62)
    assert icc.single.low < icc.single.value < icc.single.high


def test_icc_where_nothing_can_be_said() -> None:
    for table in ([[1, 2, 3]], [[1], [2]], [[4, 4], [4, 4]], [[]]):
        assert math.isnan(intraclass_correlation(table).single.value)
    perfect = intraclass_correlation([[1, 1], [5, 5], [9, 9]])
    assert (perfect.single.value, perfect.average.value) == (1.0, 1.0)
    assert math.isnan(perfect.single.low)
    with pytest.raises(ValueError, match="finite"):
        intraclass_correlation([[1, math.nan], [2, 3]])


def test_alpha_equals_published_values() -> None:
    # Krippendorff (2011), Computing Krippendorff's Alpha-Reliability: example C, with missing data.
    table = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    units = [[v for v in unit if v is not None] for unit in zip(*table, strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(units, "ordinal") == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(units, "interval") == pytest.approx(0.849, abs=5e-4)


def test_alpha_by_hand() -> None:
    # Two annotators, 4 units, 3 agreements: values a a a a b b b a, so 5 of a and 3 of b.
    # Observed disagreement 2 / 8; expected 2 * 5 * 3 / (8 * 7). alpha = 1 - (1/4) / (15/28).
    units = [("a", "a"), ("a", "a"), ("b", "b"), ("b", "a")]
    assert krippendorff_alpha(units) == pytest.approx(1 - 0.25 / (15 / 28))
    assert krippendorff_alpha([*units, ("a",), ()]) == krippendorff_alpha(units)
    assert krippendorff_alpha([("a", "a", "a"), ("b", "b")]) == 1.0
    assert krippendorff_alpha([("a", "b"), ("a", "b")]) == pytest.approx(1 - 1 / (8 / 12))
    for level in ("nominal", "interval"):
        for nothing in ([], [(1,), (2,)], [(1, 1), (1, 1)]):
            assert math.isnan(krippendorff_alpha(nothing, level))  # type: ignore[arg-type]


def test_alpha_of_chance_is_about_zero() -> None:
    rng = np.random.default_rng(6)
    for level in ("nominal", "ordinal", "interval"):
        units = rng.integers(5, size=(4000, 3)).tolist()
        assert krippendorff_alpha(units, level) == pytest.approx(0, abs=0.03)  # type: ignore[arg-type]
