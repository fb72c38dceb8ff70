"""Two arms in turns: windows against their neighbours, who starts, and what happens when one fails."""

from __future__ import annotations

import math
import os
import random
import statistics
import time
from pathlib import Path

import pytest

from envdoctor.errors import Trouble
from envdoctor.speed.ablation.pairs import decide_pairs
from envdoctor.speed.ablation.side_by_side import LOOKS, log_ratio, run_together
from envdoctor.speed.report import Report, Window
from tests.speed.making import cpu_report
from trainer.measure.turns import Turns


def arm(seconds: list[float]) -> Report:
    return cpu_report(
        windows=tuple(
            Window(steps=4, seconds=one, tokens={"trained": 100.0 + 50.0 * place, "real": 400.0})
            for place, one in enumerate(seconds)
        )
    )


class Shared:
    """A machine that drifts and is halved for seconds at a time, as recorded ones are (tests/speed/recorded)."""

    def __init__(self, seed: int, bursts: float) -> None:
        self.random, self.bursts = random.Random(seed), bursts
        self.left, self.slow, self.drift = 0.0, 1.0, 0.0

    def window(self, seconds: float) -> float:
        """How long half a second of work takes now."""
        self.drift = 0.98 * self.drift + self.random.gauss(0.0, 0.02)
        if self.left <= 0.0:
            hit = self.random.random() < self.bursts
            self.left = self.random.uniform(1.0, 8.0)
            self.slow = self.random.uniform(1.2, 2.0) if hit else 1.0
        taken = seconds * self.slow * math.exp(self.drift + self.random.gauss(0.0, 0.02))
        self.left -= taken
        return taken

    def pair(self, speed: float) -> float:
        """One pair's log ratio, the first arm `speed` times as fast; processes differ by 0.4 % in themselves."""
        own, other = (math.exp(self.random.gauss(0.0, 0.004)) for _ in range(2))
        first, second = [], []
        for _ in range(20):
            first.append(self.window(0.5 / speed / own))
            second.append(self.window(0.5 / other))
        return log_ratio(arm(first), arm(second), ours_first=True)


def word(machine: Shared, speed: float) -> tuple[str, int]:
    ratios: list[float] = []
    while True:
        ratios.append(machine.pair(speed))
        found = decide_pairs(ratios, at=LOOKS)
        if found is not None and found.word is not None:
            return found.word, len(ratios)


def test_on_a_machine_with_bursts_a_tenth_is_found_and_equal_arms_are_not_slower() -> None:
    """Simulated; what real machines give stands in tests/speed/README.md."""
    slow = [word(Shared(seed, 0.3), 0.9) for seed in range(60)]
    assert sum(said == "slower" and pairs <= 12 for said, pairs in slow) >= 54
    equal = [word(Shared(1000 + seed, 0.3), 1.0)[0] for seed in range(100)]
    assert equal.count("slower") == 0
    assert equal.count("as-expected") >= 95


def test_a_burst_that_outlives_a_window_hits_both() -> None:
    calm, burst = [0.5] * 20, [0.5] * 5 + [1.0] * 8 + [0.5] * 7
    assert log_ratio(arm(burst), arm(burst), ours_first=True) == pytest.approx(0.0)
    assert log_ratio(arm([s / 0.9 for s in burst]), arm(burst), ours_first=True) == pytest.approx(math.log(0.9))
    assert log_ratio(arm(burst), arm([s / 0.9 for s in burst]), ours_first=False) == pytest.approx(-math.log(0.9))
    single = [*calm[:9], 2.0, *calm[10:]]
    assert log_ratio(arm(single), arm(calm), ours_first=True) == pytest.approx(0.0)


def test_steady_growth_cancels() -> None:
    growing = [0.5 * 1.01**number for number in range(40)]
    first, second = arm(growing[0::2]), arm(growing[1::2])
    two_orders = log_ratio(first, second, ours_first=True), log_ratio(second, first, ours_first=False)
    assert abs(statistics.fmean(two_orders)) < 0.001
    one_after_the_other = statistics.median(growing[:20]) / statistics.median(growing[20:])
    assert abs(math.log(one_after_the_other)) > 0.15


def test_an_untimed_run_is_no_pair() -> None:
    with pytest.raises(ValueError, match="not timed"):
        log_ratio(arm([0.5] * 4), arm([]), ours_first=True)


def test_the_second_starts_while_the_first_warms_up() -> None:
    log: list[str] = []

    def run(number: int, turns: str) -> Report:
        folder, _, side = turns.rpartition(":")
        log.append(f"{number} as {side}")
        if side == "0":
            time.sleep(0.2)
            log.append("begun")
            Path(folder, "begun").touch()
            os.stat(Path(folder, "1"))  # both pipes are there
            time.sleep(0.2)
            log.append("warm")
            Path(folder, "warm").touch()
        return arm([0.5] * 4)

    run_together(run, (1, 0))
    assert log == ["1 as 0", "begun", "0 as 1", "warm"]


def test_a_first_one_that_ends_before_it_is_warm_is_not_waited_for() -> None:
    """Its data may be too short for a warm-up; the second one still has its run."""

    def run(number: int, turns: str) -> Report:
        folder, _, side = turns.rpartition(":")
        if side == "0":
            Path(folder, "begun").touch()
            time.sleep(0.2)
            return arm([])
        assert Turns(Path(folder), 1).start() is None
        return arm([0.5] * 4)

    assert [len(report.windows) for report in run_together(run, (0, 1))] == [0, 4]


def test_the_same_batches_are_held_against_each_other() -> None:
    """What a batch costs differs twofold, and cancels out; where batches differ, neighbours are the measure."""
    costs = [0.4 + 0.4 * (place * 7 % 10) / 10 for place in range(20)]
    same, slower = arm(costs), arm([1.1 * cost for cost in costs])
    assert log_ratio(slower, same, ours_first=True) == pytest.approx(-math.log(1.1))
    assert log_ratio(same, slower, ours_first=False) == pytest.approx(math.log(1.1))
    shifted = cpu_report(windows=(*same.windows[1:], same.windows[0]))
    assert abs(log_ratio(shifted, same, ours_first=True)) > 0.001, "neighbours of other batches do not cancel out"


def test_a_trainer_that_takes_no_turns_is_timed_by_itself() -> None:
    sides: list[str] = []

    def run(number: int, turns: str) -> Report:
        sides.append(turns and turns[-1])
        return arm([0.5 + number] * 4)

    first, second = run_together(run, (0, 1))
    assert sides == ["0", ""]
    assert (first.windows[0].seconds, second.windows[0].seconds) == (0.5, 1.5)


@pytest.mark.parametrize("failing", [0, 1])
def test_when_one_fails_the_other_is_told_to_stop(failing: int) -> None:
    told: list[bool] = []

    def run(number: int, turns: str) -> Report:
        folder = Path(turns.rpartition(":")[0])
        (folder / "begun").touch()
        (folder / "warm").touch()
        if number == failing:
            time.sleep(0.2)
            raise Trouble("no memory", exit_code=3)
        for _ in range(200):
            if (folder / "stop").exists():
                told.append(True)
                raise Trouble("stopped", exit_code=3)
            time.sleep(0.05)
        return arm([0.5] * 4)

    with pytest.raises(Trouble, match="no memory"):
        run_together(run, (0, 1))
    assert told == [True]
