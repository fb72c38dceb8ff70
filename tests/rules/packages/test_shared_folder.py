from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.rules.packages.shared_folder import shared_folder
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped


@pytest.mark.parametrize(
    ("first", "second", "folder"),
    [
        ("cupy", "cupy-cuda12x", "cupy"),
        ("cupy-cuda11x", "cupy-cuda12x", "cupy"),
        ("faiss-cpu", "faiss-gpu-cu12", "faiss"),
        ("xgboost", "xgboost-cpu", "xgboost"),
        ("paddlepaddle", "paddlepaddle-gpu", "paddle"),
        ("onnxruntime-directml", "onnxruntime-gpu", "onnxruntime"),
        ("dgl", "dgl-cu113", "dgl"),
    ],
)
def test_two_packages_of_one_folder(first: str, second: str, folder: str) -> None:
    (finding,) = findings(shared_folder, Facts(packages=installed({first: "1.7.0", second: "1.7.0", "numpy": "2.0.0"})))
    assert (finding.subject, finding.severity) == (folder, Severity.WARNING)
    assert finding.remedy.commands == (f"python -m pip uninstall -y {first} {second}",)


def test_packages_that_go_together_while_their_releases_do() -> None:
    same = {"opencv-python": "4.10.0.84", "opencv-python-headless": "4.10.0.84"}
    (finding,) = findings(shared_folder, Facts(packages=installed(same)))
    assert finding.severity is Severity.NOTE
    (finding,) = findings(shared_folder, Facts(packages=installed({**same, "opencv-python": "4.8.0.76"})))
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    "names",
    [
        ("cupy-cuda12x", "numpy"),
        ("tensorflow", "tensorflow-intel"),
        ("tensorflow", "tensorflow-macos", "tensorflow-metal"),
        ("tensorflow-cpu", "tensorflow-directml-plugin"),
        ("onnxruntime", "onnxruntime-gpu"),
        ("onnxruntime-gpu", "onnxruntime-extensions"),
    ],
)
def test_packages_with_folders_of_their_own_and_the_pair_that_another_rule_tells(names: tuple[str, ...]) -> None:
    assert silent(shared_folder, Facts(packages=installed(dict.fromkeys(names, "1.0"))))


def test_unknown() -> None:
    assert skipped(shared_folder, Facts())
