"""An error that nothing explains: quoted, never healthy, exit 3, and said in every format."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from envdoctor.cli import run
from envdoctor.facts.pasted import read
from envdoctor.knowledge.messages import errors
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose

RULES = load_rules()
ODD = "RuntimeError: the moon is not in its house"


def judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


def test_an_error_of_the_code_alone_is_quoted_and_not_explained() -> None:
    found = judged(f"Traceback (most recent call last):\n{ODD}\n")
    assert found.outcome == "unexplained"
    assert found.root_cause is None
    assert found.unexplained is not None
    assert found.unexplained.line == ODD
    assert "collect_env" in found.unexplained.help
    assert not found.certain


def test_a_healthy_list_of_packages_makes_no_error_healthy() -> None:
    versions = "torch==2.9.1\ntorchvision==0.24.1\ntransformers==4.57.1\n"
    assert judged(versions).outcome == "healthy"
    assert judged(versions + ODD).outcome == "unexplained"


def test_a_switch_that_costs_time_explains_no_error() -> None:
    found = judged(f"export CUDA_LAUNCH_BLOCKING=1\n{ODD}\n")
    assert found.outcome == "unexplained"
    assert [one.kind for one in found.findings if one.severity] == ["debug-variable"]


def test_a_cause_explains_the_error() -> None:
    found = judged("RuntimeError: operator torchvision::nms does not exist\n")
    assert found.outcome == "findings"
    assert found.unexplained is None


@pytest.mark.parametrize(
    "line",
    [
        "UserWarning: Error handling in hooks is deprecated",
        "the run ended without errors",
        "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
    ],
)
def test_what_only_speaks_of_errors_is_none(line: str) -> None:
    assert errors(read(f"torch==2.9.1\n{line}\n")) == ()


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run(["diagnose", *words])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("format_", ["text", "json", "markdown", "github", "junit", "sarif"])
def test_every_format_quotes_it(format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "issue.txt"
    page.write_text(ODD, "utf-8")
    code, out = told(capsys, str(page), "--format", format_)
    assert code == 3
    text = json.loads(out)["unexplained"]["line"] if format_ == "json" else out
    assert "the moon is not in its house" in " ".join(text.split())


def test_several_files_and_standard_input_are_one_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log.txt").write_text("RuntimeError: CUDA error: no kernel image is available for execution\n", "utf-8")
    versions = b"PyTorch version: 2.6.0+cu124\nGPU models and configuration: GPU 0: NVIDIA GeForce RTX 5090\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(versions)))
    code, out = told(capsys, str(tmp_path / "log.txt"), "-", "--format", "json")
    assert code == 1
    assert json.loads(out)["root_cause"]["kind"] == "no-kernels-for-gpu"


def test_a_text_without_error_or_report_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "note.txt"
    page.write_text("Which optimizer do you like best?\n", "utf-8")
    assert told(capsys, str(page)) == (3, "")


def test_a_complaint_of_slowness_is_never_healthy() -> None:
    versions = "torch==2.8.0\ntorchvision==0.23.0\n"
    assert judged(versions + "With this release the training is very slow.\n").outcome == "findings"
    assert judged(versions + "export CUDA_LAUNCH_BLOCKING=1\nthe training is very slow\n").outcome == "findings"


def test_an_error_that_names_no_cause_says_what_would() -> None:
    found = judged("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED\n")
    assert found.outcome == "unexplained"
    assert found.unexplained is not None
    assert "launcher" in found.unexplained.help


def test_of_a_traceback_without_its_end_the_line_before_it_is_told() -> None:
    waited = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED"
    found = judged(f"{waited}\nTraceback (most recent call last):\n").unexplained
    assert found is not None
    assert found.line == waited
    assert "launcher" in found.help


BAR = "  1%|▏         | 24/1752 [01:08<1:22:56,  2.88s/it]"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        (f"{BAR}[rank5]: FrobError: the frob is broken\n", "[rank5]: FrobError: the frob is broken"),
        (
            "  0%|          | 0/35325 [00:00<?, ?it/s]Traceback (most recent call last):\n",
            "Traceback (most recent call last): its last line is not in the report",
        ),
        (
            "IndexError                                Traceback (most recent call last)\n",
            "IndexError, in a traceback whose last line is not in the report",
        ),
    ],
)
def test_the_error_is_quoted_and_not_what_stands_around_it(text: str, quoted: str) -> None:
    found = judged(text).unexplained
    assert found is not None
    assert found.line == quoted


@pytest.mark.parametrize("code", ["-11", "139"])
def test_the_number_of_a_crash_is_told_and_names_no_cause(code: str) -> None:
    found = judged(f"subprocess.CalledProcessError: Command '['python', 'a.py']' returned non-zero exit status {code}.")
    assert found.unexplained is not None
    assert "faulthandler" in found.unexplained.help
    windows = judged("subprocess.CalledProcessError: Command '['a']' returned non-zero exit status 3221225477.")
    assert windows.unexplained is None
    assert any("faulthandler" in one.remedy.text for one in windows.findings)
    plain = judged("subprocess.CalledProcessError: Command '['python', 'a.py']' returned non-zero exit status 1.")
    assert plain.unexplained is not None
    assert "launcher" in plain.unexplained.help
