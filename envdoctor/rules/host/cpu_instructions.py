from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, Skip, Target, finding, need, rule


@rule(NOTE, kind="host-limited", who="host")
def cpu_instructions(facts: Facts, target: Target) -> Findings:
    """The CPU lacks vector instructions that torch's kernels use.

    Why: torch and oneDNN choose their kernels by the CPU: without AVX2 they fall to the slowest ones; AVX-512
    roughly doubles the width; bf16 is computed by AVX512_BF16 or AMX, and emulated without them. A virtual
    machine may hide what its CPU can do. Training on a GPU does not notice.
    Fix: another machine, or the host's CPU model passed through; float32 instead of bf16 on such a CPU.
    Source: https://docs.pytorch.org/docs/stable/backends.html#torch.backends.cpu.get_cpu_capability
    https://uxlfoundation.github.io/oneDNN/dev_guide_data_types.html
    """
    host = need(facts.host)
    if not target.is_cpu or target.name == "none":
        raise Skip("it concerns training on the CPU")
    if (host.machine or "x86_64").lower() not in ("x86_64", "amd64") or not host.cpu_flags:
        raise Skip("the CPU's instructions are not known, or it is not an x86 one")
    flags = set(host.cpu_flags)
    lacks = []
    if "avx2" not in flags:
        lacks.append(("no AVX2", "AVX2", "torch uses its slowest kernels", WARNING))
    elif "avx512f" not in flags:
        lacks.append(("AVX2", "AVX-512", "kernels are half as wide as they can be", NOTE))
    if "avx2" in flags and not flags & {"avx512_bf16", "amx_bf16"}:
        lacks.append(("no bf16 instructions", "AVX512_BF16 or AMX", "bf16 is emulated; train in float32", NOTE))
    for has, wanted, effect, severity in lacks:
        text = f"{host.cpu_model or 'The CPU'} has {has}: {effect}."
        yield finding(subject=wanted, actual=has, expected=wanted, severity=severity, message=text, fix=_NO_REPAIR)


_NO_REPAIR = Remedy(text="Another machine; nothing can be installed for it.", commands=("lscpu",))
