"""Memory that a workload takes, held against what is free before it is started.

A training that outgrows its machine ends in the kernel's choice of a victim, which may be somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.facts.model import Facts, Unavailable

# Peak resident memory of one process on a CPU, bytes, as measured on Linux with torch 2.13 for CPUs and the workload's
# own settings (chat-5m: 0.79e9); of chat-1b only what its weights, gradients and moments take. On a GPU the card holds
# it, and the trainer fits itself to the card.
ON_CPU: Mapping[str, float] = {"chat-5m": 1e9, "chat-135m": 18e9, "chat-1b": 20e9}


def too_little_memory(workload: str, facts: Facts) -> tuple[str, str] | None:
    """Why ``workload`` is not started here, and what to do instead; None where it fits or where that is not known."""
    needed = None if _has_gpu(facts) else ON_CPU.get(workload)
    if needed is None or isinstance(facts.host, Unavailable):
        return None
    known = [bytes_ for bytes_ in (facts.host.memory_available, facts.host.memory_limit) if bytes_ is not None]
    free = min(known, default=None)
    if free is None or needed <= free:
        return None
    fitting = [name for name, bytes_ in ON_CPU.items() if bytes_ <= free]
    instead = f"Take a smaller one: --workload {fitting[-1]}" if fitting else "Free some memory, or give the job more."
    return f"{workload} takes {needed / 1e9:.0f} GB of memory on a CPU, and {free / 1e9:.1f} GB are free", instead


def _has_gpu(facts: Facts) -> bool:
    return not isinstance(facts.gpus, Unavailable) and bool(facts.gpus.devices)
