"""What ends a process from outside, and what a full folder proves."""

from __future__ import annotations

import pytest

from tests.rules.told import errors, root, whole

BUS = (
    "RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that dataloader's workers "
    "are out of shared memory."
)


def test_a_bus_error_alone_proves_no_full_memory() -> None:
    found = root(BUS)
    certain, _, likely = found.message.partition(" Usually ")
    assert "gave out" not in certain
    assert "/dev/shm is full" in likely
    assert "num_workers=0" in found.remedy.text


def test_who_has_no_workers_is_not_told_to_take_none() -> None:
    found = root("I set num_workers=0 already", BUS)
    assert "num_workers=0" not in found.remedy.text


def test_plenty_of_shared_memory_is_not_too_small() -> None:
    nccl = "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-5Kf2lq (size 9637888)"
    (found,) = [one for one in errors("docker run --shm-size=64g image", nccl) if one.rule == "host/shared-memory"]
    assert "too small" not in found.message
    assert "plenty" in found.message
    assert not any("--shm-size" in command for command in found.remedy.commands)


def test_a_database_has_shared_memory_of_its_own() -> None:
    lines = ("ERROR: out of shared memory", "HINT: You might need to increase max_locks_per_transaction.")
    assert not errors(*lines)


def test_a_process_that_is_killed_may_have_been_stopped() -> None:
    found = root("command terminated with exit code 137")
    certain, _, likely = found.message.partition(" Usually ")
    assert "memory" not in certain
    assert "memory" in likely
    assert "docker stop" in likely


@pytest.mark.parametrize(("size", "kind"), [("4503599627370496", "script-wrong"), ("68719476736", "host-limited")])
def test_a_size_that_no_machine_has_is_a_wrong_shape(size: str, kind: str) -> None:
    found = root(f"RuntimeError: DefaultCPUAllocator: not enough memory: you tried to allocate {size} bytes.")
    assert found.kind == kind


def test_the_limit_of_watched_files_fills_no_disk() -> None:
    found = root("OSError: [Errno 28] No space left on device: inotify watch limit reached")
    assert "no disk is full" in found.message
    assert "sysctl" in whole(found)


def test_two_ranks_on_one_gpu_are_not_a_number_that_is_not_there() -> None:
    twice = root("ncclInvalidUsage: Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000")
    assert twice.message.startswith("Processes of the run have to share a GPU")
    absent = root("RuntimeError: CUDA error: invalid device ordinal", 'model = model.to("cuda:1")')
    assert absent.rule == "network/ranks"
    assert "share a GPU" not in absent.message
    assert "fixed GPU" in absent.message


def test_an_idle_gpu_beside_a_complaint_leads_with_the_processor() -> None:
    complaint = "The training is very slow, here is nvidia-smi:"
    idle = "| 32%   46C    P8    28W / 250W |    320MiB / 12066MiB |      0%      Default |"
    busy = "| 32%   46C    P2   180W / 250W |   9320MiB / 12066MiB |     96%      Default |"
    assert root(complaint, idle).subject == "a GPU that computes nothing"
    found = root(complaint, "GPU usage is low", idle, busy)
    assert found.subject != "a GPU that computes nothing"


def test_directml_is_given_no_package_of_cuda() -> None:
    found = root("onnxruntime-directml is slower than onnxruntime on the CPU", "Graphics: Intel UHD 630, onnx model")
    assert found.subject == "DirectML's device"
    assert "onnxruntime-gpu" not in whole(found)
