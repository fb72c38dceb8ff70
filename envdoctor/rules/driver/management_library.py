from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def management_library(facts: Facts, target: Target) -> Iterator[Finding]:
    """libnvidia-ml is missing, so the GPUs' health could not be read.

    Why: clocks, temperature, ECC, power limits and links come from NVML. A container gets it with the driver
    capability "utility"; CUDA works without. What was not read was not judged.
    Fix: NVIDIA_DRIVER_CAPABILITIES=compute,utility.
    Source: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html#driver-capabilities
    """
    driver = need(facts.driver)
    if driver.management_library is None:
        raise Skip("whether NVML is there is not known")
    gpus = known(facts.gpus)
    if driver.management_library or not (driver.kernel_module or driver.devices) or (gpus and gpus.devices):
        return
    yield Finding(
        kind="not-judged",
        subject="NVML",
        actual="missing",
        expected="libnvidia-ml.so.1",
        message="libnvidia-ml is missing: the GPUs' clocks, limits and errors could not be read.",
        remedy=Remedy(
            text="Start the container with the driver capability utility.",
            commands=("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...",),
        ),
        who="image",
    )
