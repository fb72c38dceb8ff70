"""The command that holds a claimed speed against the chip: the write-ups' 5 it/s, with the arithmetic shown."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from envdoctor.commands.baseline import command
from envdoctor.errors import Trouble
from envdoctor.speed.cost import Price
from envdoctor.speed.limit import ClaimedSpeed, answer

WRITE_UP: dict[str, Any] = {"weights": 7.5e9, "tokens": 8000.0, "gpu": "H100"}  # 8 examples of about 1,000 tokens


@pytest.mark.parametrize(
    ("claim", "possible", "said"),
    [
        (1.25, True, "possible: 1.25 steps per second would be 4.5e+14 FLOP/s, 45%"),
        (2.5, True, "beyond what matrix products reach"),
        (3.0, False, "impossible: 3 steps per second would be 1.08e+15 FLOP/s, 109%"),
        (5.0, False, "impossible: 5 steps per second would be 1.8e+15 FLOP/s, 182% of H100 80GB HBM3's peak"),
    ],
)
def test_the_claims_of_the_write_up(claim: float, possible: bool, said: str) -> None:
    found = answer(ClaimedSpeed(**WRITE_UP, claim=claim))
    assert found.possible is possible
    assert any(line.startswith(said) for line in found.lines)
    assert found.limit == pytest.approx(2.749, abs=1e-3)
    assert found.achievable == pytest.approx(2.207, abs=1e-3)


def test_lora_needs_two_thirds_of_the_operations() -> None:
    assert answer(ClaimedSpeed(**WRITE_UP, frozen=True)).limit == pytest.approx(
        1.5 * answer(ClaimedSpeed(**WRITE_UP)).limit
    )


def test_time_and_money_at_the_claim_and_at_best() -> None:
    lines = answer(ClaimedSpeed(**WRITE_UP, claim=1.25, steps=3558, price=Price(per_hour=2.49))).lines
    assert "3,558 steps at the claim (1.25/s): 47 min 26 s, 1.97 at 2.49/h" in lines
    assert any(line.startswith("3,558 steps at best in practice (2.21/s): 26 min 52 s, 1.12") for line in lines)


@pytest.mark.parametrize(
    ("change", "said"), [({"gpu": "H999"}, "not known"), ({"gpu": "V100", "precision": "bfloat16"}, "has no unit")]
)
def test_what_cannot_be_answered_is_said(change: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        answer(ClaimedSpeed(**{**WRITE_UP, **change}))


def test_the_command_fails_on_an_impossible_claim_and_shows_why() -> None:
    words = ["limit", "--gpu", "H100", "--weights", "7.5e9", "--tokens", "8000", "--claim", "5"]
    outcome = CliRunner().invoke(command, words, standalone_mode=False)
    assert outcome.return_value == 1
    assert "3.6e+14 FLOP per step" in outcome.output
    assert "182% of H100 80GB HBM3's peak" in outcome.output
    words[2] = "H999"
    assert isinstance(CliRunner().invoke(command, words, standalone_mode=False).exception, Trouble)
