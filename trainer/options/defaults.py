"""What options that are left open become, each with its reason; pure functions of numbers."""

from __future__ import annotations

Table = tuple[tuple[float, float], ...]

# (parameters up to, peak learning rate) of training from random weights: the sizes of GPT-3, table 2.1 of
# arXiv 2005.14165; below its smallest, 1e-3 as for the small bundled models.
FROM_RANDOM: Table = (
    (60e6, 1e-3), (2.4e8, 6e-4), (5.5e8, 3e-4), (1e9, 2.5e-4), (4e9, 2e-4), (1e10, 1.2e-4), (float("inf"), 1e-4),
)  # fmt: skip
# All weights of a trained model: 2e-5 is the usual one for models of 1 to 3 thousand million parameters (TRL's own
# default, Alpaca's for 7B), 1e-5 what Llama 2 (arXiv 2307.09288, 2e-5 with 64 x larger batches) and Tulu 3
# (arXiv 2411.15124, 5e-6 for 8B) lie around for larger ones.
ALL_WEIGHTS: Table = ((4e9, 2e-5), (float("inf"), 1e-5))
# Adapters: 2e-4 up to 13B, 1e-4 above; table 9 of QLoRA, arXiv 2305.14314.
ADAPTERS: Table = ((1.5e10, 2e-4), (float("inf"), 1e-4))
# Adafactor's steps are relative to the size of the weights: its paper's own rate from random weights (arXiv
# 1804.04235, section 8), and that of T5's fine-tuning (arXiv 1910.10683, section 3.1).
RELATIVE = {False: 1e-2, True: 1e-3}
SHORT = 30  # steps below which a run that nobody gave a length is worth a word
WITHOUT_END = 10**6  # epochs of a run that ends by its steps


def learning_rate(parameters: int, adapters: bool, pretrained: bool, relative: bool = False) -> tuple[float, str]:
    """The peak learning rate for a model of that many parameters, and why. relative: of Adafactor, to their size."""
    if relative:
        what = "a trained model, as T5's" if pretrained else "random weights, as in Adafactor's paper"
        return RELATIVE[pretrained], f"relative to the size of each matrix: {what}"
    if adapters:
        table, what = ADAPTERS, "LoRA adapters on a model"
    elif pretrained:
        table, what = ALL_WEIGHTS, "all weights of a trained model"
    else:
        table, what = FROM_RANDOM, "random weights: a model"
    value = next(rate for most, rate in table if parameters <= most)
    return value, f"{what} of {_short(parameters)} parameters"


def warmup(steps: int, schedule: str) -> int:
    """Steps in which the learning rate rises: 10, of a short run a tenth. A rate that then is constant does not depend
    on where the run ends, so that a longer one can go on from it.
    """
    return 10 if schedule == "constant" else min(10, steps // 10)


def too_short(epochs: int, max_steps: int, steps: int) -> str:
    """What to say of a run that nobody gave a length and that ends before it has learnt anything; "" for any other."""
    if epochs or max_steps or steps >= SHORT:
        return ""
    return (
        f"one pass over the data is {steps} step{'s' if steps > 1 else ''}, which teaches little: "
        f"--epochs {-(-SHORT // max(1, steps))} makes {SHORT} or more"
    )


def length(epochs: int, max_steps: int, per_epoch: int) -> tuple[int, int, str]:
    """(epochs, steps in all, why); 0 is an option that is left open. The reason tells which of two ends the run."""
    if not epochs and not max_steps:
        return 1, per_epoch, "one pass over the data"
    if not epochs:
        return WITHOUT_END, max_steps, f"max_steps: {max_steps / max(1, per_epoch):.3g} passes over the data"
    whole = epochs * per_epoch
    if not max_steps:
        return epochs, whole, f"{epochs} passes over the data" if epochs > 1 else "one pass over the data"
    if max_steps < whole:
        return epochs, max_steps, f"max_steps={max_steps} ends the run before epochs={epochs} ({whole} steps) does"
    if max_steps > whole:
        return epochs, whole, f"epochs={epochs} ({whole} steps) ends the run before max_steps={max_steps} does"
    return epochs, whole, f"epochs={epochs} and max_steps={max_steps} end together"


def cuts(epochs: int, max_steps: int, per_epoch: int) -> bool:
    """Does one of two given ends come before the other?"""
    return bool(epochs and max_steps) and epochs * per_epoch != max_steps


def _short(parameters: int) -> str:
    for unit, size in (("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if parameters >= size:
            return f"{parameters / size:.3g}{unit}"
    return str(parameters)
