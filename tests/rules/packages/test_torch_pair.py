import pytest

from envdoctor.facts.model import Distribution, Facts, Host, Packages
from envdoctor.rules.packages.torch_pair import torch_pair
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped, torch

NMS = "RuntimeError: operator torchvision::nms does not exist"


@pytest.mark.parametrize(
    ("torch_version", "mate", "version"),
    [
        ("2.4.0+cu121", "torchvision", "0.20.1+cu121"),
        ("2.13.0", "torchvision", "0.27.0"),
        ("1.13.1", "torchvision", "0.13.0"),
        ("2.8.0", "torchaudio", "2.7.0"),
        ("2.12.0", "torchaudio", "2.13.0"),  # made for a later torch
        ("2.9.0+cpu", "torchvision", "0.24.0"),  # PyPI's default build is one for CUDA
        ("2.9.0+cpu", "torchvision", "0.24.0+cu128"),
        ("2.9.0+cu130", "torchvision", "0.24.0+cu126"),
        ("2.8.0+cu128", "torchaudio", "2.8.0+cu126"),  # torchaudio compares the minor version too
    ],
)
def test_uneven_pairs_are_errors(torch_version: str, mate: str, version: str) -> None:
    (finding,) = findings(torch_pair, Facts(packages=installed({"torch": torch_version, mate: version})))
    assert (finding.kind, finding.subject, finding.severity) == ("torch-pair-mismatch", mate, Severity.ERROR)
    assert finding.remedy.commands
    assert not finding.repair


@pytest.mark.parametrize(
    ("torch_version", "mate", "version"),
    [
        ("2.13.0+cu130", "torchvision", "0.28.0+cu130"),
        ("2.13.0", "torchvision", "0.28.1"),
        ("2.5.1+cu124", "torchvision", "0.20.1+cu124"),
        ("2.13.0", "torchaudio", "2.11.0"),  # the stable ABI: one torchaudio for later torches
        ("2.1.0", "torchaudio", "2.1.2"),
        ("1.13.1", "torchvision", "0.14.1"),
        ("2.5.1+gita8d6afb", "torchvision", "0.20.1+git3ac97aa"),  # built from source
        ("2.4.0a0+07cecf4168.nv24.05", "torchvision", "0.19.0a0"),  # NVIDIA's container
        ("2.9.0+cu128", "torchvision", "0.24.0"),  # both are the default build
        ("2.9.0", "torchvision", "0.24.0"),
        ("unknown", "torchvision", "0.24.0"),
        ("2.10.0.dev20251001+cu130", "torchvision", "0.24.0.dev20251001+cu130"),
    ],
)
def test_pairs_that_belong_together(torch_version: str, mate: str, version: str) -> None:
    assert silent(torch_pair, Facts(packages=installed({"torch": torch_version, mate: version})))


def test_neighbouring_cuda_versions_of_torchvision_are_noted() -> None:
    packages = installed({"torch": "2.8.0+cu128", "torchvision": "0.23.0+cu126"})
    (finding,) = findings(torch_pair, Facts(packages=packages))
    assert finding.severity is Severity.NOTE
    assert not finding.explains


def test_on_windows_a_build_without_label_is_for_the_cpu() -> None:
    packages = installed({"torch": "2.9.0+cpu", "torchvision": "0.24.0"})
    assert silent(torch_pair, Facts(packages=packages, host=Host(system="Windows")))


@pytest.mark.parametrize("line", [NMS, "PyTorch and TorchAudio were compiled with different CUDA versions: 11.8, 11.7"])
def test_the_line_of_a_report_is_enough(line: str) -> None:
    (finding,) = findings(torch_pair, Facts(messages=(line,)))
    assert finding.severity is Severity.ERROR
    assert finding.subject == ("torchaudio" if "Audio" in line else "torchvision")
    assert "packages/import-mismatch" in finding.explains


def test_both_are_repaired_from_the_lock() -> None:
    facts = Facts(
        packages=installed(torch="2.12.0", torchvision="0.24.0"), messages=(NMS,), torch=torch("2.12.0+cu130")
    )
    (finding,) = findings(torch_pair, facts, locked(torch="2.13.0", torchvision="0.28.0"))
    assert finding.repair == (Pin(name="torch", version="2.13.0"), Pin(name="torchvision", version="0.28.0"))
    assert finding.remedy.commands == ("envdoctor fix --target h100",)


def test_unknown_is_skipped() -> None:
    assert skipped(torch_pair, Facts())
    assert skipped(torch_pair, Facts(packages=installed(complete=False, torch="2.9.0")))
    assert silent(torch_pair, Facts(packages=installed(torch="2.9.0")))


def with_wheels(**requires: tuple[str, ...]) -> Facts:
    """torch 2.15.0, 2.16.0 ... with mates whose own metadata is known: ``torchvision_0_29_2=("torch>=2.14.0",)``."""
    rows = []
    for key, lines in requires.items():
        name, _, version = key.partition("_")
        rows.append(Distribution(name=name, version=version.replace("_", "."), requires=lines))
    return Facts(packages=Packages(distributions=tuple(rows)))


@pytest.mark.parametrize(
    "facts",
    [
        with_wheels(torch_2_15_0=(), torchvision_0_29_2=("numpy", "torch>=2.14.0")),
        with_wheels(torch_2_18_0=(), torchvision_0_29_2=("torch>=2.14.0",)),  # above every table
        with_wheels(torch_2_18_0=(), torchvision_0_33_0=("torch==2.18.0",)),
        with_wheels(torch_2_18_0=(), torchvision_0_33_0=()),  # nothing speaks: nothing is said
        with_wheels(torch_2_15_0=(), torchaudio_2_11_0=()),
    ],
)
def test_the_wheels_own_word_comes_before_any_table(facts: Facts) -> None:
    assert silent(torch_pair, facts)


@pytest.mark.parametrize(
    "facts",
    [
        with_wheels(torch_2_15_0=(), torchvision_0_29_0=("torch==2.14.0",)),
        with_wheels(torch_2_18_0=(), torchvision_0_32_0=("torch==2.17.0",)),
    ],
)
def test_what_a_wheel_refuses_is_an_error(facts: Facts) -> None:
    (finding,) = findings(torch_pair, facts)
    assert finding.severity is Severity.ERROR
    assert "requires torch==" in finding.message
    assert "0.30" not in " ".join(finding.remedy.commands)  # there is no such release


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: We should not register a meta kernel directly to the operator 'torchvision::roi_align'",
        "the torchvision version is not compatible with the installed torch",
        "torchaudio 2.4.0 does not match torch",
    ],
)
def test_a_pair_told_by_words_alone(line: str) -> None:
    (finding,) = findings(torch_pair, Facts(messages=(line,)))
    assert (finding.kind, finding.severity) == ("torch-pair-mismatch", Severity.ERROR)
    assert finding.subject in line


def test_other_words_about_torchvision_accuse_no_pair() -> None:
    line = "torchvision is fine, flash-attn is not compatible with torch"
    assert skipped(torch_pair, Facts(messages=(line,))) == "torch, or a mate of it, is not reported"
