from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import ERROR, WARNING, Finding

RULES = load_rules()


def found(text: str) -> Finding | None:
    findings = diagnose(read(text), no_target(), RULES).findings
    return next((one for one in findings if one.rule == "packages/conda-lacks"), None)


def listed(*specs: str) -> str:
    return "\n".join(["ResolvePackageNotFound:", *specs, ""])


@pytest.mark.parametrize(
    ("specs", "subject", "part"),
    [
        (("- cudatoolkit=11.1",), "cudatoolkit", "conda-forge"),
        (("- pytorch=1.4.0", "- pip"), "pytorch", "pytorch: pytorch"),
        (("- opencv-python=4.5",), "opencv-python", "conda calls it opencv"),
        (("- torch==1.8.1+cu111",), "torch", "labels"),
        (("- zlib=1.2.11=h7b6447c_3", "- xz=5.2.5=h7b6447c_0"), "builds", "Builds"),
        (("- nosuchthing=1.0",), "nosuchthing", "None of the channels"),
    ],
)
def test_what_is_missing_is_told_apart(specs: tuple[str, ...], subject: str, part: str) -> None:
    one = found(listed(*specs))
    assert one is not None
    assert (one.subject, one.severity) == (subject, ERROR)
    assert part in one.message


def test_a_channel_that_was_asked_is_not_advised() -> None:
    text = "PackagesNotFoundError: The following packages are not available from current channels:\n  - pytorch=9.0\n"
    text += "Current channels:\n  - https://conda.anaconda.org/pytorch/linux-64\n"
    one = found(text)
    assert one is not None
    assert one.message.startswith("None of the channels")


def test_there_is_no_cuda_on_a_mac() -> None:
    one = found("Platform: osx-arm64\nResolvePackageNotFound:\n  - cudatoolkit=11.3\n")
    assert one is not None
    assert "macOS" in one.message
    assert one.remedy.commands == ()


def test_builds_are_not_removed_with_a_posix_command_on_windows() -> None:
    one = found("Platform: win-64\nResolvePackageNotFound:\n  - xz=5.2.5=h7b6447c_0\n")
    assert one is not None
    assert one.remedy.commands == ()


def test_a_virtual_package_is_the_machine() -> None:
    one = found("Error: Virtual package '__cuda' does not match any of the available virtual packages\n")
    assert one is not None
    assert one.subject == "__cuda"
    assert one.remedy.commands == ("export CONDA_OVERRIDE_CUDA=12.8",)


def test_beside_a_conflict_what_is_missing_is_a_warning() -> None:
    tree = "LibMambaUnsatisfiableError: Encountered problems while solving:\n"
    tree += (
        "├─ a 1.0** is requested and can be installed;\n│  └─ b 2 , which does not exist (perhaps a missing channel);\n"
    )
    one = found(tree)
    assert one is not None
    assert one.severity is WARNING


def test_a_tree_without_anything_missing_is_left_to_others() -> None:
    assert (
        found("LibMambaUnsatisfiableError: Encountered problems while solving:\n  - package a-1 requires b\n") is None
    )


def test_a_list_of_another_system_names_its_builds_and_that_system() -> None:
    text = "LibMambaUnsatisfiableError: Encountered problems while solving:\n"
    text += "  - nothing provides requested tk ==8.6.11 h1ccaba5_1\n"
    text += "  - nothing provides requested xz ==5.2.5 h7f8727e_1\n"
    text += "  - nothing provides __unix needed by jedi-0.18.1-py38h0e_6\n"
    one = found(text)
    assert one is not None
    assert one.subject == "builds"
    assert "--no-builds" in one.remedy.text
    assert "in WSL" in one.remedy.text


def test_the_toolkit_of_linux_is_not_asked_for_on_windows() -> None:
    text = "E:\\work>conda env create -f env.yml\nResolvePackageNotFound:\n  - cudatoolkit-dev=11.7.0\n"
    one = found(text)
    assert one is not None
    assert "for Linux alone, and this is Windows" in one.message
    assert one.remedy.commands == ()


def test_a_channel_that_is_in_the_list_is_not_added() -> None:
    text = "ResolvePackageNotFound:\n  - cutensor=1.3\n\nchannels:\n  - pytorch\n  - conda-forge\n  - defaults\n"
    one = found(text)
    assert one is not None
    assert not any("--append channels" in command for command in one.remedy.commands)
    asked = found("ResolvePackageNotFound:\n  - cutensor=1.3\n\nchannels:\n  - pytorch\n")
    assert asked is not None
    assert asked.remedy.commands == ("conda config --append channels conda-forge",)


@pytest.mark.parametrize(
    ("platform", "name", "elsewhere"),
    [
        ("Platform: win-64", "readline=8.1", True),
        ("Platform: win-64", "patchelf=0.12", True),
        ("Platform: osx-arm64", "patchelf=0.12", True),
        ("Platform: osx-arm64", "readline=8.1", False),  # which macOS has as well
        ("Platform: linux-64", "patchelf=0.12", False),
    ],
)
def test_packages_of_linux_are_not_looked_for_in_other_channels(platform: str, name: str, elsewhere: bool) -> None:
    told = found(f"{platform}\n{listed(name)}")
    assert told is not None
    assert told.message.startswith("The list was written on another system") == elsewhere
    assert not (elsewhere and "conda-forge" in told.remedy.text)
