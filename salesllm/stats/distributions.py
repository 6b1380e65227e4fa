"""Student's t and Fisher's F by the incomplete beta function: the core has no scipy."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_TERMS = 10_000
_TINY = 1e-300  # keeps Lentz's algorithm from dividing by zero
_log_gamma = np.vectorize(math.lgamma, otypes=[float])


def beta_cdf(x: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """The regularised incomplete beta function I_x(a, b), elementwise; NaN where one is NaN."""
    x, a, b = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in (x, a, b)))
    flip = x > (a + 1) / (a + b + 2)  # the fraction converges fast below, slowly above
    x, a, b = np.where(flip, 1 - x, x), np.where(flip, b, a), np.where(flip, a, b)
    with np.errstate(divide="ignore"):
        front = np.exp(
            a * np.log(x) + b * np.log1p(-x)
            - _log_gamma(a) - _log_gamma(b) + _log_gamma(a + b) - np.log(a)
        )  # fmt: skip
    lower = front * _fraction(x, a, b)
    return np.where(flip, 1 - lower, lower)


def _fraction(x: Array, a: Array, b: Array) -> Array:
    """The continued fraction of I_x(a, b), DLMF 8.17.22, by Lentz's algorithm."""
    c = np.ones_like(x)
    d = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            value = value * c * d
        # Rounding of long fractions reaches 1e-14. NaN counts as done.
        if not (np.abs(value - before) > 1e-13 * np.abs(value)).any():
            break
    return value


def _not_zero(value: Array) -> Array:
    return np.where(value == 0, _TINY, value)


def t_two_sided(t: npt.ArrayLike, freedom: npt.ArrayLike) -> Array:
    """P(|T| >= |t|) of Student's t."""
    t2, freedom = np.square(np.asarray(t, dtype=float)), np.asarray(freedom, dtype=float)
    return np.where(np.isinf(t2), 0.0, beta_cdf(freedom / (freedom + t2), freedom / 2, 0.5))


def t_critical(level: float, freedom: npt.ArrayLike) -> Array:
    """The t with P(|T| < t) = level, by Newton's method.

    The tail is convex in t: from the normal quantile, which lies below, the steps never overshoot.
    """
    freedom = np.asarray(freedom, dtype=float)
    half = freedom / 2
    log_density = _log_gamma(half + 0.5) - _log_gamma(half) - np.log(freedom * math.pi) / 2
    t = np.full_like(freedom, NormalDist().inv_cdf((1 + level) / 2))
    for _ in range(100):
        density = np.exp(log_density - (half + 0.5) * np.log1p(t * t / freedom))
        step = (t_two_sided(t, freedom) - (1 - level)) / (2 * density)
        t = t + step
        if not (np.abs(step) > 1e-8 * t).any():  # steps square: the next would be no more
            break
    return t


def f_quantile(p: float, numerator: float, denominator: float) -> float:
    """The f with P(F < f) = p, by bisection; the degrees of freedom need not be whole."""
    low, high = 0.0, 1.0
    for _ in range(60):
        x = (low + high) / 2
        if beta_cdf(x, numerator / 2, denominator / 2) < p:
            low = x
        else:
            high = x
    return denominator * x / (numerator * (1 - x))
