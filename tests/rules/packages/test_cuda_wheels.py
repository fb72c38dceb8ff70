from dataclasses import replace

import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.packages.cuda_wheels import cuda_wheels
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped, torch

TORCH = {"torch": "2.9.0+cu128"}


def test_wheels_that_overwrite_each_other_are_an_error() -> None:
    packages = installed({**TORCH, "nvidia-cudnn-cu12": "9.10.2.21", "nvidia-cudnn-cu13": "9.13.0.50"})
    (finding,) = findings(cuda_wheels, Facts(packages=packages))
    assert (finding.kind, finding.severity) == ("cuda-libraries-mixed", Severity.ERROR)
    assert "cudnn overwrite each other" in finding.message
    assert finding.remedy.commands[0] == "python -m pip uninstall -y nvidia-cudnn-cu13"
    assert "torch/cudnn" in finding.explains


def test_where_torch_loads_its_cudnn_all_the_same_it_is_a_warning() -> None:
    packages = installed({**TORCH, "nvidia-cudnn-cu12": "9.10.2.21", "nvidia-cudnn-cu13": "9.13.0.50"})
    works = replace(torch("2.9.0+cu128", cuda="12.8"), cudnn="9.10.2")
    (finding,) = findings(cuda_wheels, Facts(packages=packages, torch=works))
    assert finding.severity is Severity.WARNING


def test_wheels_side_by_side_are_noted() -> None:
    packages = installed({**TORCH, "nvidia-cublas-cu12": "12.8.4.1", "nvidia-cublas-cu11": "11.11.3.6"})
    (finding,) = findings(cuda_wheels, Facts(packages=packages))
    assert finding.severity is Severity.NOTE
    assert finding.actual == "1 for CUDA 11, 1 for CUDA 12"


@pytest.mark.parametrize(
    "versions",
    [
        {**TORCH, "nvidia-cublas-cu12": "12.8.4.1", "nvidia-cudnn-cu12": "9.10.2.21"},
        {"torch": "2.13.0+cu130", "nvidia-cublas": "13.0.2", "nvidia-cudnn-cu13": "9.20.0"},
        {"nvidia-cublas-cu11": "11.11.3.6", "nvidia-cublas-cu12": "12.8.4.1"},  # whose they are is not known
        {"nvidia-ml-py": "13.1"},
    ],
)
def test_wheels_of_one_line_are_healthy(versions: dict[str, str]) -> None:
    assert silent(cuda_wheels, Facts(packages=installed(versions)))


def test_unknown_is_skipped() -> None:
    assert skipped(cuda_wheels, Facts())
