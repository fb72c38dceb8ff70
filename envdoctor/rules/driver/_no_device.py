"""Why a loaded driver shows no GPU where a program runs, as far as a text tells, and what helps."""

from __future__ import annotations

from typing import NamedTuple

from envdoctor.knowledge.questions import circumstances, in_container, in_wsl
from envdoctor.rules.rule import WITHOUT_CUDA, Driver, Facts, Pattern, Remedy, Who, anywhere, known

LOST = Pattern(r"(?i)Failed to initialize NVML:? Unknown Error")
SAYS = (Pattern(r"(?i)no CUDA-capable device is detected"), Pattern(r"No CUDA GPUs are available"), LOST)


EXPLAINED_IN_WSL = ("torch/cuda-unavailable", "torch/cuda-error", "driver/nvidia-smi", "driver/management-library")
EXPLAINED = (*EXPLAINED_IN_WSL, *WITHOUT_CUDA)


class NoDevice(NamedTuple):
    """What lies behind it in most cases, and what helps then."""

    usually: str
    fix: str
    run: tuple[str, ...] = ()
    who: Who = "you"


_LASTING = "nvidia-container-toolkit 1.18 or later (CDI), or the cgroup driver cgroupfs for Docker"
START_AGAIN = Remedy(
    text=f"Start the container again. So that it stays: {_LASTING}.", commands=("docker restart CONTAINER",)
)
SET_UP_TOOLKIT = (
    "sudo nvidia-ctk runtime configure --runtime=docker",
    "sudo systemctl restart docker",
    "docker run --rm --gpus all ubuntu nvidia-smi",
)
_TAKEN = "it has lost them since it started (a reload of systemd takes them back; starting it again brings them back)"
_NOT_GIVEN = "it was not given them (an old toolkit, no-cgroups = true in its settings)"
_MAY_NOT_OPEN = "the container may not open the GPU's devices"
_ELSE_IT_HANGS = "else the GPU hangs or fell off the bus (nvidia-smi on the host tells)"
_LOST_BY_CONTAINER = NoDevice(
    usually=f"{_MAY_NOT_OPEN}: {_TAKEN}, or {_NOT_GIVEN}; {_ELSE_IT_HANGS}",
    fix=START_AGAIN.text,
    run=START_AGAIN.commands,
    who="host",
)
_NOT_GIVEN_TO_CONTAINER = NoDevice(
    usually=f"{_MAY_NOT_OPEN}: {_NOT_GIVEN}, or {_TAKEN}; {_ELSE_IT_HANGS}",
    fix="Start the container again; where it is no better, update the NVIDIA Container Toolkit, start Docker "
    f"again and then the container. So that it stays: {_LASTING}.",
    run=SET_UP_TOOLKIT,
    who="host",
)
_NVML_SILENT_SOMEWHERE = NoDevice(
    usually="it is a container that has lost access to its GPU (a reload of systemd takes it back; starting it again "
    "brings it back), or a container that was not given the devices; on a machine itself, a GPU that hangs or fell "
    "off the bus (dmesg shows an Xid), or device files that this user may not open",
    fix="In a container: start it again, and see nvidia-smi on the host; so that it stays, "
    f"{_LASTING}. On the machine itself: look into the kernel log, and start it again.",
    run=("ls -l /dev/nvidia*", "sudo dmesg | grep -i -e nvrm -e xid | tail"),
)


def container_lost_gpu(facts: Facts, driver: Driver) -> str:
    """What shows that a running container had its GPU taken away: NVML's own words, or that root itself is refused."""
    host = known(facts.host)
    said = LOST.search(driver.smi or "") or anywhere(facts, LOST)
    if said is not None and (in_container(facts) or facts.origin.kind == "pasted"):
        return said[0]
    root = host is not None and host.uid == 0 and in_container(facts)
    return f"{driver.device_denied[0]}: refused, for root as well" if root and driver.device_denied else ""


def silent_nvml(facts: Facts) -> NoDevice:
    """NVML's own words in a text, which may not tell where they were said."""
    if not in_container(facts):
        return _NVML_SILENT_SOMEWHERE
    return _LOST_BY_CONTAINER if circumstances.WORKED.stands(facts) else _NOT_GIVEN_TO_CONTAINER


_SHOW = "python -c \"import os; print(os.environ.get('CUDA_VISIBLE_DEVICES'))\""
_HIDDEN = "CUDA_VISIBLE_DEVICES names none in this very process (set by the code, a launcher or a scheduler)"
_FROM_ZERO = (
    "A container numbers the GPUs that it was given from 0: with --gpus device=2 leave CUDA_VISIBLE_DEVICES=2 out."
)
_ON_A_MAC = NoDevice(usually="there is no NVIDIA GPU in a Mac", fix="Take the device mps or cpu in place of cuda.")
_WITHIN_RAY = NoDevice(
    usually="Ray gave this worker no GPU: its task or actor asks for none (num_gpus), so that Ray empties "
    "CUDA_VISIBLE_DEVICES for it; else the node has none or was started without",
    fix="Ask for the GPU (@ray.remote(num_gpus=1), resources per worker), and see that ray status lists GPUs.",
    run=("ray status", "nvidia-smi"),
)
_THERE_ALL_THE_SAME = NoDevice(
    usually=f"{_HIDDEN}, MIG is on without an instance, or the device files are not all in view (/dev/nvidia-uvm); "
    "another libcuda than the driver's own may be loaded, too",
    fix="See CUDA_VISIBLE_DEVICES in the process that fails, whether nvidia-smi lists the GPU in the same place, "
    f"and its MIG mode; then which libcuda is found first. {_FROM_ZERO}",
    run=(_SHOW, "nvidia-smi -L", "ls -l /dev/nvidia*", "ldconfig -p | grep libcuda.so"),
)
_IN_A_NOTEBOOK = NoDevice(
    usually="the session has no GPU (a runtime or an accelerator that was not chosen, a quota that is used up)",
    fix="Choose a machine with a GPU in the service's settings (Colab: Runtime, Change runtime type; Kaggle: "
    "Accelerator; on ZeroGPU call the GPU only within a function under @spaces.GPU), and start it anew.",
    run=("nvidia-smi", _SHOW),
)
_IN_A_CONTAINER = NoDevice(
    usually=f"the container was started without one, or {_HIDDEN}",
    fix=f"Start the container with access to the GPU, and see CUDA_VISIBLE_DEVICES in it. {_FROM_ZERO}",
    run=("docker run --gpus all ...", "nvidia-smi"),
    who="image",
)
_SOMEWHERE = NoDevice(
    usually=f"the machine, notebook or container was started without a GPU, {_HIDDEN}, or the device files are missing",
    fix="See what nvidia-smi lists in the same place and what CUDA_VISIBLE_DEVICES holds. If it lists none: take "
    "a machine with a GPU, start the container with access to it, or look at the driver.",
    run=("nvidia-smi", _SHOW),
)


_IN_WSL = NoDevice(
    usually="another libcuda than the one of WSL is found, CUDA_VISIBLE_DEVICES names no GPU, or Windows hands none on "
    "(its driver, a kernel of WSL's own making without dxgkrnl)",
    fix="Let the linker find /usr/lib/wsl/lib first, and remove Linux driver packages from the distribution; "
    "nvidia-smi must list the GPU.",
    run=("ldconfig -p | grep libcuda.so", "env | grep CUDA_VISIBLE_DEVICES", "/usr/lib/wsl/lib/nvidia-smi"),
)


def none_detected(facts: Facts) -> NoDevice:
    """CUDA says itself that it has no device: what the rest of the text rules out is not named as a reason."""
    if in_wsl(facts):
        return _IN_WSL
    if circumstances.APPLE.stands(facts):
        return _ON_A_MAC
    if circumstances.RAY.stands(facts):
        return _WITHIN_RAY
    if circumstances.ANSWERS.stands(facts) or circumstances.HANDED_OVER.stands(facts):
        return _THERE_ALL_THE_SAME
    if circumstances.NOTEBOOK.stands(facts):
        return _IN_A_NOTEBOOK
    return _IN_A_CONTAINER if in_container(facts) else _SOMEWHERE


NO_FILE_IN_CONTAINER = Remedy(
    text="Start the container with access to the GPU.", commands=("docker run --gpus all ...",)
)
NO_FILE = Remedy(
    text="See what nvidia-smi lists and what CUDA_VISIBLE_DEVICES holds. Create the device files, or start the "
    "container with access to the GPU.",
    commands=("sudo nvidia-modprobe -u -c=0", "nvidia-smi -L"),
)
