from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.evidence import on_cpu
from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target


@rule(Severity.ERROR)
def wsl(facts: Facts, target: Target) -> Iterator[Finding]:
    """Windows Subsystem for Linux: version 1 has no GPU, version 2 must use the driver of Windows.

    Why: WSL 1 translates system calls and cannot reach a GPU. In WSL 2 the only driver is the one of Windows, which
    places its libcuda in /usr/lib/wsl/lib; a Linux driver installed on top brings a libcuda that cannot work.
    Fix: convert the distribution to WSL 2; remove Linux driver packages from it.
    Source: https://docs.nvidia.com/cuda/wsl-user-guide/ https://learn.microsoft.com/windows/wsl/compare-versions
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    host = need(facts.host)
    driver, torch = known(facts.driver), known(facts.torch)
    if host.container == "wsl1":
        if not target.is_cpu or torch is None or torch.cuda != "":
            yield Finding(
                kind="gpu-not-visible",
                subject="WSL 1",
                actual=f"kernel {host.kernel or 'of WSL 1'}",
                expected="WSL 2",
                message="This is WSL 1, which has no way to a GPU.",
                remedy=Remedy(
                    text="Convert the distribution to WSL 2, from Windows.",
                    commands=("wsl --set-version <distribution> 2", "wsl --update"),
                ),
                explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/"),
                root_rank=97,
            )
        return
    path = driver.library_path if driver else None
    if host.container == "wsl2" and path and "/wsl/" not in path:
        broken = driver is not None and driver.cuinit not in (0, None)
        yield Finding(
            kind="cuda-init-failed",
            subject="libcuda",
            actual=path,
            expected="/usr/lib/wsl/lib/libcuda.so.1",
            message=f"In WSL 2 the driver of Windows must be used; here {path} is found first.",
            remedy=Remedy(
                text="Remove Linux driver packages from the distribution.",
                commands=("sudo apt-get remove --purge '^nvidia-.*' '^libnvidia-.*'", "sudo ldconfig"),
            ),
            severity=Severity.ERROR if broken else Severity.WARNING,
            explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/cuda-init"),
            root_rank=97 if broken else 0,
        )
