from __future__ import annotations

import pytest

from trainer.options import defaults
from trainer.options.settings import from_mapping


@pytest.mark.parametrize(
    ("parameters", "adapters", "pretrained", "rate"),
    [
        (5_000_000, False, False, 1e-3), (125_000_000, False, False, 6e-4), (1_300_000_000, False, False, 2e-4),
        (500_000_000, False, True, 2e-5), (8_000_000_000, False, True, 1e-5), (8_000_000_000, True, True, 2e-4),
        (70_000_000_000, True, True, 1e-4), (10**12, False, False, 1e-4),
    ],
)  # fmt: skip
def test_the_rate_follows_from_what_is_trained(parameters: int, adapters: bool, pretrained: bool, rate: float) -> None:
    found, why = defaults.learning_rate(parameters, adapters, pretrained)
    assert found == rate
    assert ("LoRA" in why, "trained model" in why, "random" in why) == (
        adapters, pretrained and not adapters, not pretrained and not adapters,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("epochs", "max_steps", "steps", "said"),
    [
        (0, 0, 8, "one pass"), (3, 0, 24, "3 passes"), (0, 20, 20, "2.5 passes"),
        (3, 12, 12, "max_steps=12 ends the run before epochs=3 (24 steps)"),
        (1, 12, 8, "epochs=1 (8 steps) ends the run before max_steps=12"), (1, 8, 8, "end together"),
    ],
)  # fmt: skip
def test_neither_end_cuts_the_other_in_silence(epochs: int, max_steps: int, steps: int, said: str) -> None:
    _, found, why = defaults.length(epochs, max_steps, 8)
    assert found == steps
    assert said in why
    assert defaults.cuts(epochs, max_steps, 8) == ("before" in said)


@pytest.mark.parametrize(
    ("steps", "schedule", "rising"),
    [(2, "cosine", 0), (25, "linear", 2), (100, "cosine", 10), (10**6, "cosine", 10), (2, "constant", 10)],
)
def test_a_short_run_does_not_end_while_the_rate_still_rises(steps: int, schedule: str, rising: int) -> None:
    assert defaults.warmup(steps, schedule) == rising


@pytest.mark.parametrize(
    ("epochs", "max_steps", "steps", "said"),
    [(0, 0, 2, "is 2 steps, which teaches little: --epochs 15 makes 30"), (0, 0, 1, "is 1 step,"), (0, 0, 30, ""),
     (1, 0, 2, ""), (0, 2, 2, "")],
)  # fmt: skip
def test_a_run_too_short_to_learn_from_says_so_once_nobody_asked_for_it(
    epochs: int, max_steps: int, steps: int, said: str
) -> None:
    found = defaults.too_short(epochs, max_steps, steps)
    assert said in found
    assert bool(said) == bool(found)


def test_auto_is_a_value_of_what_the_run_decides_and_of_nothing_else() -> None:
    assert from_mapping({"learning_rate": "auto", "epochs": "auto"}, "here") == from_mapping({}, "here")
    with pytest.raises(Exception, match="not a number"):
        from_mapping({"log_every": "auto"}, "here")
