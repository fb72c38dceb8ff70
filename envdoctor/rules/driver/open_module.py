from envdoctor.knowledge.questions import capabilities, capability
from envdoctor.rules.rule import ERROR, NOTE, Facts, Findings, Skip, finding, known, need, rule


@rule(NOTE, kind="gpu-not-visible", subject="kernel module", who="host")
def open_module(facts: Facts) -> Findings:
    """Blackwell and Grace Hopper need the open kernel module, GPUs before Turing the closed one.

    Why: with the wrong flavour the driver loads and finds no device ("No devices were found"). From Turing to Ada
    both work, and neither is faster.
    Fix: install the driver's other flavour (packages named nvidia-open, or without -open).
    Source: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html
    """
    driver = need(facts.driver)
    need(driver.open_module, "the flavour of the kernel module is not known")
    pairs = [pair for pair in map(capability, capabilities(facts)) if pair is not None]
    if not pairs:
        raise Skip("the GPU is not known")
    blackwell, old = max(pairs) >= (10, 0), min(pairs) < (7, 5)
    if not (blackwell and not driver.open_module) and not (old and driver.open_module):
        return
    gpus = known(facts.gpus)
    seen = gpus is not None and bool(gpus.devices)
    need_open = blackwell and not driver.open_module
    yield finding(
        actual="open" if driver.open_module else "closed",
        expected="open" if need_open else "closed",
        severity=NOTE if seen else ERROR,
        message="This GPU is served by the open kernel module only, and the closed one is loaded."
        if need_open
        else "This GPU is older than Turing and is served by the closed kernel module only; the open one is loaded.",
        fix=f"Install the {'open' if need_open else 'closed'} flavour of the driver, and reboot.",
        explains=()
        if seen
        else ("torch/cuda-unavailable", "torch/cuda-error", "driver/nvidia-smi", "driver/cuda-init", "driver/devices"),
    )
