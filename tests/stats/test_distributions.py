"""Student's t and Fisher's F against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from salesllm.stats.distributions import beta_cdf, f_quantile, t_critical, t_two_sided

freedom = st.floats(1, 1e5)


@given(st.floats(0, 1), st.floats(0.5, 1e4), st.floats(0.5, 1e4))
def test_incomplete_beta(x: float, a: float, b: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(special.betainc(a, b, x), abs=1e-8)


@given(st.floats(-30, 30), freedom)
def test_two_sided_p_values(t: float, df: float) -> None:
    assert t_two_sided(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-6)


@given(st.lists(freedom, min_size=1, max_size=5), st.sampled_from((0.5, 0.9, 0.95, 0.999)))
def test_critical_values(df: list[float], level: float) -> None:
    assert t_critical(level, df) == pytest.approx(stats.t.ppf((1 + level) / 2, df), rel=1e-7)


@settings(max_examples=30)
@given(st.sampled_from((0.025, 0.5, 0.975)), st.floats(1, 1e3), st.floats(1, 1e3))
def test_quantiles_of_f(p: float, numerator: float, denominator: float) -> None:
    expected = stats.f.ppf(p, numerator, denominator)
    assert f_quantile(p, numerator, denominator) == pytest.approx(expected, rel=1e-6)


def test_no_freedom_is_no_number_beside_others_that_are() -> None:
    found = t_critical(0.95, [np.nan, 10.0])
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(2.2281388519649385)
    assert np.isnan(t_two_sided(1.0, np.nan))
