import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.speed.statistics import (
    Process,
    compare,
    disagree,
    lag_one,
    process,
    robust_sd,
    tolerance,
)

rates = st.lists(st.floats(0.01, 1e4), min_size=1, max_size=40)


def runs(*values: float) -> list[Process]:
    return [process([value] * 10) for value in values]


def test_a_process_is_the_median_of_its_windows() -> None:
    assert process([1.0, 2.0, 3.0, 100.0, 2.0]).rate == 2.0


def test_stalls_show_beside_the_median() -> None:
    # Ten windows of 10 steps; one of them takes twice as long: the mean step is 10 % longer than the median one.
    seconds = [10.0] * 9 + [20.0]
    found = process([10 / s for s in seconds], seconds)
    assert found.rate == 1.0
    assert found.stall == pytest.approx(0.10)


@given(rates)
def test_a_process_is_well_formed_whatever_the_windows(values: list[float]) -> None:
    found = process(values)
    assert min(values) <= found.rate <= max(values)
    assert found.spread >= 0.0
    assert found.error >= 0.0
    assert found.stall >= 0.0


@given(rates, st.floats(0.1, 10))
def test_a_process_scales_with_its_clock(values: list[float], factor: float) -> None:
    one, other = process(values), process([value * factor for value in values])
    assert other.rate == pytest.approx(one.rate * factor)
    assert other.spread == pytest.approx(one.spread, abs=1e-9)
    assert other.stall == pytest.approx(one.stall, abs=1e-9)


@pytest.mark.parametrize("bad", [[], [1.0, 0.0], [-1.0]])
def test_a_process_without_positive_windows_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        process(bad)


def test_robust_sd_ignores_an_outlier_and_matches_the_normal() -> None:
    assert robust_sd([1.0, 1.1, 0.9, 1.0, 50.0]) < 0.2
    assert robust_sd([-1.0, 0.0, 1.0]) == pytest.approx(1.4826)
    assert robust_sd([3.0]) == 0.0


def test_autocorrelated_windows_count_for_less() -> None:
    drifting = [1.0 + 0.01 * n for n in range(20)]
    alternating = [1.0 + 0.1 * (n % 2) for n in range(20)]
    assert lag_one(drifting) > 0.6
    assert lag_one(alternating) == 0.0
    assert lag_one([1.0] * 20) == 0.0


def test_equal_speeds_give_a_ratio_of_one_within_the_interval() -> None:
    found = compare(runs(10.0), runs(10.0, 10.1, 9.9, 10.05, 9.95))
    assert found.ratio == pytest.approx(1.0, abs=0.002)
    assert found.interval[0] < 1.0 < found.interval[1]
    assert found.alpha == 0.01


def test_the_formula_by_hand() -> None:
    baseline = runs(*(10 * math.exp(x) for x in (-0.01, 0.0, 0.01)))
    found = compare(runs(9.0), baseline, probe_spread=0.0)
    # s_run = 0.01, R = 3, q = 1; t(0.995, 2) = 9.925
    error = 0.01 * math.sqrt(1 / 3 + 1)
    assert found.error == pytest.approx(error)
    assert math.log(found.ratio) == pytest.approx(math.log(0.9))
    assert math.log(found.interval[0]) == pytest.approx(math.log(0.9) - 9.925 * error, abs=1e-5)


def test_a_given_probe_spread_widens_but_brings_its_own_certainty() -> None:
    baseline = runs(10.0, 10.01, 9.99)
    narrow, wide = compare(runs(9.0), baseline), compare(runs(9.0), baseline, probe_spread=0.04)
    assert wide.error > narrow.error
    assert wide.df > 1000 > narrow.df
    assert wide.interval[0] < narrow.interval[0]


def test_noisier_windows_than_the_baselines_widen_the_interval() -> None:
    steady = runs(10.0, 10.01, 9.99, 10.02, 9.98)
    noisy = process([8.0, 12.0, 9.0, 11.0, 10.0, 7.0, 13.0, 10.0])
    assert compare([noisy], steady).error > 3 * compare(runs(10.0), steady).error


@given(st.floats(0.5, 2.0), st.integers(1, 5))
def test_the_ratio_is_what_was_put_in(ratio: float, count: int) -> None:
    found = compare(runs(*[10.0 * ratio] * count), runs(10.0, 10.0, 10.0, 10.0))
    assert found.ratio == pytest.approx(ratio)
    low, high = found.interval
    assert low <= found.ratio <= high


@given(st.floats(-0.5, 0.5))
def test_a_machine_factor_is_taken_off(log_factor: float) -> None:
    found = compare(runs(10.0 * math.exp(log_factor)), runs(10.0, 10.0, 10.0), log_factors=[log_factor])
    assert found.ratio == pytest.approx(1.0)


def test_more_processes_sharpen_and_detect_more() -> None:
    baseline = runs(10.0, 10.2, 9.8, 10.1, 9.9)
    one, three = compare(runs(10.0), baseline), compare(runs(10.0, 10.0, 10.0), baseline)
    assert three.detectable < one.detectable
    assert three.error < one.error


def test_what_is_detectable_is_never_below_the_least_effect() -> None:
    assert compare(runs(10.0), runs(10.0, 10.0, 10.0, 10.0), least=0.03).detectable >= 1 - math.exp(-0.03)


def test_one_baseline_process_gives_no_comparison() -> None:
    with pytest.raises(ValueError, match="two baseline"):
        compare(runs(1.0), runs(1.0))


def test_tolerance_follows_the_baselines_own_noise() -> None:
    quiet, noisy = runs(10.0, 10.01, 9.99, 10.0), runs(10.0, 11.0, 9.0, 10.5)
    assert tolerance(quiet, probe_spread=0.0, least=0.05) == 0.05
    assert tolerance(noisy, probe_spread=0.0, least=0.05) > 0.2


def test_runs_that_differ_far_more_than_the_baseline_disagree() -> None:
    assert disagree(runs(10.0, 5.0, 10.0), run_spread=0.01, df=9)
    assert not disagree(runs(10.0, 10.1, 9.9), run_spread=0.01, df=9)
    assert not disagree(runs(10.0), run_spread=0.01, df=9)
