"""`python -m tests.benchmarks.gpu NAME [options]`: one measurement, or `all` of them."""

from __future__ import annotations

import importlib
import sys

# In order of value: what is most needed when time runs out comes first.
MEASUREMENTS: dict[str, str] = {
    "agreement": "does everything the trainer computes on the device agree with float32 on the CPU?",
    "doctor": "does envdoctor check agree with NVML, torch and cuInit, and what does it cost?",
    "probes": "the machine's own speed against what is known of the chip",
    "trainer_speed": "tokens/s, MFU, memory, idle share of the trainer's tasks and shapes",
    "rivals": "the trainer against transformers' Trainer and TRL, taking turns, losses compared",
    "attention": "every attention kernel by head width and length; the order for a target file",
    "claims": "what single settings are worth: TF32, packing, compile, recomputation, loaders ...",
    "run_measure": "run --measure: its overhead, and what it says of a loop that starves the GPU",
    "baselines": "a target's baseline from fresh processes, and those derived from it",
}


def main(arguments: list[str] | None = None) -> int:
    """Dispatch; returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0] not in (*MEASUREMENTS, "all"):
        lines = ["python -m tests.benchmarks.gpu NAME [--size toy|full] [--device D] [--minutes M] [--output FILE]"]
        lines += ["  %-14s %s" % item for item in [*MEASUREMENTS.items(), ("all", "every one, within --minutes")]]
        sys.stderr.write("\n".join(lines) + "\n")
        return 2
    if words[0] == "all":
        from tests.benchmarks.gpu.everything import main as run_all

        return run_all(words[1:])
    from tests.benchmarks.gpu.session import Session

    module = importlib.import_module("tests.benchmarks.gpu." + words[0])
    session = Session.from_arguments(words[0], module.__doc__ or "", words[1:])
    code: int = session.run(module.measure)
    return code


if __name__ == "__main__":
    sys.exit(main())
