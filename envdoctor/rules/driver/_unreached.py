"""Why a program reaches no driver where it runs, as far as a text tells, and what helps.

What the text rules out is not named as a reason.
"""

from __future__ import annotations

from typing import NamedTuple

from envdoctor.knowledge.questions import circumstances, in_container, in_wsl, topics_of
from envdoctor.rules.driver._no_device import SET_UP_TOOLKIT
from envdoctor.rules.rule import WITHOUT_CUDA, Facts, Pattern, Remedy, Who, anywhere, known

EXPLAINED = ("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/", *WITHOUT_CUDA)
_FIX = (
    "Install the NVIDIA driver, or load it: modprobe says why it does not load (no module for this kernel, Secure "
    "Boot, nouveau). Where it is gone after updates of the kernel, install the kernel's headers by the package that "
    "follows it (linux-headers-generic, -cloud-amd64), for which DKMS then builds the module. In a container, start "
    "that with --gpus all (on a host with the NVIDIA Container Toolkit)."
)
LOAD = Remedy(text=_FIX, commands=("sudo modprobe nvidia", "nvidia-smi"))
WITH_THE_GPU = Remedy(
    text="Start the container with access to the GPU (--gpus all), on a host whose driver is loaded.",
    commands=("docker run --gpus all ...",),
)
_TOOLKIT = ("nvidia-smi", *SET_UP_TOOLKIT)


class Silence(NamedTuple):
    """No driver answers: what is seen of that, what lies behind it in most cases, and what helps then."""

    usually: str
    fix: str
    run: tuple[str, ...] = ()
    message: str = ""
    title: str = "No NVIDIA driver is reached from where the program runs"
    expected: str = ""
    who: Who | None = None  # None: whoever the driver belongs to


_NO_ANSWER = "No NVIDIA driver answers here"
_ASKED_IN_VAIN = Silence(
    title="An NVIDIA GPU is asked for where none answers",
    expected="code, or a torch, for what is here",
    usually="",
    fix="",
)
_TOOLKIT_FOUND_NONE = Silence(
    title="The container toolkit found no NVIDIA driver where it looked",
    message="The container toolkit found no NVIDIA driver where it looked",
    usually="the driver is not installed or not loaded on the host, or Docker does not run on that host itself (Docker "
    "Desktop on Linux has a virtual machine of its own, snap's Docker another view of the libraries, WSL no driver of "
    "Windows in it)",
    fix="See nvidia-smi on the host, without a container. Where it works: take Docker's own engine in place of "
    "Docker Desktop or snap's (docker context use default), and install the toolkit beside it; where it does not: "
    "install or load the driver.",
    run=("nvidia-smi", "docker context ls", "snap list docker"),
)
_TOOLKIT_IN_WSL = _TOOLKIT_FOUND_NONE._replace(
    usually="Windows is older than 21H2, whose WSL has no GPU, its NVIDIA driver is missing or from before WSL, WSL's "
    "own kernel is old, or Docker does not run on WSL 2 (but on Hyper-V, or in a distribution of WSL 1)",
    fix="See nvidia-smi in the WSL distribution, without a container. Where it fails: bring Windows to 21H2 or later "
    "(winver tells), install NVIDIA's driver for Windows, and none in WSL, then wsl --update and wsl --shutdown. Where "
    "it works: take Docker Desktop with its WSL 2 backend, or the toolkit beside the engine in WSL.",
    run=("nvidia-smi", "wsl --version", "wsl --update"),
)
SMI_IN_WSL = Silence(
    title="nvidia-smi reaches no driver in this WSL",
    message="nvidia-smi reaches no driver in this WSL",
    usually="a Linux driver was installed in the distribution and its nvidia-smi is found first, the driver of Windows "
    "is missing or old, or WSL runs a kernel of one's own without dxgkrnl",
    fix="Try /usr/lib/wsl/lib/nvidia-smi. Remove Linux driver packages from the distribution, update the driver "
    "in Windows and WSL itself (wsl --update), and take WSL's own kernel (no kernel= in .wslconfig, or "
    "CONFIG_DXGKRNL in yours).",
    run=("/usr/lib/wsl/lib/nvidia-smi", "ls -l /dev/dxg", "dpkg -l | grep -i nvidia-driver"),
)
_ON_AMD = _ASKED_IN_VAIN._replace(
    usually="the only card is the AMD one that is told of, which a torch for CUDA cannot use",
    fix="Take torch for ROCm (Linux, and AMD's own wheels on Windows for the cards that they name) or the "
    "program's variant for AMD; else the CPU (--device cpu).",
)
_ON_A_MAC = _ASKED_IN_VAIN._replace(
    usually="there is no NVIDIA GPU in a Mac, and the code asks for one",
    fix="Choose mps or cpu as the device (map_location='cpu' for torch.load), or the program's option for it.",
)
_WITHOUT_ONE = _ASKED_IN_VAIN._replace(
    message="The code asks for an NVIDIA GPU, and no driver of one answers here",
    usually="there is no such GPU in this machine, or none is meant to be used, and the code asks for one",
    fix="Have it compute on the CPU: the program's option for it (--device cpu, --cpu, no_cuda), else "
    "device='cpu' in place of cuda, no .cuda(), and torch.load(..., map_location='cpu').",
)
_WHERE_IT_IS_BUILT = _ASKED_IN_VAIN._replace(
    expected="the architectures by name",
    who="image",
    message="What is compiled asks for a GPU, and where it is built none answers",
    usually="the build of an extension asks torch which GPU there is, to compile for it, as nothing names the "
    "architectures (TORCH_CUDA_ARCH_LIST), and while an image is built no GPU is there",
    fix="Name the architectures that the image is for before the build (ENV in a Dockerfile), and FORCE_CUDA=1 "
    'for packages that else build for the CPU; the toolkit (an image "devel") is enough, a driver is not needed. '
    "Where a GPU is there while it is built: Docker's default runtime must be nvidia.",
    run=("export TORCH_CUDA_ARCH_LIST='7.5;8.0;8.6;8.9;9.0+PTX' FORCE_CUDA=1",),
)
_TOOLKIT_NOT_SET_UP = Silence(
    usually="the host's driver is not loaded, the NVIDIA Container Toolkit is not set up for this Docker, or the "
    "container was not given the capability compute",
    fix="See nvidia-smi on the host and then in the container; start it with -e "
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility (or ENV in its Dockerfile), set the toolkit up anew, and start "
    "Docker again.",
    run=_TOOLKIT,
)
_UTILITY_ALONE = _TOOLKIT_NOT_SET_UP._replace(
    usually="the container was given the driver's capability utility alone, with which nvidia-smi works and no program "
    "computes (NVIDIA_DRIVER_CAPABILITIES, which an image that is not NVIDIA's leaves unset), or the NVIDIA Container "
    "Toolkit is not set up for this Docker",
)
_RENTED = Silence(
    usually="this session or machine was rented or started without a GPU, or its host's driver has failed",
    fix="Choose a machine with a GPU in the service's settings (Colab: Runtime, Change runtime type; Kaggle: "
    "Accelerator). Where it should have one, start it anew or take another: its driver is not yours to mend.",
    run=("nvidia-smi",),
)
_STARTED_WITHOUT = Silence(
    usually="the container was started without its GPU, the NVIDIA Container Toolkit is not set up for this Docker, or "
    "the host's driver is not loaded",
    fix="Start the container with access to the GPU (--gpus all, or in compose a reservation of the device), on a "
    "host whose driver is loaded and that has the NVIDIA Container Toolkit.",
    run=("docker run --gpus all ...",),
)
_NO_DRIVER = Silence(
    usually="there is no NVIDIA GPU in this machine or session, its driver is not installed or not loaded (after an "
    "update of the kernel, or refused by Secure Boot), or a container was started without it",
    fix=f"{_FIX} Without an NVIDIA GPU take the CPU (device='cpu', map_location='cpu') or the build for your card.",
    run=("lspci -d 10de:", "sudo modprobe nvidia", "nvidia-smi"),
)


def silence(facts: Facts, said: str) -> Silence:
    """Why no driver answers, by what a text tells beside that."""
    if said.startswith("nvidia-container-cli"):
        return _TOOLKIT_IN_WSL if in_wsl(facts) or "WSL" in topics_of(facts) else _TOOLKIT_FOUND_NONE
    answers = circumstances.ANSWERS.stands(facts)
    found = _by_circumstance(facts, said, answers=answers)
    seen = "torch finds no NVIDIA driver, while nvidia-smi answers by the text" if answers else _NO_ANSWER
    return found if found.message else found._replace(message=seen)


def _by_circumstance(facts: Facts, said: str, *, answers: bool) -> Silence:
    container, hosted = in_container(facts), circumstances.NOTEBOOK.stands(facts)
    if "card" in facts.remarks and not hosted:
        return _ON_AMD
    if circumstances.APPLE.stands(facts) and not hosted:
        return _ON_A_MAC
    if circumstances.WITHOUT_GPU.stands(facts) or circumstances.INTEGRATED.stands(facts):
        return _WITHOUT_ONE
    if "no nvidia driver" in said.lower() and (
        circumstances.BUILDS.stands(facts) or circumstances.BUILDS_AN_IMAGE.stands(facts)
    ):
        return _WHERE_IT_IS_BUILT
    if (container or "a container" in topics_of(facts)) and (answers or circumstances.HANDED_OVER.stands(facts)):
        return _UTILITY_ALONE if answers else _TOOLKIT_NOT_SET_UP
    return _RENTED if hosted else _STARTED_WITHOUT if container else _NO_DRIVER


class MissingLibrary(NamedTuple):
    """The driver's own library is not found: where it comes from, why it does not in most cases, and what helps."""

    usually: str
    fix: str
    run: tuple[str, ...] = ()
    comes_from: str = ""


_SEARCH = "ldconfig -p | grep -e libcuda.so -e libnvidia-ml.so"
_AT_BUILD = MissingLibrary(
    usually="an image is being built, in which there is neither a GPU nor the driver's library",
    fix="Do what imports it when the container runs, and not while the image is built; for linking alone take the "
    "toolkit's lib64/stubs; or let the build see the GPU (nvidia as Docker's default-runtime).",
)
_IN_SINGULARITY = MissingLibrary(
    comes_from="Singularity binds the host's with --nv, into /.singularity.d/libs",
    usually="it was started without --nv, something in it changed LD_LIBRARY_PATH, or the host has no driver",
    fix="Start with --nv on a machine with a GPU, and keep /.singularity.d/libs in LD_LIBRARY_PATH: what clears "
    "the environment loses it. Where the host's ldconfig does not know the library, bind its folder by hand (-B).",
    run=("ldconfig -p | grep libcuda.so", "export LD_LIBRARY_PATH=/.singularity.d/libs:$LD_LIBRARY_PATH"),
)
_IN_WSL = MissingLibrary(
    comes_from="in WSL it is the one of Windows' driver, in /usr/lib/wsl/lib",
    usually="Windows' driver is missing or too old for WSL, or the program does not search that folder",
    fix="Install the NVIDIA driver of Windows and update WSL; then let programs find that folder.",
    run=("ls /usr/lib/wsl/lib", "export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH"),
)
_HANDED_OVER = MissingLibrary(
    comes_from="a container gets the host's from the toolkit, when it starts",
    usually="the toolkit is not set up for this Docker, NVIDIA_DRIVER_CAPABILITIES leaves compute out, or the image's "
    "loader does not look where the toolkit puts it (Alpine, an ld.so.cache that was not made anew)",
    fix="See nvidia-smi in the container and which libraries came in; set the toolkit up anew, and start with "
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility.",
    run=(_SEARCH, *_TOOLKIT),
)
_NOT_HANDED_OVER = MissingLibrary(
    comes_from="a container gets the host's when it is started with the GPU",
    usually="it was started without the GPU, the NVIDIA Container Toolkit is not set up for this Docker, or the host's "
    "driver is not loaded",
    fix=WITH_THE_GPU.text,
    run=WITH_THE_GPU.commands,
)
_NOT_LINKED = MissingLibrary(
    usually="no driver is installed here, a container was started without the GPU, or the linker does not know it",
    fix=f"See nvidia-smi. {_FIX} Where nvidia-smi works, give the linker the folder of the library (ldconfig).",
    run=(_SEARCH, "nvidia-smi"),
)
_NO_GPU_HERE = MissingLibrary(
    comes_from="it is a part of NVIDIA's driver, which no package of Python brings",
    usually="there is no NVIDIA GPU in this machine, as the text has it, and so no driver with that library",
    fix="What asks for the library (Isaac Gym, TensorRT, a build for CUDA) needs a machine with an NVIDIA GPU and its "
    "driver: run it there, or in a container or job that is given one (--gpus all, --gres=gpu:1). Where it can "
    "do without a GPU, take its build or its option for the processor.",
    run=(_SEARCH, "nvidia-smi"),
)
_BOUND = Pattern(r"(?i)\.singularity\.d|\b(?:singularity|apptainer)\b")


def missing_library(facts: Facts) -> MissingLibrary:
    """Why the driver's own library is not in view: the driver itself may well run."""
    host = known(facts.host)
    if circumstances.AT_BUILD.stands(facts):
        return _AT_BUILD
    if anywhere(facts, _BOUND) is not None or (host is not None and host.container == "apptainer"):
        return _IN_SINGULARITY
    if in_wsl(facts):
        return _IN_WSL
    if in_container(facts):
        return _HANDED_OVER if circumstances.HANDED_OVER.stands(facts) else _NOT_HANDED_OVER
    if circumstances.WITHOUT_GPU.stands(facts) or circumstances.INTEGRATED.stands(facts):
        return _NO_GPU_HERE
    return _NOT_LINKED
