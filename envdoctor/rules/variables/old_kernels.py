from envdoctor.rules.finding import Findings, SetVariable
from envdoctor.rules.rule import NOTE, WARNING, Facts, Skip, Target, finding, need, remedies, rule, trains_on_gpu

# Instructions by rising level: the name that a variable limits to, and the CPU flags that make it worth having.
_LEVELS = {
    "SSE41": (),
    "AVX": ("avx",),
    "AVX2": ("avx2",),
    "AVX2_VNNI": ("avx_vnni",),
    "AVX512_CORE": ("avx512f",),
    "AVX512_CORE_VNNI": ("avx512_vnni",),
    "AVX512_CORE_BF16": ("avx512_bf16",),
    "AVX512_CORE_FP16": ("avx512_fp16",),
    "AVX512_CORE_AMX": ("amx_bf16", "amx_int8", "amx_tile"),
}
_ATEN = {"default": "SSE41", "avx2": "AVX2"}  # torch's own kernels know three levels, the third being AVX-512
_ATEN_HIGHEST = "AVX512_CORE"
_BFLOAT16 = ("AVX512_CORE_BF16", "AVX512_CORE_AMX")


@rule(WARNING, kind="debug-variable", expected="not set")
def old_kernels(facts: Facts, target: Target) -> Findings:
    """A variable keeps kernels from using what the CPU can do.

    Why: ONEDNN_MAX_CPU_ISA (DNNL_MAX_CPU_ISA before) and ATEN_CPU_CAPABILITY hold oneDNN and torch to older
    instructions; people set them to look for a fault. Without the bf16 instructions a bfloat16 product is emulated,
    hundreds of times slower (`python -m tests.speed.series --inject old-isa`). A run on a GPU hardly notices.
    Fix: unset it.
    Source: https://oneapi-src.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html
    https://github.com/pytorch/pytorch/pull/56992
    """
    variables, host = need(facts.variables), need(facts.host)
    if not host.cpu_flags:
        raise Skip("the CPU's instructions are not known")
    idle = trains_on_gpu(facts, target) is True
    for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        value = variables.get(name, "").strip()
        aten = name.startswith("ATEN")
        limit = _ATEN.get(value.lower()) if aten else value.upper()
        unused = _unused_levels(limit, host.cpu_flags, aten=aten)
        if not unused:
            continue
        slow = not aten and any(level in unused for level in _BFLOAT16)
        effect = f"{'torch' if aten else 'oneDNN'} leaves the CPU's {unused[-1]} instructions unused"
        effect += ": bfloat16 products run hundreds of times slower" if slow else ""
        effect += " (hardly felt by a run on a GPU)" if idle else ""
        yield finding(
            subject=name,
            actual=value,
            severity=NOTE if idle else None,
            message=f"{name}={value}: {effect}.",
            fix=remedies.setting(target, "Unset it.", f"unset {name}"),
            repair=(SetVariable(name=name, value=None),),
        )


def _unused_levels(limit: str | None, flags: tuple[str, ...], *, aten: bool) -> list[str]:
    """Levels above ``limit`` that the CPU has; none for a word that no level has, which limits nothing."""
    if limit not in _LEVELS:
        return []
    names = list(_LEVELS)
    highest = names.index(_ATEN_HIGHEST) if aten else len(names)
    above = names[names.index(limit) + 1 : highest + 1]
    return [name for name in above if set(_LEVELS[name]) & set(flags)]
