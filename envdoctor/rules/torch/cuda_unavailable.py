from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.evidence import driver_owner, hidden_by, nvidia_gpu, on_cpu
from envdoctor.compat.installed_torch import torch_cuda
from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, known, need, rule
from envdoctor.target import Target


@rule(Severity.ERROR)
def cuda_unavailable(facts: Facts, target: Target) -> Iterator[Finding]:
    """torch has CUDA, there is a GPU, and CUDA is not available.

    Why: training falls back to the CPU. Usually another finding names the cause (driver too old, hidden devices, a
    failing cuInit); this one remains when nothing else explains it.
    Fix: ask CUDA itself for its error.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.cuda.is_available.html
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    torch = need(facts.torch)
    if torch.cuda_available is None:
        raise Skip("whether CUDA is available is not known")
    gpu = nvidia_gpu(facts)
    if torch.cuda_available or not torch_cuda(facts) or gpu is None:
        return
    driver = known(facts.driver)
    said = f": {torch.cuda_error}" if torch.cuda_error else ""
    hidden = hidden_by(facts)
    yield Finding(
        kind="cuda-init-failed" if not hidden else "gpu-not-visible",
        subject="CUDA",
        actual="not available" + (f" (cuInit {driver.cuinit})" if driver and driver.cuinit else ""),
        expected="available",
        message=f"torch is built for CUDA {torch_cuda(facts)} and there is {gpu}, but CUDA is not available{said}.",
        remedy=Remedy(
            text="Let CUDA name the error; then look at what hides or blocks the device.",
            commands=(
                "python -c 'import torch; torch.cuda.init()'",
                "env -u CUDA_VISIBLE_DEVICES -u LD_LIBRARY_PATH python -c 'import torch; torch.cuda.init()'",
            ),
        ),
        who="you" if hidden else driver_owner(facts),
        explains=("precision/", "attention/"),
        root_rank=5,
    )
