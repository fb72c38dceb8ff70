"""What reports say of drivers, containers and shared memory, told no further than the words go."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding, Severity

RULES = load_rules()
SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."


def findings(*lines: str) -> list[Finding]:
    return list(diagnose(read("\n".join(lines)), no_target(), RULES).findings)


def root(*lines: str) -> Finding:
    found = diagnose(read("\n".join(lines)), no_target(), RULES).root_cause
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("said", "means", "command"),
    [
        ("NVRM: The NVIDIA probe routine was not called for 1 device(s).", "another kernel driver", "nouveau"),
        ("modprobe: FATAL: Module nvidia-current not found in directory /lib/modules/6.1", "no module", "dkms"),
        ("NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x22:0x56:742)", "cannot start the GPU", "dmesg"),
        ("NVRM: installed in this system requires use of the NVIDIA open kernel modules.", "open kernel", "drivers"),
        ("NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:", "no room", "dmesg"),
    ],
)
def test_what_the_kernel_says_of_a_silent_driver_comes_with_it(said: str, means: str, command: str) -> None:
    found = root(SMI, said)
    assert found.rule == "driver/no-gpu"
    assert means in found.message
    assert command in " ".join(found.remedy.commands)


def test_a_library_that_is_not_found_is_not_a_missing_driver() -> None:
    missing = "./app: error while loading shared libraries: libcuda.so.1: cannot open shared object file"
    plain = root(missing)
    assert "No NVIDIA driver" not in plain.message
    bound = root("singularity exec --nv image.sif ./app", missing)
    assert "--nv" in bound.message
    assert "/.singularity.d/libs" in " ".join(bound.remedy.commands)
    windows = root("I am running Ubuntu on WSL2.", missing)
    assert "/usr/lib/wsl/lib" in windows.message
    inside = root("I run it inside a docker container of our cluster.", missing)
    assert inside.remedy.commands == ("docker run --gpus all ...",)


@pytest.mark.parametrize(
    "said",
    [
        "nvidia-container-cli: container error: cgroup subsystem devices not found: unknown",
        "nvidia-container-cli: device error: 2: unknown device: unknown",
        "nvidia-container-cli: ldcache error: open failed: /sbin/ldconfig.real: no such file or directory",
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver",
    ],
)
def test_the_container_tool_fails_for_other_reasons_than_the_driver(said: str) -> None:
    rules = {found.rule for found in findings(said) if found.severity is Severity.ERROR}
    assert rules == {"packages/known-errors"}


def test_devices_are_lost_only_where_they_were_there_before() -> None:
    refused = "Failed to initialize NVML: Unknown Error"
    never = root("docker run --rm --gpus all ubuntu nvidia-smi", refused)
    assert "devices: it was not given them" in never.message
    assert "docker restart CONTAINER" not in never.remedy.commands
    lost = root("docker run --gpus all image", f"After a few hours nvidia-smi gives {refused.lower()}")
    assert "devices: it has lost them" in lost.message
    assert lost.remedy.commands == ("docker restart CONTAINER",)


def test_wsl_has_no_device_files() -> None:
    found = root("Ubuntu 22.04 on WSL2", "RuntimeError: no CUDA-capable device is detected")
    assert found.rule == "driver/devices"
    assert "device files" not in found.message


def test_a_bus_error_on_a_mac_is_not_its_shared_memory() -> None:
    assert not findings("Bus error on a MacBook with the mps device")
    assert root("worker killed: bus error").subject == "/dev/shm"


def test_a_guess_at_shared_memory_yields_to_what_somebody_measured() -> None:
    guess = (
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
    )
    assert root(guess).severity is Severity.ERROR
    ample = root("docker run --ipc=host image; there is 128 GB of /dev/shm and the program failed", guess)
    assert ample.severity is Severity.WARNING
    assert "mapped" in ample.message


def test_a_word_that_nvidia_smi_works_shows_a_gpu() -> None:
    found = findings(
        "podman run pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime",
        "nvidia-smi works in the container, but CUDA isn't detected",
        "torch.cuda.is_available() returns False",
    )
    assert "driver/nothing-found" not in {each.rule for each in found}
    assert "/dev/nvidia-uvm" in {each.subject for each in found}


def test_an_old_bitsandbytes_that_finds_no_driver_lacks_no_library_of_its_own() -> None:
    found = findings(
        "CUDA SETUP: WARNING! libcuda.so not found! Do you have a CUDA driver installed?",
        "CUDA SETUP: Loading binary /env/bitsandbytes/libbitsandbytes_cpu.so...",
        "UserWarning: The installed version of bitsandbytes was compiled without GPU support.",
    )
    assert {each.subject for each in found if each.severity is Severity.ERROR} == {"libcuda.so"}


def test_a_gpu_of_the_newest_generation_that_torch_names_is_served() -> None:
    warned = (
        "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.",
        "Minimum and Maximum cuda capability supported by this version of PyTorch is",
        "(8.0) - (12.0)",
    )
    assert "torch/no-kernels" not in {each.rule for each in findings(*warned)}
    older = ("Found GPU0 Quadro K620 which is of cuda capability 5.0.", *warned[1:])
    assert root(*older).rule == "torch/no-kernels"


def test_a_heading_that_is_the_line_of_a_traceback_is_read() -> None:
    heading = (
        "# raise RendezvousConnectionError( torch.distributed.RendezvousConnectionError: The connection has failed."
    )
    assert root(heading, "", "How can this be?").subject == "the meeting of the ranks"


def test_an_insufficient_driver_is_not_torch_s_word() -> None:
    found = root("CUDA driver version is insufficient for CUDA runtime version", "driver version: 472.12")
    assert "torch" not in found.message
    assert "not reached" in found.message


def test_a_missing_cudnn_is_not_two_of_them() -> None:
    said = "W dso_loader.cc:64] 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file"
    found = root(said)
    assert found.rule == "torch/cudnn"
    assert "not torch" in found.message
    assert "Two releases" not in found.message


def test_a_driver_that_is_missed_in_passing_is_no_cause() -> None:
    said = "Warning: caught exception 'Found no NVIDIA driver on your system.', memory monitor disabled"
    assert "driver/no-gpu" not in {each.rule for each in findings(said)}


def test_cards_without_peer_access_lose_nothing_by_it() -> None:
    cards = "GPU 0: NVIDIA GeForce RTX 4090\nGPU 1: NVIDIA GeForce RTX 4090\nexport NCCL_P2P_DISABLE=1"
    severities = {each.severity for each in findings(cards) if each.subject == "NCCL_P2P_DISABLE"}
    assert severities <= {Severity.NOTE}
    condition = "If p2p disabled, things all going well, else all_reduce_perf hangs on 8 cards"
    assert "network/peer-access" not in {each.rule for each in findings(condition)}
