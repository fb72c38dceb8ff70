import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus
from envdoctor.rules.rule import Severity
from envdoctor.rules.variables.visible_devices import visible_devices
from tests.rules.judging import asking, findings, silent, skipped

FOUR = Gpus(devices=tuple(Gpu(index=n, name="NVIDIA A100") for n in range(4)))


def visible(value: str, gpus: Gpus | None = FOUR) -> Facts:
    variables = {"CUDA_VISIBLE_DEVICES": value}
    return Facts(variables=variables) if gpus is None else Facts(variables=variables, gpus=gpus)


@pytest.mark.parametrize("value", ["", "-1", "[0,1]", "all", "'0,1'", "4", "None"])
def test_no_gpu_is_left(value: str) -> None:
    (finding,) = findings(visible_devices, visible(value), asking())
    assert (finding.kind, finding.severity) == ("gpu-not-visible", Severity.ERROR)
    assert "torch/cuda-unavailable" in finding.explains
    assert finding.remedy.commands[0] == "unset CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize(("value", "seen"), [("0,1,7", 2), ("0,-1,1", 1), ("2,x", 1), ("0,,1", 1)])
def test_the_list_ends_at_the_first_that_is_no_gpu(value: str, seen: int) -> None:
    (finding,) = findings(visible_devices, visible(value), asking())
    assert (finding.kind, finding.severity) == ("config-mismatch", Severity.WARNING)
    assert f"only the {seen} before it" in finding.message


def test_fewer_than_there_are_is_noted() -> None:
    (finding,) = findings(visible_devices, visible("0,1"), asking())
    assert (finding.severity, finding.kind) == (Severity.NOTE, "no-effect")
    assert "2 of 4" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        visible("0,1,2,3"),
        visible("GPU-8932f937,GPU-1,GPU-2,MIG-3/1/0"),
        visible("6", None),
        Facts(variables={}, gpus=FOUR),
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(visible_devices, facts, asking())


def test_a_cpu_target_does_not_mind() -> None:
    assert silent(visible_devices, visible(""), asking(capability=None))


def test_hiding_gpus_nobody_has_seen_is_noted() -> None:
    (finding,) = findings(visible_devices, visible("", None))
    assert finding.severity is Severity.NOTE


def test_unknown_is_skipped() -> None:
    assert skipped(visible_devices, Facts(), asking())
