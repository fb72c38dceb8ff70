import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.old_kernels import old_kernels
from tests.rules.judging import asking, findings, silent, skipped

GPU, CPU = asking(), asking(capability=None)
HASWELL = ("avx", "avx2")
SKYLAKE = (*HASWELL, "avx512f", "avx512bw", "avx512vl")
GENOA = (*SKYLAKE, "avx512_vnni", "avx512_bf16")
SAPPHIRE = (*GENOA, "avx512_fp16", "amx_bf16", "amx_int8", "amx_tile")


def facts(flags: tuple[str, ...], **variables: str) -> Facts:
    return Facts(variables=variables, host=Host(cpu_flags=flags))


@pytest.mark.parametrize(
    ("flags", "name", "value", "unused", "bfloat16"),
    [
        (GENOA, "ONEDNN_MAX_CPU_ISA", "AVX2", "AVX512_CORE_BF16", True),
        (GENOA, "DNNL_MAX_CPU_ISA", "avx512_core", "AVX512_CORE_BF16", True),
        (SAPPHIRE, "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", "AVX512_CORE_AMX", True),
        (SKYLAKE, "ONEDNN_MAX_CPU_ISA", "AVX2", "AVX512_CORE", False),
        (HASWELL, "ONEDNN_MAX_CPU_ISA", "SSE41", "AVX2", False),
        (GENOA, "ATEN_CPU_CAPABILITY", "avx2", "AVX512_CORE", False),
        (HASWELL, "ATEN_CPU_CAPABILITY", "default", "AVX2", False),
    ],
)
def test_instructions_left_unused(flags: tuple[str, ...], name: str, value: str, unused: str, bfloat16: bool) -> None:
    (finding,) = findings(old_kernels, facts(flags, **{name: value}), CPU)
    assert (finding.kind, finding.subject, finding.severity) == ("debug-variable", name, Severity.WARNING)
    assert f"{unused} instructions unused" in finding.message
    assert ("bfloat16" in finding.message) is bfloat16
    assert finding.repair == (SetVariable(name=name, value=None),)
    assert f"unset {name}" in (*finding.remedy.commands, *finding.remedy.instead)


@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        (GENOA, {}),
        (GENOA, {"ONEDNN_MAX_CPU_ISA": "ALL"}),
        (GENOA, {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_AMX"}),
        (GENOA, {"ONEDNN_MAX_CPU_ISA": "something"}),  # oneDNN ignores words that it does not know
        (GENOA, {"ATEN_CPU_CAPABILITY": "avx512"}),
        (HASWELL, {"ATEN_CPU_CAPABILITY": "avx2"}),
        (HASWELL, {"ONEDNN_MAX_CPU_ISA": "AVX2"}),
    ],
)
def test_what_limits_nothing_is_healthy(flags: tuple[str, ...], variables: dict[str, str]) -> None:
    assert silent(old_kernels, facts(flags, **variables), CPU)


def test_a_run_on_a_gpu_is_told_quietly() -> None:
    (finding,) = findings(old_kernels, facts(GENOA, ONEDNN_MAX_CPU_ISA="AVX2"), GPU)
    assert finding.severity is Severity.NOTE


def test_unknown_is_skipped() -> None:
    assert skipped(old_kernels, Facts(), CPU)
    assert skipped(old_kernels, facts((), ONEDNN_MAX_CPU_ISA="AVX2"), CPU)
