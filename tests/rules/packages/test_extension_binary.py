import pytest

from envdoctor.facts.model import Extension, Facts
from envdoctor.rules.packages.extension_binary import extension_binary
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped, torch
from tests.rules.told import root


def carrying(*versions: str, cuda: str = "13.0", ours: str = "2.13.0+cu130") -> Facts:
    paths = tuple(f"bitsandbytes/libbitsandbytes_cuda{version}.so" for version in versions)
    extension = Extension(
        name="bitsandbytes", version="0.46.1", binaries=(*paths, "bitsandbytes/libbitsandbytes_cpu.so")
    )
    return Facts(torch=torch(ours, cuda=cuda), packages=installed(bitsandbytes="0.46.1"), extensions=(extension,))


def test_no_binary_for_torchs_cuda() -> None:
    (finding,) = findings(extension_binary, carrying("118", "126", "128"))
    assert (finding.kind, finding.severity) == ("extension-binary-missing", Severity.WARNING)
    assert finding.actual == "binaries for CUDA 118, 126, 128"
    assert "BNB_CUDA_VERSION" not in finding.remedy.text


def test_a_neighbour_is_offered() -> None:
    (finding,) = findings(extension_binary, carrying("124", "126", cuda="12.8", ours="2.9.0+cu128"))
    assert "export BNB_CUDA_VERSION=126" in finding.remedy.text


@pytest.mark.parametrize(
    "line",
    [
        "Could not find the bitsandbytes CUDA binary at PosixPath('.../libbitsandbytes_cuda131.so')",
        "RuntimeError: CUDA Setup failed despite GPU being available.",
        "The installed version of bitsandbytes was compiled without GPU support.",
    ],
)
def test_the_line_of_a_report(line: str) -> None:
    (finding,) = findings(extension_binary, Facts(messages=(line,)))
    assert finding.severity is Severity.ERROR
    assert line in finding.message


def test_a_missing_library_counts_only_beside_bitsandbytes() -> None:
    line = "libcusparse.so.11: cannot open shared object file"
    (finding,) = findings(extension_binary, Facts(messages=(line,), packages=installed(bitsandbytes="0.35.0")))
    assert finding.severity is Severity.ERROR
    assert not silent(extension_binary, Facts(messages=(line,), remarks={"cuda_setup.file": "bitsandbytes/main.py"}))
    assert silent(extension_binary, Facts(messages=(line,), packages=installed(torch="1.12.0")))


def test_healthy_and_unknown() -> None:
    assert silent(extension_binary, carrying("128", "130"))
    assert silent(extension_binary, carrying("128", cuda="", ours="2.13.0+cpu"))
    assert silent(extension_binary, Facts(packages=installed(torch="2.13.0")))
    assert skipped(extension_binary, Facts(packages=installed(complete=False)))
    assert skipped(extension_binary, Facts())


def test_the_library_that_was_looked_for_is_the_one_that_is_asked_for() -> None:
    line = "Could not find the bitsandbytes CUDA binary at PosixPath('/x/bitsandbytes/libbitsandbytes_cuda129.so')"
    assert root("torch 2.8", f"WARNING:bitsandbytes.cextension:{line}").expected == "a binary for 129"
