"""How long a step should take on a card that nobody has timed yet: counted work over what the card gives.

Every part is bound by one thing: products by the card's units, attention by the same units less well fed, everything
else by its memory, and the whole by the host that launches the kernels where the card waits for it. Two efficiencies
say how much of the units and of the memory real trainings reach; they are calibrated on published speeds, generation by
generation (``tests/speed/published_speeds.toml``, ``calibration.py``).

The estimate is for `expected_step`'s callers to compare with: its ``log_sd`` says how far off it may be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from envdoctor.knowledge.gpus import GpuModel
from envdoctor.knowledge.work import Work

Part = Literal["products", "attention", "memory", "launches"]
PARTS: tuple[Part, ...] = ("products", "attention", "memory", "launches")

PRODUCT_PROBE, COPY_PROBE = 0.875, 0.895
"""What the trainer's own probes reach of a sound card's achievable products and of its rated bandwidth: the middles of
the bands in ``evidence/card.py``, without which probes and chip table would not mean the same."""
LEAST_ACHIEVABLE = 0.66
"""Achievable share of the peak where nobody measured it: the lowest one in the table (H100 PCIe)."""
LAUNCH = 5e-6
"""Seconds that a sound host needs for one kernel's launch where nobody probed it."""
EAGER = 2.0
"""How many probed launches one kernel of an eager step costs its host: modules, autograd and autocast around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """What real trainings reach: of the achievable products, of attention relative to products, of the bandwidth.

    ``log_sd``: by how much (log) a step's time may be off, from rows that were left out of the calibration.
    """

    products: float
    attention: float
    memory: float
    log_sd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a device gives: FLOP/s by number format, FLOP/s of attention (None: follows from products), bytes/s, and
    seconds a launch. ``beside``: the host launches while the device works; a CPU does both itself.

    ``efficiency``: how much of them a step reaches; 1 of what was probed at the step's own shapes.
    """

    products: Mapping[str, float]
    bandwidth: float
    attention: float | None = None
    launch: float = LAUNCH
    beside: bool = True
    efficiency: Efficiency


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """``seconds`` of a step; ``log_sd``: how far (log) a sound step may be off; ``parts``: seconds of each, which add
    up."""

    seconds: float
    log_sd: float
    parts: Mapping[Part, float] = field(default_factory=dict)

    @property
    def shares(self) -> dict[Part, float]:
        return {part: seconds / self.seconds for part, seconds in self.parts.items()}

    @property
    def range(self) -> tuple[float, float]:
        """Seconds between which 95 of 100 sound cards end."""
        return self.seconds * math.exp(-2.0 * self.log_sd), self.seconds * math.exp(2.0 * self.log_sd)


def expected_step(work: Work, device: GpuModel | Rates) -> Expectation:
    """The expected time of one step of ``work`` on a chip by its data sheet, or by rates that were probed.

    Raises ValueError where a figure that the step depends on is not known of the chip.
    """
    rates = device if isinstance(device, Rates) else rates_of_chip(device)
    reached = rates.efficiency
    products = attention = 0.0
    for form, flops in work.products.items():
        products += flops / (_rate(rates, form) * reached.products)
    if work.attention:
        fed = rates.attention or _rate(rates, work.precision) * reached.attention
        attention = work.attention / fed
    memory = work.bytes / (rates.bandwidth * reached.memory)
    busy = products + attention + memory
    launches = max(0.0, work.launches * rates.launch - (busy if rates.beside else 0.0))
    parts: dict[Part, float] = {
        "products": products, "attention": attention, "memory": memory, "launches": launches,
    }  # fmt: skip
    return Expectation(seconds=busy + launches, log_sd=reached.log_sd, parts=parts)


def _rate(rates: Rates, form: str) -> float:
    known = rates.products.get(form)
    if not known:
        raise ValueError(f"nothing is known of products in {form} on this device")
    return known


def rates_of_chip(chip: GpuModel) -> Rates:
    """By the chip's table. Raises ValueError where its bandwidth or peaks are not known."""
    if not chip.bandwidth or not chip.peak:
        raise ValueError(f"the peak or the bandwidth of {chip.name} is not known")
    return Rates(
        products=_achievable(chip),
        bandwidth=chip.bandwidth * 1e9,
        launch=EAGER * LAUNCH,
        efficiency=efficiency_of(chip),
    )


def rates_of_probes(speeds: Mapping[str, float], chip: GpuModel) -> Rates:
    """By the card's own probes (`evidence.probes.flat` of a report), and by the chip's table where one is missing.

    A card that is slow by itself is then expected to train slowly: that it is slow is `evidence.card`'s to say.
    """
    rated = rates_of_chip(chip)
    products = dict(rated.products)
    for form, short in (("bfloat16", "bf16"), ("float16", "fp16"), ("float32", "fp32"), ("tf32", "tf32")):
        probed = speeds.get(f"matmul_{short}_median_gflops", speeds.get(f"matmul_{short}_gflops"))
        if probed and form in chip.peak:
            products[form] = probed * 1e9 / PRODUCT_PROBE
    copied, launched = speeds.get("copy_gbs"), speeds.get("launch_us")  # the latter turned into launches per us
    return Rates(
        products=products,
        bandwidth=copied * 1e9 / COPY_PROBE if copied else rated.bandwidth,
        launch=EAGER * 1e-6 / launched if launched else rated.launch,
        efficiency=rated.efficiency,
    )


def _achievable(chip: GpuModel) -> dict[str, float]:
    """FLOP/s by number format: the measured share of the peak, which is bfloat16's, held to be every format's."""
    share = chip.achievable_share() or LEAST_ACHIEVABLE
    return {form: tera * 1e12 * share for form, tera in chip.peak.items()}


def efficiency_of(chip: GpuModel) -> Efficiency:
    """Of the chip's generation; of the most like one, with more doubt, where no published speed was found."""
    known = EFFICIENCIES.get(chip.generation)
    if known is not None:
        return known
    like = EFFICIENCIES["Ampere"]
    return Efficiency(
        products=like.products, attention=like.attention, memory=like.memory, log_sd=math.hypot(like.log_sd, UNKNOWN)
    )


UNKNOWN = 0.20
"""Log-sd that is added for a generation of which no published speed was found."""
ATTENTION: Mapping[str, Mapping[str, float]] = {
    "triton-1": {"Ampere": 0.40, "Hopper": 0.22},
    "flash-1": {"Ampere": 0.45, "Ada": 0.45, "Hopper": 0.25},
    "flash-2": {"Ampere": 0.70, "Ada": 0.70, "Hopper": 0.42, "Blackwell": 0.30},
    "cudnn": {"Ampere": 0.70, "Ada": 0.70, "Hopper": 0.70, "Blackwell": 0.65},
}
"""What attention kernels reach, both passes together, of the achievable products in 16 bits.

FlashAttention and its form in Triton come to 25 to 40 % of an A100's peak, FlashAttention-2 to 73 % at best (arXiv
2307.08691, figures 4 and 5) and to 335 TFLOP/s on an H100 (the same, section 4.2), FlashAttention-3, which cuDNN's is
like, to 75 % of it forward and less backward (arXiv 2407.08608). torch's varlen_attn is FlashAttention-2.
"""
EFFICIENCIES: Mapping[str, Efficiency] = {
    "Ampere": Efficiency(products=0.745, attention=0.70, memory=0.75, log_sd=0.21),
    "Ada": Efficiency(products=0.95, attention=0.70, memory=0.75, log_sd=0.30),
    "Hopper": Efficiency(products=0.625, attention=0.42, memory=0.75, log_sd=0.21),
    "Blackwell": Efficiency(products=0.70, attention=0.30, memory=0.75, log_sd=0.30),
}
"""As calibrated (``tests/speed/calibration.py``): Ampere and Hopper on a dozen rows each, Ada on one, Blackwell on two.

``log_sd``, for Ampere and Hopper: 0.15, by which rows of other software than the one that most rows are of are off;
and 0.14, for the bundled trainer's steps are two thirds memory where those rows are a fifth, and the memory's
efficiency may be anything from 0.6 to 0.9. The other two generations have hardly a row: 0.3.
"""
