import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.speed.breakdown import PARTS, Breakdown, diagnose, of_windows
from tests.speed.making import windows


def broken_down(**parts: float) -> Breakdown:
    return Breakdown(seconds=1.0, steps=10, parts=parts)


CASES = [
    ({"data": 0.35, "forward": 0.25, "backward": 0.4}, "waits 35% of its time for data"),
    ({"copy": 0.2, "forward": 0.3, "backward": 0.5}, "copying batches"),
    ({"optimizer": 0.5, "forward": 0.2, "backward": 0.3}, "the optimizer takes 50%"),
    ({"checkpoint": 0.3, "forward": 0.3, "backward": 0.4}, "checkpoints"),
    ({"forward": 0.3, "backward": 0.4}, "30% of the time goes outside the step's own work"),
    ({"data": 0.05, "optimizer": 0.2, "forward": 0.25, "backward": 0.5}, "75% of the time is forward and backward"),
    ({"data": 0.2, "optimizer": 0.6, "forward": 0.1, "backward": 0.1}, "waits 20%"),
    ({}, "did not record"),
]


@pytest.mark.parametrize(("parts", "said"), CASES)
def test_one_sentence_names_the_largest_loss(parts: dict[str, float], said: str) -> None:
    assert said in diagnose(broken_down(**parts))


def test_windows_are_summed() -> None:
    found = of_windows(windows(10.0, count=4, steps=5))
    assert found.steps == 20
    assert found.seconds == pytest.approx(2.0, rel=1e-4)
    assert found.shares["backward"] == pytest.approx(0.6)


@given(st.dictionaries(st.sampled_from(PARTS), st.floats(0, 0.14)))
def test_shares_always_add_up_to_the_wall_time(parts: dict[str, float]) -> None:
    found = broken_down(**parts)
    if found.known:
        assert sum(found.shares.values()) == pytest.approx(1.0)
