from envdoctor.knowledge.questions import circumstances, in_wsl, torch_cuda
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
    old = circumstances.OLD_WINDOWS.found(facts) if in_wsl(facts) else None
    if old is not None and circumstances.OLD_WINDOWS.stands(facts):
        yield finding(
            subject="Windows",
            title="This Windows is too old to hand its GPU to WSL 2",
            actual=old["windows"],
            expected="Windows 11, or Windows 10 21H2 (build 19044) or later",
            kind="gpu-not-visible",
            message=_HANDS_NOTHING.format(old["windows"]),
            fix=_NEWER_WINDOWS,
            run=("wsl --update", "wsl -l -v", "nvidia-smi"),
            explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/", "packages/known-errors"),
            source="https://learn.microsoft.com/windows/ai/directml/gpu-cuda-in-wsl",
        )
        return
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


_HANDS_NOTHING = (
    "{}, which the text names, hands no GPU to WSL 2, whatever driver it has: no libcuda is laid in /usr/lib/wsl/lib. "
    "Windows 10 21H2 (build 19044) is the first release that does; before it only previews from build 20145 on did."
)
_NEWER_WINDOWS = (
    "Update Windows to Windows 11, or to Windows 10 21H2 or later, then its NVIDIA driver and WSL; convert the "
    "distribution where wsl -l -v shows it as version 1 (wsl --set-version NAME 2), which has no way to a GPU, and "
    "install no driver within WSL."
)
