"""The weighted score."""

from __future__ import annotations

import pytest

from salesllm.scoring.final import ALPHA, final_score


def test_buying_weighs_six_tenths_by_default() -> None:
    assert ALPHA == 0.6
    assert final_score(8.0, 5) == pytest.approx(6.8)
    assert final_score(8.0, 5, alpha=0.25) == pytest.approx(5.75)
    assert final_score(0.0, 0) == 0
    assert (final_score(3.0, 9, alpha=1), final_score(3.0, 9, alpha=0)) == (3, 9)


@pytest.mark.parametrize("pair", [(None, 5), (5.0, None), (None, None)])
def test_what_is_missing_is_not_a_zero(pair: tuple[float | None, float | None]) -> None:
    assert final_score(*pair) is None


@pytest.mark.parametrize("values", [(10.1, 5, 0.6), (5.0, -1, 0.6), (5.0, 5, 1.1), (5.0, 5, -0.1)])
def test_values_out_of_range_are_refused(values: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must be between"):
        final_score(*values)
