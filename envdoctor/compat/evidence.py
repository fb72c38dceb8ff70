"""What the facts prove about the GPU and who may touch its driver; said by probes, or by a report's own words."""

from __future__ import annotations

import re

from envdoctor.compat.machine import bus_is_ours, driver_version, gpu_names, in_container, texts
from envdoctor.facts import Facts
from envdoctor.pattern import Pattern
from envdoctor.rule import Who, known
from envdoctor.target import Target


def matched(facts: Facts, *patterns: Pattern) -> re.Match[str] | None:
    """The first match of a pattern in anything that was said (messages, torch's error and warnings)."""
    for text in texts(facts):
        for pattern in patterns:
            if match := pattern.search(text):
                return match
    return None


def nvidia_gpu(facts: Facts) -> str | None:
    """What shows that there is an NVIDIA GPU, or None. A driver alone (a container sees its host's) is not enough."""
    names = gpu_names(facts)
    if names:
        return f"{len(names)}x {names[0]}" if len(names) > 1 else names[0]
    driver = known(facts.driver)
    if driver is not None and driver.pci and bus_is_ours(facts):
        return f"NVIDIA device {driver.pci[0]}"
    if driver is not None and driver.devices:
        return driver.devices[0]
    gpus = known(facts.gpus)
    if gpus is not None and gpus.count:
        return f"{gpus.count} GPU{'s' if gpus.count > 1 else ''}"
    # A report that prints a driver's version was made where the driver answered.
    version = driver_version(facts) if facts.origin.kind == "pasted" else None
    return f"NVIDIA driver {version}" if version else None


def driver_owner(facts: Facts) -> Who:
    """Inside a container the driver belongs to whoever runs the host; elsewhere it is one's own."""
    return "host" if in_container(facts) else "you"


def on_cpu(target: Target) -> bool:
    """Was the CPU asked for? Then a GPU that cannot be used is nobody's concern. No target at all is not a wish."""
    return target.is_cpu and (target.name == "cpu" or bool(target.stacks))


def hidden_by(facts: Facts) -> str | None:
    """The variable that hides every GPU from CUDA, as ``NAME=value``; None also where CUDA works all the same."""
    variables, torch, driver = known(facts.variables) or {}, known(facts.torch), known(facts.driver)
    if torch is not None and torch.cuda_available:
        return None
    value = variables.get("CUDA_VISIBLE_DEVICES")
    if value is not None and value.split(",")[0].strip() in ("", "-1", "none", "NoDevFiles"):
        return f"CUDA_VISIBLE_DEVICES={value}"
    # "void" is also what device plugins set when they hand over the GPU in another way (CDI): files then are there.
    value = variables.get("NVIDIA_VISIBLE_DEVICES")
    if value in ("none", "void") and (driver is None or not driver.devices):
        return f"NVIDIA_VISIBLE_DEVICES={value}"
    return None
