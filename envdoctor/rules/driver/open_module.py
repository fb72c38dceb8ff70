from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.machine import capabilities
from envdoctor.compat.numbers import capability
from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def open_module(facts: Facts, target: Target) -> Iterator[Finding]:
    """Blackwell and Grace Hopper need the open kernel module, GPUs before Turing the closed one.

    Why: with the wrong flavour the driver loads and finds no device ("No devices were found"). From Turing to Ada
    both work, and neither is faster.
    Fix: install the driver's other flavour (packages named nvidia-open, or without -open).
    Source: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html
    """
    driver = need(facts.driver)
    if driver.open_module is None:
        raise Skip("the flavour of the kernel module is not known")
    pairs = [pair for pair in map(capability, capabilities(facts)) if pair is not None]
    if not pairs:
        raise Skip("the GPU is not known")
    blackwell, old = max(pairs) >= (10, 0), min(pairs) < (7, 5)
    if not (blackwell and not driver.open_module) and not (old and driver.open_module):
        return
    gpus = known(facts.gpus)
    seen = gpus is not None and bool(gpus.devices)
    need_open = blackwell and not driver.open_module
    yield Finding(
        kind="gpu-not-visible",
        subject="kernel module",
        actual="open" if driver.open_module else "closed",
        expected="open" if need_open else "closed",
        message="This GPU is served by the open kernel module only, and the closed one is loaded."
        if need_open
        else "This GPU is older than Turing and is served by the closed kernel module only; the open one is loaded.",
        remedy=Remedy(text=f"Install the {'open' if need_open else 'closed'} flavour of the driver, and reboot."),
        who="host",
        severity=Severity.NOTE if seen else Severity.ERROR,
        explains=()
        if seen
        else ("torch/cuda-unavailable", "torch/cuda-error", "driver/nvidia-smi", "driver/cuda-init"),
        root_rank=0 if seen else 89,
    )
