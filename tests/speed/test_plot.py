from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from envdoctor.locks.target import Baseline
from envdoctor.speed.baselines.baseline_text import baseline_lines
from envdoctor.speed.plot import BLOCKS, histogram, sparkline
from tests.speed.making import baseline
from tests.speed.test_roofline import claim

values = st.lists(st.floats(0.001, 1e6), max_size=40)


@given(values)
def test_a_sparkline_has_one_block_per_value_and_keeps_their_order(numbers: list[float]) -> None:
    line = sparkline(numbers)
    assert len(line) == len(numbers)
    assert set(line) <= set(BLOCKS)
    for a, b, x, y in zip(numbers, numbers[1:], line, line[1:], strict=False):
        if a <= b:
            assert BLOCKS.index(x) <= BLOCKS.index(y)


@given(values)
def test_a_histogram_counts_every_value(numbers: list[float]) -> None:
    assert sum(int(line.rpartition(" ")[2]) for line in histogram(numbers)) == len(numbers)


def test_a_sparkline_within_a_common_range() -> None:
    assert sparkline([1, 2, 3], 0, 4) == "▃▅▇"
    assert sparkline([5, 5]) == "▅▅"


def test_a_measured_baseline_is_shown_with_every_process() -> None:
    text = "\n".join(baseline_lines(baseline(processes=3)))
    assert "chat-135m on cu130: measured, NVIDIA H100 80GB HBM3" in text
    assert "median of 3 processes" in text
    assert sum(line.strip()[0] in BLOCKS for line in text.splitlines()) == 3
    assert "torch 2.13.0+cu130" in text


def test_a_claim_is_shown_as_one_and_refused_where_impossible() -> None:
    text = "\n".join(baseline_lines(claim(5.0, parameters=7.5e9, tokens_per_step=8000)))
    assert "claimed" in text
    assert "no raw numbers" in text
    assert "impossible: 6 x 7.5e+09" in text


def test_a_baseline_without_anything_is_still_a_line() -> None:
    assert baseline_lines(Baseline(workload="w", stack="s", evidence="claimed")) == [
        "w on s: claimed, device not recorded"
    ]


def test_a_baseline_says_what_a_verdict_would_catch_and_how_quiet_it_was() -> None:
    quiet = "\n".join(baseline_lines(baseline(processes=10, sd=0.004)))
    assert "called slower from 4.3% on, of three from 4.2% on" in quiet
    assert "not quiet" not in quiet
    loud = baseline(processes=10, sd=0.1)
    loud = replace(loud, conditions={**loud.conditions, "disturbed": ["process 2: stalls", "process 3: stalls"]})
    text = "\n".join(baseline_lines(loud))
    assert "not quiet (2 disturbances, the first: process 2: stalls)" in text
    assert "called slower from 3" in text  # tens of percent
