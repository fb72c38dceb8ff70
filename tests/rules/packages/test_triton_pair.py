import pytest

from envdoctor.facts.model import Distribution, Facts, Host, Packages
from envdoctor.facts.pasted import read
from envdoctor.rules.packages.triton_pair import triton_pair
from envdoctor.rules.rule import Finding, Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped, torch


@pytest.mark.parametrize(
    ("torch_version", "name", "triton"),
    [("2.9.1", "triton", "3.6.0"), ("2.6.0", "triton", "3.3.1"), ("2.4.0", "pytorch-triton", "2.3.0")],
)
def test_another_triton_than_torch_requires(torch_version: str, name: str, triton: str) -> None:
    (finding,) = findings(triton_pair, Facts(packages=installed({"torch": torch_version, name: triton})))
    assert (finding.kind, finding.subject, finding.actual) == ("triton-mismatch", "triton", triton)
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    "packages",
    [
        installed(torch="2.9.1", triton="3.5.1"),
        installed(torch="2.13.0", triton="3.7.1"),
        installed({"torch": "2.13.0+cpu"}),
        installed(torch="1.13.0"),
        installed(torch="2.13.0", complete=False),
        installed(torch="9.9.9", triton="3.5.1"),
        installed(triton="3.5.1"),
        installed({"torch": "2.9.0.dev20250804+cu126", "pytorch-triton": "3.4.0+gitf7888497"}),
        installed({"torch": "2.9.0", "pytorch-triton": "3.4.0+gitf7888497"}),
    ],
)
def test_the_right_one_or_none_needed(packages: Packages) -> None:
    assert silent(triton_pair, Facts(packages=packages))


def test_missing_beside_a_cuda_build_on_linux() -> None:
    (finding,) = findings(
        triton_pair, Facts(packages=installed(torch="2.9.0"), torch=torch("2.9.0+cu128", cuda="12.8"))
    )
    assert (finding.actual, finding.expected, finding.severity) == ("not installed", "3.5.*", Severity.WARNING)
    windows = Facts(packages=installed(torch="2.9.0"), host=Host(system="Windows"))
    assert silent(triton_pair, windows)


@pytest.mark.parametrize(
    "line",
    [
        "error: Value 'sm_89' is not defined for option 'gpu-name'",
        "RuntimeError: Cannot find a working triton installation.",
        "ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler'",
    ],
)
def test_a_failure_in_a_report_is_an_error(line: str) -> None:
    (finding,) = findings(triton_pair, Facts(messages=(line,)))
    assert finding.severity is Severity.ERROR
    assert line in finding.message


def test_repaired_from_the_lock() -> None:
    facts = Facts(packages=installed(torch="2.9.1", triton="3.6.0"))
    (finding,) = findings(triton_pair, facts, locked(torch="2.9.1", triton="3.5.1"))
    assert finding.repair == (Pin(name="triton", version="3.5.1"),)


def test_unknown_is_skipped() -> None:
    assert skipped(triton_pair, Facts())


def wheel(version: str, *requires: str, triton: str | None) -> Facts:
    rows = [Distribution(name="torch", version=version, requires=requires)]
    rows += [Distribution(name="triton", version=triton)] if triton else []
    return Facts(packages=Packages(distributions=tuple(rows)), torch=torch(version, cuda="13.2"))


@pytest.mark.parametrize(
    ("facts", "silently"),
    [
        (wheel("2.15.0", "triton~=3.9.0", triton="3.9.4"), True),
        (wheel("2.15.0", "triton~=3.9.0", triton="3.8.0"), False),
        (wheel("2.19.0", "triton~=4.1.0", triton="4.1.2"), True),  # above every table
        (wheel("2.19.0", "triton~=4.1.0", triton="3.9.0"), False),
        (wheel("2.19.0", "filelock", triton="3.9.0"), True),
        (wheel("2.19.0", "filelock", triton=None), True),  # this build asks for none
        (wheel("2.19.0", "triton~=4.1.0", triton=None), False),
    ],
)
def test_what_torch_itself_requires_comes_before_the_table(facts: Facts, silently: bool) -> None:
    assert silent(triton_pair, facts) is silently


UNKNOWN = "ptxas fatal   : Value 'sm_103a' is not defined for option 'gpu-name'\n"
CALL = "Repro command: {path} -lineinfo -v --gpu-name=sm_103a /tmp/k.ptx -o /tmp/k.ptx.o\n"


def of_assembler(text: str) -> Finding:
    (found,) = findings(triton_pair, read(text))
    return found


def test_the_assembler_that_triton_brings_is_named_where_its_path_stands_there() -> None:
    own = "/opt/e/lib/python3.12/site-packages/triton/backends/nvidia/bin/ptxas"
    found = of_assembler(
        "PTXASError: PTXAS error: Internal Triton PTX codegen error\n" + UNKNOWN + CALL.format(path=own)
    )
    assert "does not know this GPU (sm_103a)" in found.title
    assert "that Triton brings knows no sm_103a" in found.message
    assert "Usually" not in found.message
    assert "12.9 or later" in found.expected
    assert "export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas" in found.remedy.commands


def test_an_assembler_of_a_toolkit_is_not_replaced_by_itself() -> None:
    found = of_assembler(UNKNOWN + CALL.format(path="/usr/local/cuda-12.6/bin/ptxas"))
    assert "that was called, /usr/local/cuda-12.6/bin/ptxas, knows no" in found.message
    assert found.remedy.commands == ()


def test_whose_assembler_it_is_stays_open_without_its_path() -> None:
    found = of_assembler(UNKNOWN)
    assert "Usually it is the one that Triton brings" in found.message


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("RuntimeError: Found NVIDIA GTX 970 which is too old to be supported by the triton GPU compiler", "as old as"),
        ("RuntimeError: PassManager::run failed", "Triton's compiler gave a kernel up"),
        ("RuntimeError: PTXAS error: Internal Triton PTX codegen error", "gave a kernel up"),
        (
            "ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler' (/e/c.py)",
            "has not what is asked of it",
        ),
    ],
)
def test_a_title_says_no_more_than_its_finding(line: str, title: str) -> None:
    found = of_assembler(line + "\n")
    assert title in found.title if title else not found.title


def test_an_assembler_that_jax_called_is_not_tritons() -> None:
    aborted = "ptxas fatal   : Ptx assembly aborted due to errors"
    assert findings(triton_pair, read(f"{aborted}\n"))
    xla = "F external/org_tensorflow/tensorflow/compiler/xla/service/gpu/nvptx_compiler.cc:478] ptxas returned an error"
    assert silent(triton_pair, read(f"{xla}\n{aborted}\n"))
