import pytest

from envdoctor.speed.cost import Price, at_speed, cost, duration


def test_the_misread_log_of_1_25_steps_per_second_is_47_minutes() -> None:
    found = cost(3558, 1.25, price=Price(per_hour=2.5))
    assert duration(found.seconds) == "47 min 26 s"
    assert found.money == pytest.approx(3558 / 1.25 / 3600 * 2.5)


def test_without_a_price_there_is_no_money() -> None:
    assert cost(10, 1.0).money is None


def test_the_same_work_faster_costs_less_in_proportion() -> None:
    mended = at_speed(cost(10_000, 1.0, price=Price(per_hour=3.6)), 2.0)
    assert mended.seconds == 5_000
    assert mended.money == pytest.approx(5.0)
    assert at_speed(cost(10_000, 1.0), 2.0).money is None
    with pytest.raises(ValueError, match="no speed"):
        at_speed(mended, 0.0)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("2.49", "2.00 at 2.49/h"),
        ("2.49/h", "2.00 at 2.49/h"),
        ("$2.49/h", "$2.00 at $2.49/h"),
        ("€ .5", "€2.00 at €0.5/h"),
        ("2.49 EUR/hr", "2.00 EUR at 2.49 EUR/h"),
        ("18 CHF / hour", "2.00 CHF at 18 CHF/h"),
    ],
)
def test_money_is_shown_in_the_unit_and_currency_that_were_typed(typed: str, said: str) -> None:
    assert Price.parse(typed).money(2.0) == said


@pytest.mark.parametrize("typed", ["", "free", "-1", "0", "2,49", "$2 EUR/h", "2/day", "1e9", "1 2", "nan"])
def test_what_is_no_price_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"price|money"):
        Price.parse(typed)


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
