from dataclasses import replace

import pytest

from envdoctor.facts.model import Facts, Interpreter, Torch, Unavailable
from envdoctor.rules.causes import rank
from envdoctor.rules.rule import Severity
from envdoctor.rules.variables.library_path import library_path
from tests.rules.judging import findings, silent, skipped, torch

ENV = Interpreter(version="3.11.7", prefix="/env", site_packages=("/env/lib/python3.11/site-packages",))


def path(value: str, section: Torch | Unavailable | None = None) -> Facts:
    facts = Facts(interpreter=ENV, variables={"LD_LIBRARY_PATH": value})
    return facts if section is None else replace(facts, torch=section)


def test_set_is_noted() -> None:
    (finding,) = findings(library_path, path("/usr/local/cuda-11.8/lib64:/opt/x"))
    assert (finding.kind, finding.severity, finding.explains) == ("cuda-libraries-mixed", Severity.NOTE, ())
    assert "/usr/local/cuda-11.8/lib64" in finding.message
    assert "/opt/x" not in finding.message


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        ("/usr/local/cuda/lib64/libcublas.so.12", "cuda-libraries-mixed"),
        ("/usr/local/cuda/lib64/libcudnn.so.8.9", "cudnn-mismatch"),
    ],
)
def test_loaded_from_there_is_the_root_of_what_torch_suffers(library: str, kind: str) -> None:
    loaded = replace(torch(), libraries=(library, "/env/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2"))
    (finding,) = findings(library_path, path("/usr/local/cuda/lib64", loaded))
    assert (finding.kind, finding.severity) == (kind, Severity.WARNING)
    assert library in finding.message
    assert "torch/cudnn" in finding.explains
    assert rank(finding.kind, finding.rule) > rank("cudnn-mismatch", "torch/cudnn")


def test_an_import_that_fails_on_a_library_is_its_doing() -> None:
    failed = Unavailable(reason="ImportError: libcudnn.so.9: undefined symbol x", why="failed")
    (finding,) = findings(library_path, path("/usr/local/cuda/lib64", failed))
    assert finding.severity is Severity.ERROR
    assert "torch/import-fails" in finding.explains


@pytest.mark.parametrize(
    "value",
    [
        "",
        "/usr/local/nvidia/lib64",  # where container runtimes mount the driver
        "/usr/lib/wsl/lib",
        "/env/lib/python3.11/site-packages/nvidia/cublas/lib",
        "/opt/openmpi/lib",
    ],
)
def test_healthy(value: str) -> None:
    assert silent(library_path, path(value))


def test_a_cpu_build_loads_no_cuda_library() -> None:
    assert silent(library_path, path("/usr/local/cuda/lib64", torch("2.13.0+cpu", cuda="")))


def test_unknown_is_skipped() -> None:
    assert skipped(library_path, Facts())
