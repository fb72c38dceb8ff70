from __future__ import annotations

from collections.abc import Iterator

from envdoctor.compat.architectures import serving
from envdoctor.compat.gpus import capability_of
from envdoctor.compat.installed_torch import torch_build
from envdoctor.facts import Facts
from envdoctor.knowledge import extensions, messages, remedies
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Severity, Skip, known, rule
from envdoctor.target import Target

_SAYS = (
    Pattern(r"no kernel image is available for execution on the device"),
    Pattern(r"cudaErrorNoKernelImageForDevice|CUDA error: invalid device function"),
)
_COMPILED = frozenset(
    "apex bitsandbytes causal-conv1d deepspeed detectron2 flash-attn flash-attn-3 mamba-ssm mmcv mmcv-full natten "
    "pytorch3d sageattention torch-scatter torch-sparse transformer-engine vllm xformers".split()
)


@rule(Severity.ERROR)
def extension_kernels(facts: Facts, target: Target) -> Iterator[Finding]:
    """torch has kernels for this GPU, and a compiled extension has none.

    Why: "no kernel image is available" comes from whatever launches the kernel. Where torch's own build covers the
    GPU, it is an extension that was compiled for other architectures.
    Fix: a release of the extension that covers the GPU, or one compiled here with TORCH_CUDA_ARCH_LIST.
    Source: https://docs.pytorch.org/docs/stable/cpp_extension.html
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    """
    said = messages.matched(facts, *_SAYS)
    packages, gpus, torch = known(facts.packages), known(facts.gpus), known(facts.torch)
    if said is None:
        raise Skip("no kernel is reported to be missing")
    build = torch_build(facts)
    kernels = torch.arch_list if torch and torch.arch_list else build.kernels if build else ()
    numbers = [
        number for gpu in (gpus.devices if gpus else ()) if (number := gpu.capability or capability_of(gpu.name))
    ]
    numbers = numbers or list(torch.capabilities if torch else ())
    if not kernels or not numbers or not all(serving(kernels, number) for number in numbers):
        return
    present = [d.name for d in packages.distributions if d.name in _COMPILED] if packages else []
    name = extensions.named(said.string, present) or (present[0] if len(present) == 1 else None)
    if name is None and not present:
        return
    subject = name or " or ".join(present)
    yield Finding(
        kind="extension-binary-missing",
        subject=subject,
        actual=f"no code for capability {numbers[0]}",
        expected=f"code for capability {numbers[0]}, as torch itself has",
        message=f"torch covers this GPU (capability {numbers[0]}); the missing kernel is of {subject}: {said.string}",
        remedy=remedies.choose(
            target,
            (),
            "Install a release of it that covers the GPU, or compile it here.",
            f"TORCH_CUDA_ARCH_LIST={numbers[0]} python -m pip install --no-binary :all: --no-build-isolation {subject}",
        ),
        root_rank=34,
    )
