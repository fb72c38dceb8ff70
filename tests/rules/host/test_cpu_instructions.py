import pytest

from envdoctor.facts.model import Facts, Host
from envdoctor.rules.host.cpu_instructions import cpu_instructions
from envdoctor.rules.rule import Severity
from tests.rules.judging import asking, findings, silent, skipped

CPU = asking(capability=None)


def flags(*names: str, machine: str = "x86_64") -> Facts:
    return Facts(host=Host(machine=machine, cpu_flags=names))


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (flags("fma"), {"AVX2": Severity.WARNING}),
        (flags("avx2"), {"AVX-512": Severity.NOTE, "AVX512_BF16 or AMX": Severity.NOTE}),
        (flags("avx2", "avx512f"), {"AVX512_BF16 or AMX": Severity.NOTE}),
    ],
)
def test_what_the_cpu_lacks(facts: Facts, found: dict[str, Severity]) -> None:
    told = {finding.subject: finding.severity for finding in findings(cpu_instructions, facts, CPU)}
    assert told == found


def test_healthy_and_not_asked() -> None:
    assert silent(cpu_instructions, flags("avx2", "avx512f", "avx512_bf16", "amx_bf16"), CPU)
    assert skipped(cpu_instructions, flags("avx2"), asking())
    assert skipped(cpu_instructions, flags("sve", machine="aarch64"), CPU)
    assert skipped(cpu_instructions, flags(), CPU)
    assert skipped(cpu_instructions, Facts(), CPU)
