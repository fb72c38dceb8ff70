"""Lists and trees of conda, mamba and pixi, and CMake's broken sentences, become one message each."""

from __future__ import annotations

import pytest

from envdoctor.facts.need import known
from envdoctor.facts.pasted import read

LIST = """Solving environment: failed

ResolvePackageNotFound:
  - cudatoolkit=10.0
  - pytorch[version='>=1.2,<1.3']
  - numpy==1.16.4=py36h7e9f1db_0
"""

CHANNELS = """PackagesNotFoundError: The following packages are not available from current channels:

  - cudnn=8.2

Current channels:

  - https://conda.anaconda.org/pytorch/win-64
  - https://repo.anaconda.com/pkgs/main/noarch

To search for alternate channels, navigate to
"""

TREES = {
    "the solver lacks: cuda-nvcc 11.3** for toolchain-1-0": (
        "  - nothing provides cuda-nvcc 11.3** needed by toolchain-1-0"
    ),
    "the solver lacks: foo >=2,<3": "   │  └─ foo >=2,<3 , which does not exist (perhaps a missing channel);",
    "the solver lacks: libx * mkl": "    │    └─ libx * mkl, for which no candidates were found.",
    "the solver lacks: __glibc >=2.28,<3.0.a0": "└─ __glibc >=2.28,<3.0.a0 , which is missing on the system.",
    "the solver lacks: __cuda": "  ╰─▶ Virtual package '__cuda' does not match any of the available virtual packages",
}

CMAKE = """-- Configuring
CMake Error at CMakeLists.txt:7 (find_package):
  Could not find a package configuration file provided by "Foo" with any of
  the following names:

    FooConfig.cmake

Call Stack (most recent call first):
  setup.cmake:3 (include)
-- Configuring incomplete, errors occurred!
"""


def test_a_list_of_conda_is_one_message_and_nothing_in_it_is_installed() -> None:
    facts = read(LIST)
    specs = "cudatoolkit=10.0, pytorch[version='>=1.2,<1.3'], numpy==1.16.4=py36h7e9f1db_0"
    said = f"ResolvePackageNotFound: not in the channels: {specs}"
    assert said in facts.messages
    assert known(facts.packages) is None


def test_the_channels_that_were_asked_are_named_with_their_system() -> None:
    facts = read(CHANNELS)
    assert "PackagesNotFoundError: not in the channels: cudnn=8.2 (channels: pytorch, main)" in facts.messages
    host = known(facts.host)
    assert host is not None
    assert host.system == "Windows"


def test_a_missing_distribution_of_python_is_no_list_of_conda() -> None:
    facts = read("importlib.metadata.PackageNotFoundError: No package metadata was found for torch\nnumpy\n")
    assert not any("not in the channels" in text for text in facts.messages)


@pytest.mark.parametrize("said", TREES)
def test_what_a_tree_calls_missing(said: str) -> None:
    assert said in read(f"Error: failed to solve\n{TREES[said]}\n").messages


def test_a_sentence_of_cmake_is_joined_up_to_its_end() -> None:
    said = (
        'CMake Error (find_package): Could not find a package configuration file provided by "Foo" with any of '
        "the following names: FooConfig.cmake"
    )
    assert said in read(CMAKE).messages


def test_a_dictionary_of_mmcv_is_read_entry_by_entry() -> None:
    text = (
        "{'sys.platform': 'linux', 'Python': '3.8.10 (default) [GCC 7.3.0]', 'CUDA available': True, "
        "'NVCC': 'Cuda compilation tools, release 10.1, V10.1.243', 'PyTorch': '1.8.1', "
        "'PyTorch compiling details': 'PyTorch built with:\\n  - CUDA Runtime 11.1\\n  - CuDNN 8.0.5'}"
    )
    facts = read(text)
    host, torch = known(facts.host), known(facts.torch)
    assert host is not None
    assert torch is not None
    assert (host.nvcc, torch.version, torch.cuda) == ("10.1.243", "1.8.1", "11.1")


def test_all_that_any_build_would_take_is_told() -> None:
    tree = (
        "The following packages are incompatible\n"
        "├─ pytorch-cuda ==12.1 ha16c6d3_5 is requested and can be installed;\n"
        "└─ torchaudio 2.0.2  is not installable because there are no viable options\n"
        "   ├─ torchaudio 2.0.2 would require\n"
        "   │  └─ pytorch-cuda 11.7.* , which conflicts with any installable versions previously reported;\n"
        "   └─ torchaudio 2.0.2 would require\n"
        "      └─ pytorch-cuda 11.8.* , which conflicts with any installable versions previously reported.\n"
    )
    (line,) = [each for each in read(tree).messages if each.startswith("the solver's conflict")]
    assert "torchaudio 2.0.2 requires pytorch-cuda 11.7|11.8, and pytorch-cuda 12.1 is asked for" in line


def test_the_machine_of_a_virtual_package_is_read() -> None:
    text = "       virtual packages : __linux=5.15.0=0\n                          __archspec=1=aarch64\n"
    host = known(read(text).host)
    assert host is not None
    assert (host.system, host.machine) == ("Linux", "aarch64")
