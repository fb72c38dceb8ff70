"""Is the card what it says? Its probes and its state against what a sound card of its model gives: no baseline needed.

Bands are shares of the chip table's figures (``knowledge/gpus.toml``). They come from published measurements, not from
cards of our own, so that their lower ends are widened until reports narrow them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from envdoctor.facts.model import Facts, Gpu
from envdoctor.knowledge import gpus
from envdoctor.knowledge.gpus import GpuModel
from envdoctor.speed.evidence.probes import flat
from envdoctor.speed.evidence.trained_gpu import trained_gpu
from envdoctor.speed.evidence.working_gpu import BUSY
from envdoctor.speed.report import Report

Band = tuple[float, float]

WIDE = 0.15
"""By how much lower ends are widened: SC22 saw cards of one model up to 22 % apart (arXiv 2208.11035)."""
PRODUCTS: Band = (0.80, 0.95)
"""One large shape's share of the best of thousands of shapes, which is what the table's ``achievable`` is."""
LEAST_ACHIEVABLE = 0.66
"""Achievable share of the peak where nobody measured it: the lowest in the table (H100 PCIe, held back by 350 W)."""
COPY: Band = (0.85, 0.94)
TRANSFER: Band = (0.75, 0.95)
LAUNCH = 8.0  # microseconds per tiny kernel; a sound host needs 3 to 6
POWER: Band = (0.95, 1.0)
MEMORY_CLOCK: Band = (0.95, 1.0)
SM_CLOCK: Band = (0.5, 1.0)  # large products pull a card far below its highest clock by rights
LANE = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
"""GB/s of one PCIe lane by generation, after line coding (and FLITs, from 6 on)."""
SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardShare:
    """One figure against its band. ``share``: of what is rated; ``least``: below it the card is not what it says."""

    what: str
    share: float
    least: float
    text: str

    @property
    def short(self) -> bool:
        return self.share < self.least


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What was judged of one card: causes (power, link, clocks) before what they show in (products, copies)."""

    model: GpuModel
    shares: tuple[CardShare, ...]

    @property
    def short(self) -> tuple[CardShare, ...]:
        return tuple(one for one in self.shares if one.short)

    @property
    def judged(self) -> bool:
        """Products and memory at least: a card is not sound because little of it was seen."""
        return {"products", "copy"} <= {one.what for one in self.shares}


def card_of(report: Report, facts: Facts | None) -> Card | None:
    """The card that trained against its kind; None for a CPU, an unknown model, or a part of a card.

    MIG's parts are told by NVML too; the names of vGPUs' profiles have no figures in the table.
    """
    if report.device.type != "cuda":
        return None
    model, chip = gpus.board(report.device.name), trained_gpu(facts, report.device)
    if model is None or (chip is not None and chip.mig):
        return None
    speeds = flat(report.reference_probes)
    state = _of_state(chip, model, speeds) if chip is not None else ()
    return Card(model=model, shares=(*state, *_of_probes(speeds, report.precision, model, chip)))


def _of_probes(speeds: Mapping[str, float], precision: str, model: GpuModel, chip: Gpu | None) -> Iterator[CardShare]:
    yield from _products(speeds, precision, model)
    if (copied := speeds.get("copy_gbs")) and model.bandwidth:
        yield _share("copy", "copies in its memory", copied, model.bandwidth, "GB/s", COPY)
    link = negotiated_rate(chip) if chip is not None else None
    for name, words in (("pinned_to_device_gbs", "to the card"), ("device_to_pinned_gbs", "from the card")):
        moved = speeds.get(name)
        if moved and link and moved <= link:  # faster than its link: the link was read while it rested
            yield _share("transfer", f"transfers {words}", moved, link, "GB/s", TRANSFER, of="its link carries")
    if launched := speeds.get("launch_us"):  # turned into launches per microsecond
        cost = 1.0 / launched
        text = f"a kernel's launch takes {cost:.1f} us, where a sound machine needs less than {LAUNCH:.0f}"
        yield CardShare(what="launch", share=LAUNCH / cost, least=1.0 - WIDE, text=text)


def _products(speeds: Mapping[str, float], precision: str, model: GpuModel) -> Iterator[CardShare]:
    """In the format that the training computes in; by the middle of the repetitions, in which the power limit bites."""
    short = SHORT.get(precision, precision)
    best = speeds.get(f"matmul_{short}_gflops")
    measured, peak = speeds.get(f"matmul_{short}_median_gflops", best), model.peak.get(precision)
    if not measured or not best or not peak:
        return
    rated, of, widened = peak * LEAST_ACHIEVABLE, f"{LEAST_ACHIEVABLE:.2f} of its peak come to", ""
    if model.achievable and peak == model.peak.get("bfloat16"):
        rated, of = model.achievable, "are achievable on it"
    if best > 1.02 * measured:
        widened = f" (the best one {best / 1e3:,.4g})"
    yield _share("products", f"{precision} products{widened}", measured / 1e3, rated, "TFLOP/s", PRODUCTS, of=of)


def _of_state(chip: Gpu, model: GpuModel, speeds: Mapping[str, float]) -> Iterator[CardShare]:
    usual = chip.power_default or model.power
    if chip.power_limit and usual:
        yield _share("power", "its power limit", chip.power_limit, usual, "W", POWER, of="it is made for", wide=0.0)
    if (chip.utilization or 0) < BUSY:
        return  # a resting card clocks down, and so does its link
    yield from _link(chip, model, speeds)
    if chip.memory_clock and chip.memory_clock_max:
        clock = float(chip.memory_clock)
        yield _share("clock", "its memory clock", clock, chip.memory_clock_max, "MHz", MEMORY_CLOCK, wide=0.0)
    if chip.sm_clock and chip.sm_clock_max:
        yield _share("clock", "its clock at work", chip.sm_clock, chip.sm_clock_max, "MHz", SM_CLOCK, wide=0.0)


def _link(chip: Gpu, model: GpuModel, speeds: Mapping[str, float]) -> Iterator[CardShare]:
    carried = negotiated_rate(chip)
    moved = max(speeds.get("pinned_to_device_gbs", 0.0), speeds.get("device_to_pinned_gbs", 0.0))
    if carried is None or moved > carried:
        return  # hypervisors make such figures up
    lanes = int(model.link.partition("x")[2]) if model.link else chip.pcie_width_max
    if chip.pcie_width and lanes:
        share = chip.pcie_width / lanes
        why = ": a narrow slot, or a bad contact" if share < 1.0 else ""
        text = f"its PCIe link has {chip.pcie_width} of {lanes} lanes ({share:.2f}){why}"
        yield CardShare(what="link", share=share, least=1.0, text=text)
    now, most = chip.pcie_generation, chip.pcie_generation_max
    if now in LANE and most in LANE:
        share = LANE[now] / LANE[most]
        text = f"its PCIe link runs at generation {now}, where card and board can do {most} ({share:.2f} of the speed)"
        yield CardShare(what="link", share=share, least=1.0, text=text)


def negotiated_rate(chip: Gpu) -> float | None:
    """GB/s that the link can carry as it was negotiated, in one direction."""
    lane = LANE.get(chip.pcie_generation or 0)
    return lane * chip.pcie_width if lane and chip.pcie_width else None


def _share(
    what: str, words: str, measured: float, rated: float, unit: str, band: Band, *, of: str = "it is rated at",
    wide: float = WIDE,
) -> CardShare:  # fmt: skip
    share, (low, high) = measured / rated, band
    text = (
        f"{words}: {measured:,.4g} of the {rated:,.4g} {unit} that {of} ({share:.2f}; sound is {low:.2f} to {high:.2f})"
    )
    return CardShare(what=what, share=share, least=low * (1.0 - wide), text=text)
