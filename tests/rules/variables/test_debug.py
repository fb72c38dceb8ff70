import pytest

from envdoctor.facts.model import Facts
from envdoctor.locks.target import Target
from envdoctor.rules.rule import SetVariable, Severity
from envdoctor.rules.variables.debug import debug
from tests.rules.judging import asking, findings, silent, skipped

GPU = asking()
CPU = asking(capability=None)


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        ("CUDA_LAUNCH_BLOCKING", "1", Severity.WARNING),
        ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", Severity.WARNING),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", Severity.WARNING),
        ("TORCH_DISTRIBUTED_DEBUG", "INFO", Severity.NOTE),
        ("TORCH_NCCL_BLOCKING_WAIT", "1", Severity.WARNING),
        ("CUBLAS_WORKSPACE_CONFIG", ":4096:8", Severity.NOTE),
        ("TORCH_COMPILE_DEBUG", "1", Severity.WARNING),
        ("TORCH_LOGS", "+dynamo", Severity.NOTE),
    ],
)
def test_left_on(name: str, value: str, severity: Severity) -> None:
    (finding,) = findings(debug, Facts(variables={name: value}), GPU)
    assert (finding.kind, finding.subject, finding.actual) == ("debug-variable", name, value)
    assert (finding.severity, finding.who) == (severity, "you")
    assert finding.repair == (SetVariable(name=name, value=None),)
    assert (finding.remedy.commands, finding.remedy.instead) == (("envdoctor fix --target h100",), (f"unset {name}",))
    assert finding.source.startswith("https://")


@pytest.mark.parametrize("name", ["PYTHONDEVMODE", "PYTHONTRACEMALLOC", "MALLOC_CHECK_"])
def test_what_is_read_before_a_hook_can_act_has_no_repair(name: str) -> None:
    (finding,) = findings(debug, Facts(variables={name: "1"}), GPU)
    assert not finding.repair
    assert finding.remedy.commands == (f"unset {name}",)


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"CUDA_LAUNCH_BLOCKING": "0"},
        {"CUDA_LAUNCH_BLOCKING": ""},
        {"TORCH_DISTRIBUTED_DEBUG": "OFF"},
        {"PYTHONMALLOC": "pymalloc"},
        {"PATH": "/bin"},
    ],
)
def test_off_is_healthy(variables: dict[str, str]) -> None:
    assert silent(debug, Facts(variables=variables), GPU)


@pytest.mark.parametrize(("target", "severity"), [(CPU, Severity.NOTE), (GPU, Severity.WARNING)])
def test_a_cuda_variable_costs_a_cpu_run_nothing(target: Target, severity: Severity) -> None:
    (finding,) = findings(debug, Facts(variables={"CUDA_LAUNCH_BLOCKING": "1"}), target)
    assert finding.severity is severity


def test_without_a_target_and_without_a_word_of_the_machine_it_is_taken_seriously() -> None:
    (finding,) = findings(debug, Facts(variables={"CUDA_LAUNCH_BLOCKING": "1"}))
    assert finding.severity is Severity.WARNING
    assert finding.remedy.commands == ("unset CUDA_LAUNCH_BLOCKING",)


def test_unknown_is_skipped() -> None:
    assert skipped(debug, Facts(), GPU)
