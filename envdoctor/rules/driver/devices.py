from envdoctor.knowledge.questions import anywhere, hidden_by, in_container, torch_cuda
from envdoctor.rules.finding import Finding, Findings, Who, finding
from envdoctor.rules.rule import ERROR, IGNORECASE, Driver, Facts, Match, Pattern, Skip, Target, known, on_cpu, rule

_SAYS = (
    Pattern(r"no CUDA-capable device is detected", IGNORECASE),
    Pattern(r"No CUDA GPUs are available"),
    Pattern(r"Failed to initialize NVML:? Unknown Error", IGNORECASE),
)
_LOST = Pattern(r"Failed to initialize NVML:? Unknown Error", IGNORECASE)
_WORKED = Pattern(
    r"\b(?:after|within) (?:an? |some|several|\d+|random|certain|few)[\w ]{0,30}(?:hours?|days?|time|minutes?|weeks?)\b"
    r"|\bsuddenly\b|\brandom(?:ly)?\b|\bwhile (?:running|training)\b|daemon-reload|\bstops? working\b|\blos(?:es?|t"
    r"|ing) access"
    r"|\bno longer\b|\blong[- ]running\b|过(?:一段|几)|一段时间",
    IGNORECASE,
)
"""A person's word that the GPU was there before."""
_LISTED = Pattern(r"['\"]?\[[\d,\s]*\]['\"]?")


@rule(ERROR, kind="gpu-not-visible")
def devices(facts: Facts, target: Target) -> Findings:
    """The driver is loaded, and no GPU can be opened from here.

    Why: a container started without --gpus has the host's kernel module in view but no device files; a user outside
    the video or render group may not open them; CUDA_VISIBLE_DEVICES can hide every GPU, also by an entry that is no
    device ("[0,1]"). A container that had its GPU can lose it while it runs: a reload of systemd takes the permission
    back that the runtime had added ("Failed to initialize NVML: Unknown Error", refused for root as well).
    Fix: start the container with the GPU, start it again where it lost it, join the group, or correct the variable.
    Source: https://github.com/NVIDIA/nvidia-container-toolkit/issues/48 https://github.com/NVIDIA/nvidia-docker/issues/1730
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#env-vars
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    driver, launcher, variables = known(facts.driver), known(facts.launcher), known(facts.variables)
    if hidden := hidden_by(facts):
        yield _devices_hidden(hidden, "hides every GPU")
        return
    value = (variables or {}).get("CUDA_VISIBLE_DEVICES", "")
    if _LISTED.fullmatch(value.strip()) and value.strip():
        yield _devices_hidden(f"CUDA_VISIBLE_DEVICES={value}", "is written as a list and names no device")
        return
    gpu_ids = launcher.settings.get("gpu_ids", "") if launcher else ""
    if _LISTED.fullmatch(gpu_ids.strip()):
        yield _devices_hidden(
            f"gpu_ids: {gpu_ids}", "becomes CUDA_VISIBLE_DEVICES, where a bracketed list names no device"
        )
        return
    works = driver is not None and driver.cuinit == 0 and facts.origin.kind != "pasted"
    if driver is not None and not works and (lost := _container_lost_gpu(facts, driver)):
        yield _devices_taken(lost, before=facts.origin.kind != "pasted" or anywhere(facts, _WORKED) is not None)
        return
    if driver is not None and driver.device_denied and not works:  # where CUDA starts, a scheduler keeps the others
        yield _devices_denied(driver.device_denied)
        return
    said = anywhere(facts, *_SAYS)
    if driver is None and said is None:
        raise Skip("the device files were not looked at")
    host = known(facts.host)
    wsl = host is not None and (host.container or "").startswith("wsl")
    linux = host is None or (host.system or "Linux") == "Linux"
    absent = linux and driver is not None and bool(driver.kernel_module) and not driver.devices
    absent = absent and facts.origin.kind != "pasted"
    wanted = not target.is_cpu or (driver is not None and bool(driver.pci) and bool(torch_cuda(facts)))
    if said is not None or (absent and wanted and not wsl):
        yield _devices_absent(facts, said, wsl=wsl)


def _devices_hidden(setting: str, how: str) -> Finding:
    return finding(
        subject="CUDA_VISIBLE_DEVICES",
        actual=setting,
        expected="indices or UUIDs of the GPUs to be used, separated by commas",
        message=f"{setting} {how}: CUDA finds no GPU.",
        fix="Name the GPUs by index, separated by commas, or leave the setting out to use all.",
        run="unset CUDA_VISIBLE_DEVICES" if setting.startswith("CUDA") else "accelerate config",
        explains=(
            "torch/cuda-unavailable",
            "torch/cuda-error",
            "torch/device-count",
            "driver/cuda-init",
            "variables/visible-devices",
        ),
    )


def _container_lost_gpu(facts: Facts, driver: Driver) -> str:
    """What shows that a running container had its GPU taken away: NVML's own words, or that root itself is refused."""
    host = known(facts.host)
    said = _LOST.search(driver.smi or "") or anywhere(facts, _LOST)
    if said is not None and (in_container(facts) or facts.origin.kind == "pasted"):
        return said[0]
    root = host is not None and host.uid == 0 and in_container(facts)
    return f"{driver.device_denied[0]}: refused, for root as well" if root and driver.device_denied else ""


def _devices_taken(lost: str, *, before: bool) -> Finding:
    lasting = "nvidia-container-toolkit 1.18 or later (CDI), or the cgroup driver cgroupfs for Docker"
    return finding(
        subject="/dev/nvidia0",
        actual=lost,
        expected="the GPU that this container was started with",
        who="host",
        message=f'This container has lost access to its GPU ("{lost}"): starting it again brings it back.'
        if before
        else f'The driver\'s library is here, and its devices may not be opened ("{lost}"): a container that was not '
        "given them, or has lost them since it started; outside of one, the driver.",
        fix=f"Start the container again. So that it stays: {lasting}."
        if before
        else f"Update the NVIDIA Container Toolkit, start Docker again and then the container; it must not say "
        f"no-cgroups = true for containers of root. Where it worked at first, so that it stays: {lasting}.",
        run="docker restart CONTAINER"
        if before
        else (
            "sudo nvidia-ctk runtime configure --runtime=docker",
            "sudo systemctl restart docker",
            "docker run --rm --gpus all ubuntu nvidia-smi",
        ),
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/"),
    )


def _devices_denied(files: tuple[str, ...]) -> Finding:
    return finding(
        subject=files[0],
        actual="may not be opened",
        expected="readable and writable for this user",
        message=f"The current user may not open {', '.join(files)}.",
        fix="Join the group that owns the device files, then log in again.",
        run=("ls -l /dev/nvidia*", "sudo usermod -aG video,render $USER"),
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/"),
    )


def _devices_absent(facts: Facts, said: Match[str] | None, *, wsl: bool) -> Finding:
    container = in_container(facts)
    if wsl:
        return finding(
            subject="the GPU",
            actual=said[0] if said else "no device",
            expected="the GPU of Windows",
            message=f'CUDA finds no GPU in this process ("{said[0] if said else "no device"}"): it found another '
            f"libcuda "
            "than the one of WSL, CUDA_VISIBLE_DEVICES names no GPU, or Windows hands none on.",
            fix="Let the linker find /usr/lib/wsl/lib first, and remove Linux driver packages from the distribution; "
            "nvidia-smi must list the GPU.",
            run=("ldconfig -p | grep libcuda.so", "env | grep CUDA_VISIBLE_DEVICES", "/usr/lib/wsl/lib/nvidia-smi"),
            explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/nvidia-smi", "driver/management-library"),
        )
    who: Who = "image" if container else "you"
    return finding(
        subject="/dev/nvidia0",
        actual="no device file" if said is None else said[0],
        expected="one device file for each GPU",
        who=who,
        message=("No GPU can be opened" + (f' ("{said[0]}")' if said else ""))
        + (
            ": the container was started without one."
            if container
            else ": CUDA_VISIBLE_DEVICES names none, or there are no device files for one."
            if said is not None
            else ": there are no device files for one."
        ),
        fix="Start the container with access to the GPU."
        if container
        else "See what nvidia-smi lists and what CUDA_VISIBLE_DEVICES holds. Create the device files, or start the "
        "container with access to the GPU.",
        run="docker run --gpus all ..." if container else ("sudo nvidia-modprobe -u -c=0", "nvidia-smi -L"),
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/nvidia-smi", "driver/management-library"),
    )
