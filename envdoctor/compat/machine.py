"""What of the facts decides compatibility, gathered into one `Machine`: from probes, or from the crumbs of a report."""

from __future__ import annotations

import re

from envdoctor.compat import pci
from envdoctor.compat.cuda_lines import from_code
from envdoctor.compat.gpus import capability_of
from envdoctor.compat.numbers import line, numbers
from envdoctor.compat.solver import Machine
from envdoctor.facts import Facts
from envdoctor.rule import known


def machine_of(facts: Facts) -> Machine:
    """The machine behind these facts; whatever they do not say stays unknown."""
    interpreter = known(facts.interpreter)
    return Machine(
        driver=driver_version(facts),
        driver_cuda=driver_cuda(facts),
        capabilities=capabilities(facts),
        python=interpreter.version if interpreter else None,
        platform=platform_of(facts),
        libc=interpreter.libc if interpreter else None,
    )


def driver_version(facts: Facts) -> str | None:
    """Version of the NVIDIA driver: of the kernel module, else of its libraries."""
    driver = known(facts.driver)
    if driver is None:
        return None
    versions = (driver.kernel_module, driver.management_library, driver.library)
    return next((version for version in versions if numbers(version)), None)


def driver_cuda(facts: Facts) -> str | None:
    """The CUDA version that the driver's library names: what torch met ("found version 11040"), else what was read."""
    for text in texts(facts):
        if match := re.search(r"driver.{0,60}too old \(found version (\d{4,5})\)", text, re.IGNORECASE | re.DOTALL):
            return from_code(int(match[1]))
    driver = known(facts.driver)
    return line(driver.cuda) if driver else None


CONTAINERS = frozenset({"docker", "podman", "kubernetes", "lxc"})


def in_container(facts: Facts) -> bool:
    host = known(facts.host)
    return host is not None and host.container in CONTAINERS


def bus_is_ours(facts: Facts) -> bool:
    """May what is on the PCI bus be used here? A container sees its host's bus, but only its own device files."""
    driver = known(facts.driver)
    return driver is not None and (bool(driver.devices) or not in_container(facts))


def gpu_names(facts: Facts) -> tuple[str, ...]:
    """Names of all GPUs: from NVML or the report, else from the PCI bus where that is this machine's own."""
    gpus = known(facts.gpus)
    if gpus is not None and gpus.devices:
        return tuple(gpu.name for gpu in gpus.devices)
    driver = known(facts.driver)
    return pci.names(driver.pci) if driver and bus_is_ours(facts) else ()


def capabilities(facts: Facts) -> tuple[str, ...]:
    """Compute capabilities of all GPUs, as read, else by their names, else as torch reports them."""
    gpus = known(facts.gpus)
    if gpus is not None and gpus.devices:
        found = [gpu.capability or capability_of(gpu.name) for gpu in gpus.devices]
    else:
        torch = known(facts.torch)
        if torch is not None and torch.capabilities:
            return torch.capabilities
        found = [capability_of(name) for name in gpu_names(facts)]
    return tuple(each for each in found if each is not None)


def platform_of(facts: Facts) -> str:
    """`sysconfig.get_platform()` of the environment, or the nearest guess; Linux on x86-64 where nothing speaks."""
    interpreter, host = known(facts.interpreter), known(facts.host)
    if interpreter is not None and interpreter.platform:
        return interpreter.platform
    system = ((host.system if host else None) or "Linux").lower()
    machine = (host.machine if host else None) or "x86_64"
    return {"windows": "win-amd64", "darwin": f"macosx-11.0-{machine}"}.get(system, f"linux-{machine}")


def texts(facts: Facts) -> tuple[str, ...]:
    """All that was said: error lines of a report, torch's CUDA error and warnings, why torch would not import."""
    torch = known(facts.torch)
    said = list(facts.messages)
    if torch is not None:
        said += [torch.cuda_error or "", *torch.warnings]
    elif (absent := facts.torch) and getattr(absent, "why", "") not in ("not-reported", "not-asked"):
        said.append(getattr(absent, "reason", ""))
    return tuple(text for text in said if text)
