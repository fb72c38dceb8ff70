from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def persistence(facts: Facts, target: Target) -> Iterator[Finding]:
    """Persistence mode is off.

    Why: without it the driver lets go of a GPU when its last program ends, and takes one to several seconds to start
    it again. It costs start-up time and nothing while training. Windows has no such mode.
    Fix: switch it on, on the host.
    Source: https://docs.nvidia.com/deploy/driver-persistence/
    """
    gpus, host = need(facts.gpus), known(facts.host)
    modes = [gpu.persistence for gpu in gpus.devices]
    if all(mode is None for mode in modes):
        raise Skip("persistence mode was not read")
    off = [str(gpu.index) for gpu in gpus.devices if gpu.persistence is False]
    windows = host is not None and (host.system == "Windows" or (host.container or "").startswith("wsl"))
    if not off or windows:
        return
    yield Finding(
        kind="gpu-limited",
        subject="persistence mode",
        actual=f"off on GPU {', '.join(off)}",
        expected="on",
        message=f"Persistence mode is off on GPU {', '.join(off)}: each program waits for the driver to start the GPU.",
        remedy=Remedy(text="Switch it on.", commands=("sudo nvidia-smi -pm 1",)),
        who="host",
    )
