import pytest

from envdoctor.facts.model import Facts, Gpu, Gpus, Network
from envdoctor.facts.pasted import read
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.nccl import nccl
from tests.rules.judging import asking, findings, silent, skipped

GPU, CPU = asking(), asking(capability=None)
ONE = Gpus(devices=(Gpu(index=0, name="NVIDIA H100"),))


@pytest.mark.parametrize(
    ("variable", "value", "severity"),
    [
        ("NCCL_P2P_DISABLE", "1", Severity.WARNING),
        ("NCCL_P2P_LEVEL", "LOC", Severity.WARNING),
        ("NCCL_IB_DISABLE", "1", Severity.WARNING),
        ("NCCL_SHM_DISABLE", "1", Severity.WARNING),
        ("NCCL_DEBUG", "INFO", Severity.NOTE),
        ("NCCL_ALGO", "Tree", Severity.NOTE),
    ],
)
def test_left_set(variable: str, value: str, severity: Severity) -> None:
    (finding,) = findings(nccl, Facts(variables={variable: value}), GPU)
    assert (finding.kind, finding.subject, finding.severity) == ("debug-variable", variable, severity)
    assert finding.repair == (SetVariable(name=variable, value=None),)


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (Facts(gpus=ONE), Severity.NOTE),
        (Facts(gpus=Gpus(devices=ONE.devices, count=8)), Severity.WARNING),
        (Facts(gpus=ONE, network=Network(nodes=2)), Severity.WARNING),
        (Facts(), Severity.WARNING),
    ],
    ids=["one GPU", "eight GPUs, one listed", "two nodes", "unknown"],
)
def test_with_one_gpu_it_does_nothing(facts: Facts, severity: Severity) -> None:
    from dataclasses import replace

    (finding,) = findings(nccl, replace(facts, variables={"NCCL_P2P_DISABLE": "1"}), GPU)
    assert finding.severity is severity


def test_on_a_cpu_it_does_nothing() -> None:
    (finding,) = findings(nccl, Facts(variables={"NCCL_P2P_DISABLE": "1"}), CPU)
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    "variables", [{}, {"NCCL_P2P_DISABLE": "0"}, {"NCCL_DEBUG": "WARN"}, {"NCCL_P2P_LEVEL": "NVL"}]
)
def test_off_is_healthy(variables: dict[str, str]) -> None:
    assert silent(nccl, Facts(variables=variables), GPU)


def test_unknown_is_skipped() -> None:
    assert skipped(nccl, Facts(), GPU)


def test_what_helps_by_the_text_is_not_taken_back() -> None:
    told = "all_gather_perf stands still between both cards.\nWith NCCL_P2P_DISABLE=1 it runs, only slowly."
    report = read(told)
    assert report.variables == {"NCCL_P2P_DISABLE": "1"}
    assert silent(nccl, report, GPU)
    assert len(findings(nccl, Facts(variables={"NCCL_P2P_DISABLE": "1", "NCCL_IB_DISABLE": "1"}), GPU)) == 2
