from envdoctor.knowledge.questions import anywhere, circumstances, hidden_by, in_container, in_wsl, torch_cuda
from envdoctor.rules.causes import WITHOUT_CUDA
from envdoctor.rules.driver._kernel_says import UNLICENSED
from envdoctor.rules.finding import Finding, Findings, Who, finding
from envdoctor.rules.rule import ERROR, Driver, Facts, Match, Pattern, Skip, Target, known, on_cpu, rule

_SAYS = (
    Pattern(r"(?i)no CUDA-capable device is detected"),
    Pattern(r"No CUDA GPUs are available"),
    Pattern(r"(?i)Failed to initialize NVML:? Unknown Error"),
)
_LOST = Pattern(r"(?i)Failed to initialize NVML:? Unknown Error")
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
        if facts.origin.kind != "pasted":
            yield _devices_taken(lost)
            return
        certain = anywhere(facts, UNLICENSED) is None
        if in_container(facts):
            yield _silent_in_container(lost, before=circumstances.WORKED.stands(facts), certain=certain)
        else:
            yield _nvml_silent(lost, certain=certain)
        return
    if driver is not None and driver.device_denied and not works:  # where CUDA starts, a scheduler keeps the others
        yield _devices_denied(driver.device_denied)
        return
    said = anywhere(facts, *_SAYS)
    if driver is None and said is None:
        raise Skip("the device files were not looked at")
    host = known(facts.host)
    wsl = in_wsl(facts)
    linux = host is None or (host.system or "Linux") == "Linux"
    absent = linux and driver is not None and bool(driver.kernel_module) and not driver.devices
    absent = absent and facts.origin.kind != "pasted"
    wanted = not target.is_cpu or (driver is not None and bool(driver.pci) and bool(torch_cuda(facts)))
    if said is not None or (absent and wanted and not wsl):
        yield _devices_absent(facts, said, wsl=wsl)


def _devices_hidden(setting: str, how: str) -> Finding:
    return finding(
        subject="CUDA_VISIBLE_DEVICES",
        title="A setting hides every GPU from CUDA",
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


_LASTING = "nvidia-container-toolkit 1.18 or later (CDI), or the cgroup driver cgroupfs for Docker"


def _devices_taken(lost: str) -> Finding:
    return finding(
        subject="/dev/nvidia0",
        actual=lost,
        expected="the GPU that this container was started with",
        who="host",
        message=f'This container has lost access to its GPU ("{lost}"): starting it again brings it back.',
        fix=f"Start the container again. So that it stays: {_LASTING}.",
        run="docker restart CONTAINER",
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/"),
    )


def _silent_in_container(lost: str, *, before: bool, certain: bool) -> Finding:
    """NVML's own words, said in a container; ``before``: by the text it worked at some time."""
    taken = (
        "it has lost them since it started (a reload of systemd takes them back; starting it again brings them back)"
    )
    not_given = "it was not given them (an old toolkit, no-cgroups = true in its settings)"
    return finding(
        subject="/dev/nvidia0",
        title=_SILENT,
        certain=certain,
        actual=lost,
        expected="the driver answers",
        who="host",
        message=f'In this container the driver\'s library does not reach the GPU ("{lost}").',
        usually=f"the container may not open the GPU's devices: {taken if before else not_given}, or "
        f"{not_given if before else taken}; else the GPU hangs or fell off the bus (nvidia-smi on the host tells)",
        fix=f"Start the container again. So that it stays: {_LASTING}."
        if before
        else f"Start the container again; where it is no better, update the NVIDIA Container Toolkit, start Docker "
        f"again and then the container. So that it stays: {_LASTING}.",
        run="docker restart CONTAINER" if before else _TOOLKIT,
        explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/"),
    )


_TOOLKIT = (
    "sudo nvidia-ctk runtime configure --runtime=docker",
    "sudo systemctl restart docker",
    "docker run --rm --gpus all ubuntu nvidia-smi",
)


_SILENT = "The driver's library does not reach the GPU"


def _nvml_silent(lost: str, *, certain: bool) -> Finding:
    """NVML's own words, of which nobody told where they were said."""
    usually = (
        "it is a container that has lost access to its GPU (a reload of systemd takes it back; starting it again "
        "brings it back), or a container that was not given the devices; on a machine itself, a GPU that hangs or fell "
        "off the bus (dmesg shows an Xid), or device files that this user may not open"
    )
    return finding(
        subject="/dev/nvidia0",
        title=_SILENT,
        certain=certain,
        actual=lost,
        expected="the driver answers",
        message=f'NVML does not reach the GPU ("{lost}").',
        usually=usually,
        fix="In a container: start it again, and see nvidia-smi on the host; so that it stays, "
        "nvidia-container-toolkit 1.18 or later (CDI), or the cgroup driver cgroupfs for Docker. On the machine "
        "itself: look into the kernel log, and start it again.",
        run=("ls -l /dev/nvidia*", "sudo dmesg | grep -i -e nvrm -e xid | tail"),
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
            title=_NONE_FOUND,
            actual=said[0] if said else "no device",
            expected="the GPU of Windows",
            message=f'CUDA finds no GPU in this process ("{said[0] if said else "no device"}").',
            usually="another libcuda than the one of WSL is found, CUDA_VISIBLE_DEVICES names no GPU, or Windows hands "
            "none on (its driver, a kernel of WSL's own making without dxgkrnl)",
            fix="Let the linker find /usr/lib/wsl/lib first, and remove Linux driver packages from the distribution; "
            "nvidia-smi must list the GPU.",
            run=("ldconfig -p | grep libcuda.so", "env | grep CUDA_VISIBLE_DEVICES", "/usr/lib/wsl/lib/nvidia-smi"),
            explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/nvidia-smi", "driver/management-library"),
        )
    if said is not None:
        return _nothing_detected(facts, said, container=container)
    return finding(
        subject="/dev/nvidia0",
        actual="no device file",
        expected="one device file for each GPU",
        who="image" if container else "you",
        message="No GPU can be opened: "
        + ("the container was started without one." if container else "there are no device files for one."),
        fix="Start the container with access to the GPU."
        if container
        else "See what nvidia-smi lists and what CUDA_VISIBLE_DEVICES holds. Create the device files, or start the "
        "container with access to the GPU.",
        run="docker run --gpus all ..." if container else ("sudo nvidia-modprobe -u -c=0", "nvidia-smi -L"),
        explains=_EXPLAINED,
    )


_NONE_FOUND = "CUDA finds no GPU that this process may use"
_EXPLAINED = (
    "torch/cuda-unavailable",
    "torch/cuda-error",
    "driver/nvidia-smi",
    "driver/management-library",
    *WITHOUT_CUDA,
)
_SHOW = "python -c \"import os; print(os.environ.get('CUDA_VISIBLE_DEVICES'))\""


def _nothing_detected(facts: Facts, said: Match[str], *, container: bool) -> Finding:
    """CUDA says itself that it has no device: what the rest of the text rules out is not named as a reason."""
    who: Who = "you"
    run: tuple[str, ...] = ("nvidia-smi", _SHOW)
    hidden = "CUDA_VISIBLE_DEVICES names none in this very process (set by the code, a launcher or a scheduler)"
    if circumstances.APPLE.stands(facts):
        usually = "there is no NVIDIA GPU in a Mac"
        fix, run = "Take the device mps or cpu in place of cuda.", ()
    elif circumstances.RAY.stands(facts):
        usually = (
            "Ray gave this worker no GPU: its task or actor asks for none (num_gpus), so that Ray empties "
            "CUDA_VISIBLE_DEVICES for it; else the node has none or was started without"
        )
        fix = "Ask for the GPU (@ray.remote(num_gpus=1), resources per worker), and see that ray status lists GPUs."
        run = ("ray status", "nvidia-smi")
    elif circumstances.ANSWERS.stands(facts) or circumstances.HANDED_OVER.stands(facts):
        usually = (
            f"{hidden}, MIG is on without an instance, or the device files are not all in view (/dev/nvidia-uvm); "
            "another libcuda than the driver's own may be loaded, too"
        )
        fix = (
            "See CUDA_VISIBLE_DEVICES in the process that fails, whether nvidia-smi lists the GPU in the same place, "
            "and its MIG mode; then which libcuda is found first."
        )
        run = (_SHOW, "nvidia-smi -L", "ls -l /dev/nvidia*", "ldconfig -p | grep libcuda.so")
    elif circumstances.NOTEBOOK.stands(facts):
        usually = "the session has no GPU (a runtime or an accelerator that was not chosen, a quota that is used up)"
        fix = (
            "Choose a machine with a GPU in the service's settings (Colab: Runtime, Change runtime type; Kaggle: "
            "Accelerator; on ZeroGPU call the GPU only within a function under @spaces.GPU), and start it anew."
        )
    elif container:
        who = "image"
        usually = f"the container was started without one, or {hidden}"
        fix = "Start the container with access to the GPU, and see CUDA_VISIBLE_DEVICES in it."
        run = ("docker run --gpus all ...", "nvidia-smi")
    else:
        usually = (
            f"the machine, notebook or container was started without a GPU, {hidden}, or the device files are missing"
        )
        fix = (
            "See what nvidia-smi lists in the same place and what CUDA_VISIBLE_DEVICES holds. If it lists none: take a "
            "machine with a GPU, start the container with access to it, or look at the driver."
        )
    return finding(
        subject="/dev/nvidia0",
        title=_NONE_FOUND,
        actual=said[0],
        expected="a GPU that CUDA may use",
        who=who,
        message=f'CUDA finds no GPU that this process may use ("{said[0]}").',
        usually=usually,
        fix=fix,
        run=run,
        explains=_EXPLAINED,
    )
