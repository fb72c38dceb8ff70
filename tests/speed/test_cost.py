import pytest

from envdoctor.speed.cost import cost, duration, saving


def test_the_misread_log_of_1_25_steps_per_second_is_47_minutes() -> None:
    found = cost(3558, 1.25, price_per_hour=2.5)
    assert duration(found.seconds) == "47 min 26 s"
    assert found.money == pytest.approx(3558 / 1.25 / 3600 * 2.5)


def test_without_a_price_there_is_no_money() -> None:
    assert cost(10, 1.0).money is None


def test_a_fix_pays_when_it_saves_more_than_it_takes() -> None:
    worth = saving(10_000, 1.0, 2.0, price_per_hour=3.6, overhead_seconds=60)
    assert worth.now.seconds == 10_000
    assert worth.fixed.seconds == 5_000
    assert worth.gain.seconds == 4_940
    assert worth.gain.money == pytest.approx(4.94)
    assert worth.pays
    assert not saving(100, 1.0, 2.0, overhead_seconds=60).pays


@pytest.mark.parametrize(("steps", "speed"), [(1, 0.0), (1, -1.0), (-1, 1.0)])
def test_cost_refuses_what_has_none(steps: int, speed: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        cost(steps, speed)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.34, "0.3 s"),
        (9.99, "10.0 s"),
        (42.4, "42 s"),
        (59.7, "1 min"),
        (2807, "46 min 47 s"),
        (3600, "1 h"),
        (19_200, "5 h 20 min"),
        (273_600, "3 d 4 h"),
        (86_399.9, "1 d"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
