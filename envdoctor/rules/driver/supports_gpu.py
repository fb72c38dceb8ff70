from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat import pci
from envdoctor.compat.evidence import driver_owner
from envdoctor.compat.generations import driver_knows, driver_range, generation
from envdoctor.compat.gpus import capability_of
from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target


@rule(Severity.ERROR)
def supports_gpu(facts: Facts, target: Target) -> Iterator[Finding]:
    """The driver does not know this GPU: too old for it, or so new that it was dropped.

    Why: the card is on the PCI bus and the driver leaves it alone. Blackwell needs the 570 branch (B300: 575); Maxwell,
    Pascal and Volta ended with 580, Kepler with 470.
    Fix: a driver of a branch that knows the card. Only the host can install it.
    Source: https://nvidia.custhelp.com/app/answers/detail/a_id/3142 and the CUDA release notes (new architectures)
    """
    driver, gpus = need(facts.driver), known(facts.gpus)
    if gpus is not None and gpus.devices:
        return  # listed by the driver, so known to it
    version = driver.kernel_module
    names = pci.names(driver.pci)
    if not version or not names:
        raise Skip("the driver's version or the GPU on the bus is not known")
    for name in dict.fromkeys(names):
        number = capability_of(name)
        if number is None or driver_knows(version, number) is not False:
            continue
        first, last = driver_range(number)
        found = generation(number)
        kind = found.name if found else number
        dropped = last is not None and int(version.partition(".")[0]) > last
        need_text = f"branch {last} or older" if dropped else f"{first} or later"
        yield Finding(
            kind="gpu-not-visible" if dropped else "driver-too-old",
            subject=name,
            actual=version,
            expected=need_text,
            message=f"Driver {version} does not serve {name} ({kind}): it needs {need_text}.",
            remedy=Remedy(text=f"Install a driver of {need_text}."),
            who=driver_owner(facts),
            explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/"),
            root_rank=94,
        )
