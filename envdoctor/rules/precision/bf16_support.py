from envdoctor.rules.hardware import likely_capabilities, trains_on_gpu
from envdoctor.rules.precision._launcher import launch_in, require_launched_in
from envdoctor.rules.rule import WARNING, Facts, Findings, Target, finding, known, rule


@rule(WARNING, kind="config-mismatch", subject="mixed_precision")
def bf16_support(facts: Facts, target: Target) -> Findings:
    """The launcher asks for bf16 on hardware that computes it slowly.

    Why: bf16 arithmetic starts with compute capability 8.0 (Ampere). Before it, torch emulates bf16 in float32:
    is_bf16_supported() says yes, and it is slower than float16 or even float32. On CPUs the same holds without
    AVX512_BF16 or AMX.
    Fix: mixed_precision: fp16 on such a GPU, "no" on such a CPU.
    Source: https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-likely_capabilities.html
    https://github.com/pytorch/pytorch/issues/124996
    https://github.com/karpathy/nanochat/blob/master/nanochat/common.py
    """
    host = known(facts.host)
    if require_launched_in(facts) != "bf16":
        return
    found = likely_capabilities(facts, target)
    on_gpu = trains_on_gpu(facts, target)
    flags = set(host.cpu_flags) if host else set()
    if found and min(found) < (8, 0):
        slowest = min(found)
        where, instead = f"a GPU of compute capability {slowest[0]}.{slowest[1]}", "fp16"
    elif on_gpu is False and flags and not flags & {"avx512_bf16", "amx_bf16", "bf16", "svebf16"}:
        where, instead = "this CPU", "no"
    else:
        return
    yield finding(
        actual="bf16",
        expected=instead,
        message=f"The launcher trains in bf16, which {where} emulates slowly.",
        fix=launch_in(instead, f"Choose mixed_precision {instead}."),
    )
