from envdoctor.knowledge.questions import torch_cuda
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Skip, Target, finding, known, need, on_cpu, rule

_EXPLAINED = ("torch/cuda-unavailable", "torch/cuda-error")


@rule(ERROR, kind="cuda-init-failed", explains=(*_EXPLAINED, "driver/cuda-init"))
def wsl(facts: Facts, target: Target) -> Findings:
    """Windows Subsystem for Linux: version 1 has no GPU, version 2 must use the driver of Windows.

    Why: WSL 1 translates system calls and cannot reach a GPU. In WSL 2 the only driver is the one of Windows, which
    places its libcuda in /usr/lib/wsl/lib; a Linux driver installed on top brings a libcuda that cannot work.
    Fix: convert the distribution to WSL 2; remove Linux driver packages from it.
    Source: https://docs.nvidia.com/cuda/wsl-user-guide/ https://learn.microsoft.com/windows/wsl/compare-versions
    """
    if on_cpu(target) and (target.asked or not torch_cuda(facts)):  # a CUDA build says what was meant
        raise Skip("the target trains on the CPU")
    host = need(facts.host)
    driver, torch = known(facts.driver), known(facts.torch)
    if host.container == "wsl1":
        if not target.is_cpu or torch is None or torch.cuda != "":
            yield finding(
                subject="WSL 1",
                actual=f"kernel {host.kernel or 'of WSL 1'}",
                expected="WSL 2",
                kind="gpu-not-visible",
                message="This is WSL 1, which has no way to a GPU.",
                fix="Convert the distribution to WSL 2, from Windows.",
                run=("wsl --set-version <distribution> 2", "wsl --update"),
                explains=(*_EXPLAINED, "driver/"),
            )
        return
    path = driver.library_path if driver else None
    if host.container == "wsl2" and path and "/wsl/" not in path:
        broken = driver is not None and driver.cuinit not in (0, None)
        yield finding(
            subject="libcuda",
            actual=path,
            expected="/usr/lib/wsl/lib/libcuda.so.1",
            severity=ERROR if broken else WARNING,
            message=f"In WSL 2 the driver of Windows must be used; here {path} is found first.",
            fix="Remove Linux driver packages from the distribution.",
            run=("sudo apt-get remove --purge '^nvidia-.*' '^libnvidia-.*'", "sudo ldconfig"),
        )
