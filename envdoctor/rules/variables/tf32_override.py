from envdoctor.rules.finding import NOTE, WARNING, Findings, SetVariable, finding
from envdoctor.rules.rule import Facts, Target, likely_capabilities, need, remedies, rule, trains_on_gpu


@rule(WARNING, expected="not set")
def tf32_override(facts: Facts, target: Target) -> Findings:
    """A variable overrides what torch is told about TF32.

    Why: NVIDIA_TF32_OVERRIDE=0 forbids TF32 to every NVIDIA library, whatever torch asks for;
    TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1 forces it for float32 products. Both are read below torch's own settings,
    which go on showing what was asked for. Neither touches bf16 or fp16.
    Fix: unset it, and call torch.set_float32_matmul_precision.
    Source: https://docs.nvidia.com/cuda/cublas/#nvidia-tf32-override-environment-variable
    https://docs.pytorch.org/docs/2.15/cuda_environment_variables.html
    """
    variables = need(facts.variables)
    found = likely_capabilities(facts, target)
    useless = trains_on_gpu(facts, target) is False or (bool(found) and max(found) < (8, 0))
    rows = (
        ("NVIDIA_TF32_OVERRIDE", "0", "TF32 is forbidden: float32 products run several times slower", WARNING),
        ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1", "TF32 is forced for float32 products", NOTE),
    )
    for name, value, effect, severity in rows:
        if variables.get(name) == value:
            yield finding(
                subject=name,
                actual=value,
                kind="no-effect" if useless else "flag-differs",
                severity=NOTE if useless else severity,
                message=f"{name}={value}: {effect}" + ("; no effect on this hardware." if useless else "."),
                fix=remedies.setting(target, "Unset it.", f"unset {name}"),
                repair=(SetVariable(name=name, value=None),),
            )
