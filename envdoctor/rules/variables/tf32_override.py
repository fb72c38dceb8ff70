from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import remedies
from envdoctor.knowledge.hardware import capabilities, trains_on_gpu
from envdoctor.rule import Finding, SetVariable, Severity, need, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def tf32_override(facts: Facts, target: Target) -> Iterator[Finding]:
    """A variable overrides what torch is told about TF32.

    Why: NVIDIA_TF32_OVERRIDE=0 forbids TF32 to every NVIDIA library, whatever torch asks for;
    TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1 forces it for float32 products. Both are read below torch's own settings,
    which go on showing what was asked for. Neither touches bf16 or fp16.
    Fix: unset it, and call torch.set_float32_matmul_precision.
    Source: https://docs.nvidia.com/cuda/cublas/#nvidia-tf32-override-environment-variable
    https://docs.pytorch.org/docs/2.15/cuda_environment_variables.html
    """
    variables = need(facts.variables)
    found = capabilities(facts, target)
    useless = trains_on_gpu(facts, target) is False or (bool(found) and max(found) < (8, 0))
    rows = (
        ("NVIDIA_TF32_OVERRIDE", "0", "TF32 is forbidden: float32 products run several times slower", Severity.WARNING),
        ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1", "TF32 is forced for float32 products", Severity.NOTE),
    )
    for name, value, effect, severity in rows:
        if variables.get(name) == value:
            yield Finding(
                kind="no-effect" if useless else "flag-differs",
                subject=name,
                actual=value,
                expected="not set",
                message=f"{name}={value}: {effect}" + ("; no effect on this hardware." if useless else "."),
                remedy=remedies.setting(target, "Unset it.", f"unset {name}"),
                severity=Severity.NOTE if useless else severity,
                repair=(SetVariable(name=name, value=None),),
            )
