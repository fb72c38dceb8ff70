from envdoctor.knowledge.questions import hidden_by, in_container, in_wsl, lacks_licence, torch_cuda
from envdoctor.rules.driver import _no_device
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, Skip, Target, anywhere, finding, known, rule

_LISTED = Pattern(r"['\"]?\[[\d,\s]*\]['\"]?")
_OF_TORCH = ("torch/cuda-unavailable", "torch/cuda-error")


@rule(ERROR, kind="gpu-not-visible", subject="/dev/nvidia0", explains=(*_OF_TORCH, "driver/", "gpu/"), for_gpu=True)
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
        how = "becomes CUDA_VISIBLE_DEVICES, where a bracketed list names no device"
        yield _devices_hidden(f"gpu_ids: {gpu_ids}", how)
        return
    pasted = facts.origin.kind == "pasted"
    works = driver is not None and driver.cuinit == 0 and not pasted
    if driver is not None and not works and (lost := _no_device.container_lost_gpu(facts, driver)):
        yield _silent_nvml(facts, lost) if pasted else _devices_taken(lost)
        return
    if driver is not None and driver.device_denied and not works:  # where CUDA starts, a scheduler keeps the others
        yield _devices_denied(driver.device_denied)
        return
    said = anywhere(facts, *_no_device.SAYS)
    if driver is None and said is None:
        raise Skip("the device files were not looked at")
    host = known(facts.host)
    linux = host is None or (host.system or "Linux") == "Linux"
    absent = linux and driver is not None and bool(driver.kernel_module) and not driver.devices and not pasted
    wanted = not target.is_cpu or (driver is not None and bool(driver.pci) and bool(torch_cuda(facts)))
    if said is not None:
        yield _none_detected(facts, said[0])
    elif absent and wanted and not in_wsl(facts):
        yield _no_device_file(in_container(facts))


def _devices_hidden(setting: str, how: str) -> Finding:
    return finding(
        subject="CUDA_VISIBLE_DEVICES",
        title="A setting hides every GPU from CUDA",
        actual=setting,
        expected="indices or UUIDs of the GPUs to be used, separated by commas",
        message=f"{setting} {how}: CUDA finds no GPU.",
        fix="Name the GPUs by index, separated by commas, or leave the setting out to use all.",
        run="unset CUDA_VISIBLE_DEVICES" if setting.startswith("CUDA") else "accelerate config",
        explains=_HIDDEN_EXPLAINS,
    )


_HIDDEN_EXPLAINS = (*_OF_TORCH, "torch/device-count", "driver/cuda-init", "variables/visible-devices")


def _devices_taken(lost: str) -> Finding:
    message = f'This container has lost access to its GPU ("{lost}"): starting it again brings it back.'
    own, fix = "the GPU that this container was started with", _no_device.START_AGAIN
    return finding(actual=lost, expected=own, who="host", message=message, fix=fix)


def _silent_nvml(facts: Facts, lost: str) -> Finding:
    title, why = "The driver's library does not reach the GPU", _no_device.silent_nvml(facts)
    seen = "In this container the driver's library" if in_container(facts) else "NVML"
    return finding(
        title=title,
        actual=lost,
        expected="the driver answers",
        who=why.who,
        message=f'{seen} does not reach the GPU ("{lost}").',
        usually=why.usually,
        fix=why.fix,
        run=why.run,
        certain=not lacks_licence(facts),
    )


def _devices_denied(files: tuple[str, ...]) -> Finding:
    return finding(
        subject=files[0],
        actual="may not be opened",
        expected="readable and writable for this user",
        message=f"The current user may not open {', '.join(files)}.",
        fix="Join the group that owns the device files, then log in again.",
        run=("ls -l /dev/nvidia*", "sudo usermod -aG video,render $USER"),
        explains=(*_OF_TORCH, "driver/"),
    )


def _no_device_file(container: bool) -> Finding:
    why = "the container was started without one" if container else "there are no device files for one"
    return finding(
        actual="no device file",
        expected="one device file for each GPU",
        who="image" if container else "you",
        message=f"No GPU can be opened: {why}.",
        fix=_no_device.NO_FILE_IN_CONTAINER if container else _no_device.NO_FILE,
        explains=_no_device.EXPLAINED,
    )


def _none_detected(facts: Facts, said: str) -> Finding:
    wsl, why = in_wsl(facts), _no_device.none_detected(facts)
    seen = "CUDA finds no GPU that this process may use"
    return finding(
        subject="the GPU" if wsl else "",
        title=seen,
        actual=said,
        expected="the GPU of Windows" if wsl else "a GPU that CUDA may use",
        who=why.who,
        message=f'{"CUDA finds no GPU in this process" if wsl else seen} ("{said}").',
        usually=why.usually,
        fix=why.fix,
        run=why.run,
        explains=_no_device.EXPLAINED_IN_WSL if wsl else _no_device.EXPLAINED,
    )
