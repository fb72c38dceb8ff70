from dataclasses import replace

import pytest

from envdoctor.facts.model import Facts, Flag, Gpu, Gpus, Host, Launcher
from envdoctor.locks.target import Target
from envdoctor.rules.precision.float32_matmul import float32_matmul
from envdoctor.rules.rule import SetFlag, Severity
from tests.rules.judging import asking, findings, silent, skipped, torch

HIGH = asking(float32_matmul_precision="high")


def at(value: str | Flag, **more: object) -> Facts:
    return Facts(torch=torch(float32_matmul_precision=value), **more)  # type: ignore[arg-type]


def test_torch_default_on_a_hopper_target() -> None:
    (finding,) = findings(float32_matmul, at("highest"), HIGH)
    assert (finding.kind, finding.actual, finding.expected) == ("flag-differs", "highest", "high")
    assert finding.severity is Severity.WARNING
    assert finding.who == "you"
    assert finding.repair == (SetFlag(name="float32-matmul-precision", value="high"),)
    assert finding.remedy.commands == ("envdoctor fix --target h100",)


@pytest.mark.parametrize(
    ("facts", "target"),
    [
        (at("highest"), asking(capability=None, float32_matmul_precision="high")),
        (at("highest"), asking(capability="7.0", float32_matmul_precision="high")),
        (at("highest", gpus=Gpus(devices=(Gpu(index=0, name="Tesla T4", capability="7.5"),))), HIGH),
        (at("highest", launcher=Launcher(settings={"mixed_precision": "bf16"})), HIGH),
    ],
    ids=["cpu", "target before Ampere", "T4 found", "bf16 launcher"],
)
def test_where_it_changes_nothing_it_is_a_note_without_repair(facts: Facts, target: Target) -> None:
    (finding,) = findings(float32_matmul, facts, target)
    assert (finding.kind, finding.severity) == ("no-effect", Severity.NOTE)
    assert "no effect here" in finding.message
    assert not finding.repair


@pytest.mark.parametrize("value", ["high", "medium", Flag(error="RuntimeError: mixed"), Flag()])
def test_healthy_or_unreadable(value: str | Flag) -> None:
    assert silent(float32_matmul, at(value), HIGH)


@pytest.mark.parametrize(
    ("wanted", "flags", "counts"),
    [
        ("medium", ("avx512f", "avx512_bf16"), True),
        ("medium", ("avx512f",), False),
        ("high", ("amx_fp16",), True),
        ("high", ("amx_bf16",), False),
    ],
)
def test_a_cpu_takes_it_up_where_it_has_the_instructions(wanted: str, flags: tuple[str, ...], counts: bool) -> None:
    target = asking(capability=None, float32_matmul_precision=wanted)
    (finding,) = findings(float32_matmul, at("highest", host=Host(cpu_flags=flags)), target)
    assert finding.severity is (Severity.WARNING if counts else Severity.NOTE)
    assert bool(finding.repair) is counts


def test_unknown_is_skipped() -> None:
    assert skipped(float32_matmul, Facts(), HIGH)
    assert skipped(float32_matmul, at("highest"))
    assert silent(float32_matmul, at("highest"), asking())


@pytest.mark.parametrize(
    ("precision", "launched", "severity"),
    [
        ("bfloat16", None, Severity.NOTE),
        ("float16", None, Severity.NOTE),
        ("bfloat16", "no", Severity.WARNING),  # the launcher trains in float32 after all
        ("float32", None, Severity.WARNING),
    ],
)
def test_a_target_that_computes_in_16_bits_makes_it_a_note(
    precision: str, launched: str | None, severity: Severity
) -> None:
    settings = {} if launched is None else {"mixed_precision": launched}
    facts = Facts(torch=torch(float32_matmul_precision="highest"), launcher=Launcher(settings=settings))
    target = replace(asking(float32_matmul_precision="high"), conditions={"precision": precision})
    (finding,) = findings(float32_matmul, facts, target)
    assert (finding.severity, bool(finding.repair)) == (severity, True)
