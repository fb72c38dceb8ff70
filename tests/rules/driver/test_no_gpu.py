from __future__ import annotations

import pytest

from envdoctor import doctor
from envdoctor.facts.model import Driver, Facts, Host
from envdoctor.facts.pasted import read
from envdoctor.rules.checkup import CheckOptions
from envdoctor.rules.driver.no_gpu import no_gpu
from tests.rules.cuda_machines import CPU_TARGET, brief, machine, only, pasted
from tests.rules.judging import findings, silent, skipped

UNLOADED = Driver(kernel_module="", pci=("0000:01:00.0 10de:2330",))


@pytest.mark.parametrize(
    "facts",
    [
        machine(driver=UNLOADED),
        pasted("CUDA initialization: Found no NVIDIA driver on your system"),
        pasted("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
        machine(driver=Driver(smi="NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")),
        pasted("ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"),
        pasted("CUDA driver initialization failed, you might not have a CUDA gpu."),
    ],
)
def test_found(facts: Facts) -> None:
    assert brief(no_gpu, facts) == ["error gpu-not-visible driver"]


def test_who() -> None:
    assert only(no_gpu, machine(driver=UNLOADED)).who == "you"
    inside = only(no_gpu, machine(driver=UNLOADED, container="docker"))
    assert (inside.who, inside.remedy.commands) == ("host", ("docker run --gpus all ...",))


def test_not_found() -> None:
    assert silent(no_gpu, machine())
    assert silent(no_gpu, machine(driver=Driver(kernel_module="")))  # a machine without a GPU
    assert silent(no_gpu, machine(driver=UNLOADED, host=Host(container="wsl2")))
    assert silent(no_gpu, pasted("nvidia-container-cli: nvml error: driver/library version mismatch", driver=Driver()))
    refused = "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"
    assert silent(
        no_gpu, pasted("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", refused)
    )
    assert skipped(no_gpu, pasted())
    assert skipped(no_gpu, machine(driver=UNLOADED), CPU_TARGET)


@pytest.mark.parametrize(("before", "wsl"), [("I am in WSL2 on Windows 11.\n", True), ("Ubuntu 24.04 it is.\n", False)])
def test_a_text_of_wsl_is_never_sent_to_a_driver_for_linux(before: str, wsl: bool) -> None:
    text = f"{before}ImportError: libcuda.so.1: cannot open shared object file: No such file or directory\n"
    found = doctor.judge(read(text), CheckOptions(target="none")).diagnosis.findings[0]
    told = f"{found.message} {found.remedy.text} {' '.join(found.remedy.commands)}"
    assert ("/usr/lib/wsl/lib" in told) is wsl
    assert ("modprobe" in told) is not wsl


@pytest.mark.parametrize("line", ["RUN python setup.py install", "docker build -t mine .", "Building it in an image"])
def test_a_build_is_told_to_name_its_architectures(line: str) -> None:
    found = only(no_gpu, read(f"{line}\nAssertionError: Found no NVIDIA driver on your system.\n"))
    assert "TORCH_CUDA_ARCH_LIST" in found.remedy.commands[0]
    assert not any("--gpus" in command for command in found.remedy.commands)


def test_a_container_whose_nvidia_smi_works_lacks_what_computes() -> None:
    error = "RuntimeError: Found no NVIDIA driver on your system."
    found = only(no_gpu, read(f"{error}\nIn the container nvidia-smi shows the card and driver 535.54.\n"))
    assert "utility alone" in found.message
    assert "No NVIDIA driver answers" not in found.message


def test_a_run_in_a_container_is_no_build() -> None:
    error = "AssertionError: Found no NVIDIA driver on your system."
    found = only(no_gpu, read(f"docker run -t -i --privileged image bash\nThe Dockerfile is theirs.\n{error}\n"))
    assert "TORCH_CUDA_ARCH_LIST" not in found.remedy.text


def test_a_step_of_a_dockerfile_is_a_build_though_the_image_also_runs() -> None:
    error = "AssertionError: Found no NVIDIA driver on your system."
    found = only(no_gpu, read(f"With docker run --runtime=nvidia it works.\nRUN pip wheel --no-deps .\n{error}\n"))
    assert "TORCH_CUDA_ARCH_LIST" in found.remedy.commands[0]


def test_a_notebook_of_somebody_elses_has_not_the_card_that_is_told_of() -> None:
    error = "RuntimeError: Found no NVIDIA driver on your system."
    here = read(f"None of the Google collab notebooks work.\n{error}\nMy card is a Radeon RX 6600.\n")
    at_home = read(f"None of the programs work.\n{error}\nMy card is a Radeon RX 6600.\n")
    (finding,) = findings(no_gpu, here)
    assert "Change runtime type" in finding.remedy.text
    assert finding.title == "No NVIDIA driver is reached from where the program runs"
    (finding,) = findings(no_gpu, at_home)
    assert "ROCm" in finding.remedy.text
    assert finding.title == "An NVIDIA GPU is asked for where none answers"


def test_the_title_is_of_the_branch_that_the_remedy_is_of() -> None:
    text = "RuntimeError: Found no NVIDIA driver on your system.\npip install . builds a CUDAExtension on my MacBook\n"
    (finding,) = findings(no_gpu, read(text))
    assert finding.remedy.text.startswith("Choose mps or cpu")
    assert (finding.who, finding.expected) == ("you", "code, or a torch, for what is here")


def test_the_toolkit_in_wsl_looks_for_windows_driver() -> None:
    line = (
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object"
    )
    (finding,) = findings(no_gpu, read(f"I am on WSL2 (Docker Desktop).\n{line} file: no such file or directory\n"))
    assert "older than 21H2" in finding.message
    assert "snap" not in finding.remedy.text
