from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.evidence import nvidia_gpu, on_cpu
from envdoctor.facts import Facts
from envdoctor.knowledge import remedies
from envdoctor.rule import Finding, Pin, Severity, Skip, need, rule
from envdoctor.stack import by_name
from envdoctor.target import Target


@rule(Severity.ERROR)
def other_backend(facts: Facts, target: Target) -> Iterator[Finding]:
    """torch is built for AMD (ROCm) or Intel (XPU) GPUs, and the GPU is NVIDIA's.

    Why: such a build holds no CUDA: `torch.cuda.is_available()` is False (or speaks of AMD devices), and training
    runs on the CPU.
    Fix: install the build for the CUDA line that the driver runs.
    Source: https://pytorch.org/get-started/locally/
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    torch = need(facts.torch)
    gpu = nvidia_gpu(facts)
    backend = f"ROCm {torch.hip}" if torch.hip else f"XPU {torch.xpu}" if torch.xpu else None
    if backend is None or gpu is None or torch.cuda:
        return
    pin = by_name(target.choice.pins).get("torch") if target.choice and target.choice.cuda else None
    repair = (Pin(name="torch", version=pin.version),) if pin else ()
    by_hand = "uv pip install --torch-backend=auto --reinstall-package torch torch"
    yield Finding(
        kind="torch-cpu-only",
        subject="torch",
        actual=f"{torch.version} for {backend}",
        expected="a CUDA build",
        message=f"torch {torch.version} is built for {backend}, the GPU here is NVIDIA's ({gpu}).",
        remedy=remedies.choose(target, repair, "Install a CUDA build of torch in its place.", by_hand),
        explains=("torch/cuda-unavailable", "torch/cuda-error", "precision/", "attention/"),
        root_rank=80,
        repair=repair,
    )
