"""What a text tells beside an error: read where it is said, and not where its contrary is."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.knowledge.circumstances import ANSWERS, APPLE, HANDED_OVER, NOTEBOOK, WITHOUT_GPU, Circumstance

ERROR = "RuntimeError: No CUDA GPUs are available"


@pytest.mark.parametrize(
    ("circumstance", "line"),
    [
        (HANDED_OVER, "docker run --rm --gpus all image python train.py"),
        (HANDED_OVER, "docker run -it --rm --gpus 2 image"),
        (HANDED_OVER, "docker run --gpus '\"device=0\"' image"),
        (HANDED_OVER, "singularity exec --nv image.sif python train.py"),
        (HANDED_OVER, "nvidia.com/gpu: 1"),
        (ANSWERS, "| NVIDIA-SMI 550.54.14    Driver Version: 550.54.14    CUDA Version: 12.4     |"),
        (ANSWERS, "nvidia-smi works fine in the container"),
        (WITHOUT_GPU, "I don't have a GPU"),
        (WITHOUT_GPU, "my laptop has no NVIDIA GPU"),
        (WITHOUT_GPU, "how can I run this on the CPU?"),
        (WITHOUT_GPU, "a CPU-only machine"),
        (APPLE, "I use a MacBook Air"),
        (NOTEBOOK, "I train on Google Colab"),
    ],
)
def test_told(circumstance: Circumstance, line: str) -> None:
    assert circumstance.stands(read(f"{line}\n{ERROR}"))


@pytest.mark.parametrize(
    ("circumstance", "line"),
    [
        (HANDED_OVER, "I started it without --gpus all"),
        (HANDED_OVER, "docker run -it image python train.py"),
        (HANDED_OVER, "python train.py --gpus 1"),
        (ANSWERS, "nvidia-smi does not work"),
        (ANSWERS, "nvidia-smi prints an error"),
        (WITHOUT_GPU, "I have an RTX 3090 and it runs on the CPU"),
        (WITHOUT_GPU, "I do have a GPU"),
        (WITHOUT_GPU, "I want it on the GPU and not to run on the CPU instead of it"),
        (APPLE, "the machine has 64 GB"),
        (APPLE, "macOS users have no trouble, and I use Ubuntu"),
        (APPLE, "I reach the server by ssh from my MacBook"),
    ],
)
def test_not_told(circumstance: Circumstance, line: str) -> None:
    assert not circumstance.stands(read(f"{line}\n{ERROR}"))
