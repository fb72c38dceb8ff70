"""What the rest of a text rules out is not said of a silent driver, and what is likely is said as no more than that."""

from __future__ import annotations

import pytest

from tests.rules.told import errors, root, whole

NONE = "RuntimeError: No CUDA GPUs are available"
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"
SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
LIBCUDA = "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"
LOST = "Failed to initialize NVML: Unknown Error"
TABLE = "| NVIDIA-SMI 550.54.14    Driver Version: 550.54.14    CUDA Version: 12.4     |"


@pytest.mark.parametrize(
    ("lines", "says", "never"),
    [
        (("docker run --gpus all -it image", TABLE, NONE), "CUDA_VISIBLE_DEVICES", "started without"),
        (("I run it inside a docker container of our cluster.", NONE), "started without one", "Ray"),
        (("I train on Google Colab.", NONE), "Change runtime type", "modprobe"),
        (("(RayWorkerWrapper pid=12) " + NONE, "ray start --head --num-gpus=8"), "num_gpus=1", "docker run"),
        (("I run it on a MacBook with an M2.", NONE), "mps", "nvidia-smi"),
        (("ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected",), "Usually", "torch"),
    ],
)
def test_why_cuda_has_no_device(lines: tuple[str, ...], says: str, never: str) -> None:
    found = root(*lines)
    assert found.rule == "driver/devices"
    assert "CUDA finds no GPU that this process may use" in found.message
    assert says in whole(found)
    assert never not in whole(found)


@pytest.mark.parametrize(
    ("lines", "says", "never"),
    [
        (("docker run --gpus all image python train.py", NO_DRIVER), "nvidia-ctk", "docker run --gpus all ..."),
        (("I run it inside a docker container of our cluster.", NO_DRIVER), "docker run --gpus all ...", "nvidia-ctk"),
        (("I run this on Kaggle.", NO_DRIVER), "Accelerator", "modprobe"),
        (("I use a MacBook Pro.", NO_DRIVER), "no NVIDIA GPU in a Mac", "modprobe"),
        (("My laptop has no GPU, I want to run the demo on CPU.", NO_DRIVER), "map_location='cpu'", "driver is not"),
        (("I have an AMD Radeon RX 6700 XT.", NO_DRIVER), "ROCm", "modprobe"),
        (("I rent a pod under JupyterHub and cannot reboot it.", SMI), "take another", "modprobe"),
        ((NO_DRIVER,), "Usually there is no NVIDIA GPU in this machine", "nvidia-ctk"),
    ],
)
def test_why_no_driver_answers(lines: tuple[str, ...], says: str, never: str) -> None:
    found = root(*lines)
    assert found.rule == "driver/no-gpu"
    assert says in whole(found)
    assert never not in whole(found)


def test_a_silent_driver_in_wsl_is_told_of_wsls_own_reasons() -> None:
    found = root("Ubuntu 22.04 on WSL2 with a kernel of my own", SMI)
    assert "this WSL" in found.message
    assert "dxgkrnl" in found.message
    assert "modprobe" not in whole(found)


def test_the_container_toolkit_that_finds_no_driver_was_asked_for_the_gpu() -> None:
    said = "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open"
    found = root("docker run --gpus all ubuntu nvidia-smi", said)
    assert "The container toolkit found no NVIDIA driver" in found.message
    assert "Docker Desktop" in found.message
    assert "docker run --gpus all ..." not in found.remedy.commands


def test_the_drivers_library_is_no_matter_of_a_build() -> None:
    built = root("RUN pip install flash-attn", "docker build -t mine .", LIBCUDA)
    assert "an image is being built" in built.message
    given = root("docker run --gpus all image", LIBCUDA)
    assert "NVIDIA_DRIVER_CAPABILITIES" in given.message
    assert "docker run --gpus all ..." not in given.remedy.commands


def test_nvml_is_silent_on_a_machine_of_its_own_too() -> None:
    bare = root("On the host itself, after I set a power limit:", LOST)
    assert "This container" not in bare.message
    assert "Usually it is a container" in bare.message
    assert "Xid" in bare.message
    inside = root("docker run --gpus all image", "After some hours it stops working:", LOST)
    assert inside.message.startswith("In this container")
    assert "Usually the container may not open the GPU's devices: it has lost them" in inside.message


@pytest.mark.parametrize(
    ("said", "proves", "usually"),
    [
        ("RuntimeError: CUDA error: invalid device ordinal", "a number that this process does not have", "cuda:1"),
        ("Error 802: system not yet initialized", "has not finished setting the GPUs up", "NVSwitch"),
        ("CUDA error: all CUDA-capable devices are busy or unavailable", "none of the GPUs", "exclusive"),
        ("RuntimeError: CUDA error: initialization error", "does not start in this process", "forked"),
        ("RuntimeError: CUDA unknown error - this may be due to an incorrect", "gives no reason", "slept"),
        ("UserWarning: CUDA initialization: CUDA driver initialization failed, you might", "does not start", "forked"),
    ],
)
def test_what_an_error_of_cudas_start_proves_stands_before_what_is_likely(said: str, proves: str, usually: str) -> None:
    (found, *_) = [one for one in errors("Traceback:", said) if one.rule in ("driver/cuda-init", "network/ranks")]
    certain, _, likely = found.message.partition(" Usually ")
    assert proves in certain
    assert usually in likely
    assert usually not in certain


def test_why_an_image_did_without_forward_compatibility_is_no_failure() -> None:
    notice = (
        "WARNING: CUDA Minor Version Compatibility mode ENABLED.",
        "with this container but was unavailable:",
        "[[System has unsupported display driver / cuda driver combination (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) "
        "cuInit()=803]]",
    )
    assert not errors(*notice)


def test_a_rented_session_is_not_told_to_reboot() -> None:
    mismatch = ("Failed to initialize NVML: Driver/library version mismatch", "NVML library version: 535.183")
    rented = root("In my JupyterHub pod:", *mismatch)
    assert "sudo reboot" not in rented.remedy.commands
    assert "another machine" in rented.remedy.text
    assert "sudo reboot" in root("On my workstation:", *mismatch).remedy.commands
