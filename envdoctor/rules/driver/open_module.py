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
    if not (old if driver.open_module else blackwell):
        return
    gpus = known(facts.gpus)
    seen = gpus is not None and bool(gpus.devices)
    loaded, needed, message = _OLD_GPU if driver.open_module else _NEW_GPU
    yield finding(
        actual=loaded,
        expected=needed,
        severity=NOTE if seen else ERROR,
        message=message,
        fix=f"Install the {needed} flavour of the driver, and reboot.",
        explains=() if seen else _EXPLAINED,
    )


_NEW_GPU = "closed", "open", "This GPU is served by the open kernel module only, and the closed one is loaded."
_OLD_GPU = (
    "open",
    "closed",
    "This GPU is older than Turing and is served by the closed kernel module only; the open one is loaded.",
)
_EXPLAINED = ("torch/cuda-unavailable", "torch/cuda-error", "driver/nvidia-smi", "driver/cuda-init", "driver/devices")
