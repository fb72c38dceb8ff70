"""Claims that a small experiment answers: what `experiment_script.py` found, as one sentence for each claim."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from envdoctor.errors import Trouble
from envdoctor.facts.environment import Environment
from envdoctor.system import process

SCRIPT = Path(__file__).with_name("experiment_script.py")
DEADLINE = 300.0  # 15 s of CPU time; the loader's workers start slowly on a busy machine
WEIGHTS = 7.5e9  # Phase 1C: 15 GB of bf16


def run(environment: Environment) -> dict[str, Any]:
    """Make the experiments in the environment's own Python. Raises `Trouble` (exit code 3) when none could be made."""
    outcome = process.run([environment.python, "-I", SCRIPT], deadline=DEADLINE)
    try:
        found = json.loads(outcome.out)
    except ValueError:
        last = (outcome.err.strip().splitlines() or [""])[-1]
        raise Trouble(
            f"the experiments on the claims gave no answer: {outcome.ending}. {last}",
            file=environment.path,
            remedy="Check the environment first: envdoctor check",
            exit_code=3,
        ) from None
    return dict(found)


def answer(number: int, found: Mapping[str, Any]) -> str | None:
    """The sentence for a claim, with the numbers found; None where no experiment speaks about it or it failed."""
    if number not in ANSWERS:
        return None
    name, sentence = ANSWERS[number]
    numbers = found.get(name)
    if not isinstance(numbers, Mapping) or "error" in numbers:
        return None
    return sentence(numbers)


def _memory_of_adamw(found: Mapping[str, Any]) -> str:
    each, small = found["float32"]["per_weight"], found["all bf16"]["per_weight"]
    return (
        f"weights, gradients and AdamW states hold {each:.0f} bytes per weight, all in bf16 {small:.0f}: "
        f"{small * WEIGHTS / 1e9:.0f} GB for {WEIGHTS:.3g} weights"
    )


def _random_state(found: Mapping[str, Any]) -> str:
    wrong = found["dropout 0.1, preserve_rng_state=False"]
    kept, without = found["dropout 0.1, preserve_rng_state=True"], found["dropout 0, preserve_rng_state=False"]
    return (
        f"with dropout 0.1 the gradient is {wrong:.0%} off ({kept:.0%} with the state kept); "
        f"without dropout {without:.0%}"
    )


def _recomputation(found: Mapping[str, Any]) -> str:
    return f"{found['ratio']:.2f}x the FLOPs of a step (counted)"


def _saving(found: Mapping[str, Any]) -> str:
    speed = found["bytes_per_second"]
    return f"this disk takes {speed / 1e9:.2f} GB/s: {12 * 0.135e9 / speed:.0f} s for 0.135e9 weights with their states"


def _workers(found: Mapping[str, Any]) -> str:
    none = found["0"]
    said = ", ".join(f"{1e3 * seconds:.2g} ms by {count}" for count, seconds in found.items() if count != "0")
    return f"a batch of tokens in memory takes {1e3 * none:.2g} ms without workers, {said}"


def _switches(found: Mapping[str, Any]) -> str:
    on = [name for name, is_on in found.items() if is_on]
    return f"on in a fresh process: {', '.join(on)}; switching them on again changes nothing"


def _convolutions(found: Mapping[str, Any]) -> str:
    return f"{found['convolutions']} of {found['operators']} operators of a training step are convolutions"


def _vanishing(found: Mapping[str, Any]) -> str:
    half, brain = found["float16"], found["bfloat16"]
    return f"of a real gradient's values (loss / 1,000) {half:.1%} vanish in float16 and {brain:.1%} in bf16, unscaled"


def _autocast(found: Mapping[str, Any]) -> str:
    before, after = found["float32"], found["autocast"]
    return (
        f"weights, gradients, states: {after['per_weight']:.0f} bytes per weight under autocast, "
        f"{before['per_weight']:.0f} without; kept activations {after['activations'] / before['activations']:.2f}x"
    )


def _one_example(found: Mapping[str, Any]) -> str:
    return (
        f"tokenising {found['tokens']:,} tokens takes {1e3 * found['tokenise_seconds']:.2g} ms here, copying their "
        f"{found['bytes'] / 1e3:.0f} kB {1e6 * found['copy_seconds']:.2g} µs"
    )


def _adapters(found: Mapping[str, Any]) -> str:
    full, frozen = found["full"], found["adapters"]
    return (
        f"counted: {full:.1f} FLOP per weight and token for full tuning, {frozen:.1f} with adapters of rank 4; "
        f"with 6 MFU comes out {6 / frozen:.1f}x too high"
    )


def _names(found: Mapping[str, Any]) -> str:
    wrapped, placed = found["torch.compile(model)"], found["model.compile()"]
    return f"torch.compile(model) names a weight {wrapped!r}, model.compile() {placed!r}: loading by name fails"


ANSWERS: Mapping[int, tuple[str, Callable[[Mapping[str, Any]], str]]] = {
    6: ("memory", _memory_of_adamw),
    9: ("random_state", _random_state),
    10: ("recomputation", _recomputation),
    11: ("saving", _saving),
    12: ("workers", _workers),
    13: ("attention_switches", _switches),
    14: ("convolutions", _convolutions),
    15: ("vanishing", _vanishing),
    16: ("memory", _autocast),
    22: ("workers", _workers),
    23: ("one_example", _one_example),
    25: ("adapters", _adapters),
    26: ("compiled_names", _names),
}
