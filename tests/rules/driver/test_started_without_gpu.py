"""A container that sees no GPU, and the command that started it."""

from __future__ import annotations

import pytest

from tests.rules.told import root

NONE = "RuntimeError: Found no NVIDIA driver on your system."


@pytest.mark.parametrize(
    ("command", "mended"),
    [
        ("singularity exec train.sif python fit.py", "singularity exec --nv train.sif python fit.py"),
        ("$ apptainer shell train.sif", "apptainer shell --nv train.sif"),
        ("docker run -it --rm pytorch/pytorch bash", "docker run --gpus all -it --rm pytorch/pytorch bash"),
        ("sudo docker run -v /data:/data trainer:1", "sudo docker run --gpus all -v /data:/data trainer:1"),
        ("2. started it: docker run -it trainer", "docker run --gpus all -it trainer"),
        ("podman run trainer python fit.py", "podman run --device nvidia.com/gpu=all trainer python fit.py"),
    ],
)
@pytest.mark.parametrize(
    "error",
    [NONE, "But your machine only has: []", "RuntimeError: No CUDA GPUs are available", "torch can't find my GPU"],
)
def test_the_command_hands_none_over(command: str, mended: str, error: str) -> None:
    found = root("I start it by", command, error)
    assert found.rule == "driver/started-without-gpu"
    assert found.remedy.commands[0] == mended


@pytest.mark.parametrize(
    "lines",
    [
        ("singularity exec --nv train.sif python fit.py", NONE),
        ("docker run --gpus all trainer", NONE),
        ("docker run --runtime=nvidia trainer", NONE),
        ("docker run -it \\", "  --gpus all trainer", NONE),
        ("docker exec -it trainer bash", NONE),
        ("docker compose up", NONE),
        ("docker run trainer", "then docker run --gpus all trainer", NONE),
        ("docker run trainer", "AssertionError: Torch not compiled with CUDA enabled"),
        ("docker run trainer", "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB."),
        ("docker run trainer", "I have no GPU and want to run it on the CPU.", NONE),
        ("python fit.py", NONE),
    ],
)
def test_or_it_does_or_that_is_not_the_matter(lines: tuple[str, ...]) -> None:
    assert root("I start it by", *lines).rule != "driver/started-without-gpu"
