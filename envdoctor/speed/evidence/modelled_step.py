"""Is the step as fast as this very card allows? Timed steps against counted work over the card's own probes.

No baseline is needed, and a card that is slow by itself does not look like a slow stack: its probes say so, and
`evidence.card` judges them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from envdoctor.knowledge.gpus import GpuModel
from envdoctor.knowledge.work import Work, work_of
from envdoctor.speed.breakdown import DATA_WAIT_LIMIT, Breakdown
from envdoctor.speed.distributions import t_quantile
from envdoctor.speed.evidence.evidence import Cause
from envdoctor.speed.evidence.probes import flat
from envdoctor.speed.modelled import Expectation, Rates, expected_step, rates_of_probes
from envdoctor.speed.report import Report, idle_share
from envdoctor.speed.statistics import POWER

SURE = 2.0
"""Standard deviations of the model beyond which a step is called slower than its card allows."""
LEAST_FAULT = 0.10
"""Log slow-down from which on something that was seen directly is called a fault."""
MOST_OTHER = 2.0
"""Steps of so many times the counted tokens, or of that part of them, are other work than was counted."""
PLAUSIBLE = 1.0
"""Standard deviations within which it is called as expected; between the two nothing is said."""
IDLE_LIMIT = 0.25
"""Share of the time without any kernel from which the host is what holds a card back."""
UPDATE_LIMIT = 1.5
"""The update only streams through memory: so much slower than its bytes allow, it is memory that is slow."""
COMPILED, COMPILED_DOUBT = 0.4, 0.20
"""Share of an eager step's bytes that is left when its layers are compiled (Inductor makes 4 kernels of a layer's norm
and activation for sm_90), and the log-sd that this adds."""
RECOMPUTED = {"none": 0.0, "alternate": 0.5, "full": 1.0}
FUSED_ATTENTION = {"varlen", "flash-attn", "flex", "counted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelledStep:
    """``seconds`` of a timed step beside what was ``expected``. ``misses``: the part that it loses most in, in words;
    ``cause``: whose that is. ``fault``: log of what that alone makes of a step's time, where it was seen and needs no
    model to be believed: the share of its time that it waits, a number format that this card is not made for."""

    seconds: float
    expected: Expectation
    misses: str
    cause: Cause
    fault: float = 0.0

    @property
    def off(self) -> float:
        """Log of the timed seconds over the expected: above 0 is slower."""
        return math.log(self.seconds / self.expected.seconds)

    @property
    def slower(self) -> bool:
        return self.off > SURE * self.expected.log_sd or self.fault > LEAST_FAULT

    @property
    def loss(self) -> float:
        """By how much (0.3: 30 %) it is slower than the card allows: by the model beyond its doubt, else as seen."""
        return -math.expm1(-(self.off if self.off > SURE * self.expected.log_sd else self.fault))

    @property
    def plausible(self) -> bool:
        return self.off <= PLAUSIBLE * self.expected.log_sd

    @property
    def resolution(self) -> float:
        """The slow-down that nine in ten sound cards with it would have been called slower for."""
        return 1.0 - math.exp(-(SURE + t_quantile(POWER, 1e6)) * self.expected.log_sd)

    @property
    def text(self) -> str:
        """Figures: what it takes, what was expected, and of what."""
        low, high = self.expected.range
        parts = ", ".join(f"{part} {share:.0%}" for part, share in self.expected.shares.items() if share >= 0.01)
        return (
            f"a step takes {_time(self.seconds)}, where counted work and this card's probes let expect "
            f"{_time(self.expected.seconds)} ({_time(low)} to {_time(high)}): {parts}"
        )


def modelled_step(
    reports: tuple[Report, ...], spent: Breakdown, rate: float | None, chip: GpuModel
) -> ModelledStep | None:
    """The timed steps of a bundled workload; None where its work was not counted or the chip lacks a figure.

    ``rate``: steps per second.
    """
    first = reports[0]
    usual = usual_format(chip)
    work = work_of(first.workload or "", usual)
    if work is None or not rate or first.task not in ("", "sft"):
        return None
    real = first.tokens_per_step.get("real") or work.tokens
    if not 1.0 / MOST_OTHER <= real / work.tokens <= MOST_OTHER:
        return None
    settings = _settings(first)
    try:
        rates = rates_of_probes(flat(first.reference_probes), chip)
        expected = expected_step(_as_run(work, first, settings), rates)
    except ValueError:
        return None
    if settings.get("compile") == "on":
        expected = replace(expected, log_sd=math.hypot(expected.log_sd, COMPILED_DOUBT))
    cause, misses, fault = next(_losses(reports, spent, usual, settings, work, rates, 1.0 / rate))
    return ModelledStep(seconds=1.0 / rate, expected=expected, misses=misses, cause=cause, fault=fault)


def usual_format(chip: GpuModel) -> str:
    """What the trainer chooses for such a card (`trainer/compute/hardware.py`)."""
    major = int(chip.capability.partition(".")[0])
    return "bfloat16" if major >= 8 else "float16" if major == 7 else "float32"


def _settings(report: Report) -> dict[str, str]:
    given = {name: str(value) for name, value in report.settings.items()}
    return {**given, **{choice.what: choice.value for choice in report.choices}}


def _recomputed_share(choice: str) -> float:
    """Share of the layers, of what the trainer says it chose: a name, or "5 of 16 layers"; both may have more behind a
    comma."""
    word = choice.partition(",")[0]
    if counted := re.match(r"(\d+) of (\d+) layers$", word):
        return int(counted[1]) / int(counted[2])
    return RECOMPUTED.get(word, 0.0)


def _as_run(work: Work, report: Report, settings: Mapping[str, str]) -> Work:
    """The counted step with the tokens of the timed ones, with what they compute again, and compiled where they are."""
    real = report.tokens_per_step.get("real") or work.tokens
    scale = real / work.tokens
    again = _recomputed_share(settings.get("recompute", "none"))
    of_layers = work.bytes - work.optimizer_bytes
    fewer = COMPILED if settings.get("compile") == "on" else 1.0
    return replace(
        work,
        tokens=real,
        products={form: flops * scale * (1.0 + again / 3.0) for form, flops in work.products.items()},
        attention=work.attention * scale * (1.0 + again * 2.0 / 7.0),
        bytes=of_layers * scale * (1.0 + again / 3.0) * fewer + work.optimizer_bytes,
        launches=work.launches * (1.0 + again / 3.0) * fewer,
    )


def _losses(
    reports: tuple[Report, ...], spent: Breakdown, usual: str, settings: Mapping[str, str], work: Work,
    rates: Rates, seconds: float,
) -> Iterator[tuple[Cause, str, float]]:  # fmt: skip
    """What a slow step loses most in, and what that alone costs (log): what was seen first, what is left at the end."""
    waits = spent.shares["data"]
    if waits > DATA_WAIT_LIMIT:
        yield "data", f"it waits {waits:.0%} of its time for data", -math.log1p(-min(waits, 0.99))
    format_ = reports[0].precision
    if format_ != usual:
        misses = f"its products are computed in {format_}, and this card is made for {usual}"
        yield "settings", misses, _worth(work, format_, rates)
    attention = settings.get("attention", "varlen")
    if attention not in FUSED_ATTENTION:
        yield "settings", f"attention runs as {attention!r}, not as one kernel for packed rows", 0.0
    idle = idle_share(reports)
    if idle is not None and idle > IDLE_LIMIT:
        yield "machine", f"the card runs nothing for {idle:.0%} of the time: its host launches too slowly", 0.0
    streamed = work.optimizer_bytes / (rates.bandwidth * rates.efficiency.memory)
    update = spent.shares["optimizer"] * seconds
    if streamed and update > UPDATE_LIMIT * streamed:
        misses = f"its memory-bound kernels are slow: the update takes {update / streamed:.1f}x what its bytes do"
        yield "stack", misses, 0.0
    misses = "its products or attention run in slow kernels, for card, memory, host and data are as they should be"
    yield "stack", misses, 0.0


def _worth(work: Work, format_: str, rates: Rates) -> float:
    """Log of a step's time in another number format over its time in the usual one: errors of the model cancel."""
    other = work_of(work.workload, format_)
    try:
        return math.log(expected_step(other, rates).seconds / expected_step(work, rates).seconds) if other else 0.0
    except ValueError:
        return 0.0


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"
