"""The sums behind the claims, done anew each time they are printed: every function returns one sentence."""

from __future__ import annotations

from envdoctor.knowledge import gpus
from envdoctor.speed.cost import duration
from envdoctor.speed.roofline import flops

# The training run of the Phase 1C summary: its own figures.
STEPS, SPEED = 3558, 1.25
WEIGHTS = 7.5e9  # 15 GB of bf16
EXAMPLES_PER_STEP, TOKENS_PER_EXAMPLE = 8, 1000


def _peak(name: str, precision: str) -> float:
    chip = gpus.board(name)
    peak = chip.peak_flops(precision) if chip else None
    if peak is None:
        raise ValueError(f"{name} has no {precision} peak")
    return peak


def eta_of_the_log() -> str:
    return f"{STEPS} steps at {SPEED} it/s take {duration(STEPS / SPEED)}, not 47 h"


def eta_of_the_claim() -> str:
    slow, fast = duration(STEPS / 3.0), duration(STEPS / 5.0)
    return f"at 3-5 it/s those {STEPS} steps take {slow} to {fast}; 5-8 h would be {STEPS / 5 / 3600:.2f} it/s or less"


def limit_of_the_claim() -> str:
    work = flops(weights=WEIGHTS, tokens=EXAMPLES_PER_STEP * TOKENS_PER_EXAMPLE)
    peak = _peak("NVIDIA H100", "bfloat16")
    return (
        f"6 x {WEIGHTS:.3g} x {EXAMPLES_PER_STEP * TOKENS_PER_EXAMPLE:,} tokens = {work:.3g} FLOP per step: "
        f"5 it/s is {5 * work / peak:.0%} of the peak, the limit is {peak / work:.2f} it/s, "
        f"and 1.25 it/s already is {1.25 * work / peak:.0%}"
    )


def tf32_peaks() -> str:
    h100, a100 = "NVIDIA H100", "NVIDIA A100"
    eight = _peak(a100, "tf32") / _peak(a100, "float32")
    half = _peak(h100, "tf32") / _peak(h100, "bfloat16")
    return (
        f"8x is the A100's peak of TF32 over float32 ({eight:.0f}x); over bf16 TF32 is {half:.1f}x, "
        "and it concerns no bf16 product: at most 1.0x"
    )


def adamw_memory() -> str:
    return (
        f"{WEIGHTS:.3g} weights: {8 * WEIGHTS / 1e9:.0f} GB all in bf16, {18 * WEIGHTS / 1e9:.0f} GB in mixed precision"
    )


def truncation() -> str:
    longest, cap, old = 1481, 1536, 2048
    return (
        f"padded to the cap: {1 - cap / old:.0%} fewer slots; padded to the longest of the batch: 0 %, since no "
        f"example is longer than {longest:,} tokens"
    )


def recomputation() -> str:
    return f"8 instead of 6 FLOP per weight and token: at most {6 / 8:.2f}x where matrix products are the limit"


def checkpoint_share() -> str:
    every, save, step = 500, 60.0, 0.8
    share = save / (every * step + save)
    return f"a 60 s save every {every} steps of {step} s is {share:.0%} of the time; saved in the background, about 0"


def smallest_gradients() -> str:
    return f"smallest normal number: float16 {2.0**-14:.1e}, bf16 {2.0**-126:.1e}, float32 {2.0**-126:.1e}"


def autocast_memory() -> str:
    full, autocast = 4 + 4 + 8, 4 + 2 + 4 + 8
    return f"bytes per weight with AdamW: float32 {full}, autocast {autocast} (weights, cast copy, gradient, states)"


def bf16_cards() -> str:
    cards = (model for model in gpus.models().every() if model.name.startswith("GeForce RTX"))
    found = dict.fromkeys(model.generation for model in cards if "bfloat16" in model.peak)
    return f"GeForce cards with bf16 tensor cores: {', '.join(found)}"


def launch_overhead() -> str:
    kernels, launch = 1500, 5e-6
    host = kernels * launch
    short, long = (step / (step - host) for step in (15e-3, 0.7))
    return (
        f"{kernels} launches of 5 µs are {1e3 * host:.1f} ms: CUDA graphs make a 15 ms step at most {short:.1f}x "
        f"faster, one of 700 ms {long:.2f}x"
    )


def compile_break_even() -> str:
    cold, step = 22.0, 58.8e-3
    saving = step - 18.7e-3
    return f"a cold start of {cold:.0f} s repays itself after {cold / saving:.0f} steps at the best published saving"


def amdahl() -> str:
    share = 0.7
    return (
        f"8x on matrix products that are {share:.0%} of a step: {1 / (1 - share + share / 8):.1f}x for the whole step"
    )


def utilisation() -> str:
    peak = _peak("NVIDIA H100", "bfloat16")
    return f"one busy SM of 132 reads 100 % and reaches {peak / 132 / 1e12:.1f} of {peak / 1e12:.0f} TFLOP/s"


def copy_of_one_example() -> str:
    size, pcie = 1000 * 8 * 3, 12e9
    tokens_per_second = 1e6
    return (
        f"1,000 tokens as three int64 rows are {size / 1e3:.0f} kB: {1e6 * size / pcie:.0f} µs at 12 GB/s; a tokenizer "
        f"of a million tokens per second needs {1e3 * 1000 / tokens_per_second:.0f} ms for them"
    )


def lora_flops() -> str:
    full, frozen = flops(weights=1.0, tokens=1.0), flops(weights=1.0, tokens=1.0, frozen=True)
    return (
        f"{frozen:.0f}, not {full:.0f} FLOP per weight and token: counted with 6, MFU is {full / frozen:.1f}x too high"
    )
