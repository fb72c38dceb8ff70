import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.speed.distributions import f_cdf, f_quantile, incomplete_beta, t_cdf, t_quantile

# Tables of Student's t and Fisher's F, NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2 and 1.3.6.7.3.
T = [(0.975, 1, 12.706), (0.995, 1, 63.657), (0.995, 2, 9.925), (0.95, 5, 2.015), (0.995, 9, 3.250), (0.99, 29, 2.462)]
F = [(0.95, 5, 10, 3.326), (0.99, 2, 9, 8.022), (0.95, 1, 1, 161.448), (0.99, 10, 20, 3.368)]


@pytest.mark.parametrize(("p", "df", "expected"), T)
def test_t_quantiles_match_the_tables(p: float, df: float, expected: float) -> None:
    assert t_quantile(p, df) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize(("p", "df1", "df2", "expected"), F)
def test_f_quantiles_match_the_tables(p: float, df1: float, df2: float, expected: float) -> None:
    assert f_quantile(p, df1, df2) == pytest.approx(expected, rel=2e-4)


def test_t_with_many_degrees_of_freedom_is_normal() -> None:
    assert t_quantile(0.975, 1e12) == pytest.approx(1.959964, abs=1e-5)


@given(st.floats(0.001, 0.999), st.floats(1, 1e4))
def test_t_quantile_inverts_the_distribution(p: float, df: float) -> None:
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, abs=1e-8)


@given(st.floats(0.01, 0.99), st.integers(1, 60), st.integers(1, 60))
def test_f_quantile_inverts_the_distribution(p: float, df1: int, df2: int) -> None:
    assert f_cdf(f_quantile(p, df1, df2), df1, df2) == pytest.approx(p, abs=1e-8)


@given(st.floats(0.5, 50), st.floats(0.5, 50), st.floats(0, 1))
def test_incomplete_beta_is_a_distribution_and_symmetric(a: float, b: float, x: float) -> None:
    x = 1 - (1 - x)  # else the rest of a small one is 1 exactly, and another distribution's argument
    value = incomplete_beta(a, b, x)
    assert -1e-12 <= value <= 1 + 1e-12
    assert value == pytest.approx(1 - incomplete_beta(b, a, 1 - x), abs=1e-9)


def test_incomplete_beta_knows_its_closed_forms() -> None:
    assert incomplete_beta(1, 1, 0.3) == pytest.approx(0.3)
    assert incomplete_beta(2, 1, 0.3) == pytest.approx(0.09)
    assert incomplete_beta(0.5, 0.5, 0.25) == pytest.approx(2 / math.pi * math.asin(0.5))


@pytest.mark.parametrize(("p", "df"), [(0.0, 5), (1.0, 5), (0.5, 0), (-1, 3)])
def test_quantiles_refuse_what_has_none(p: float, df: float) -> None:
    with pytest.raises(ValueError, match="quantile"):
        t_quantile(p, df)
    with pytest.raises(ValueError, match="quantile"):
        f_quantile(p, df, 3)
