"""The C++ ABI decides between files of one extension: by the symbol, the file's name, and where torch comes from."""

from __future__ import annotations

from tests.facts.pasted.reading import torch
from tests.rules.told import root, whole

NEW = "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD = "undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSs"
FILE = "ImportError: /e/lib/python3.11/site-packages/flash_attn_2_cuda.so: "
WHEEL = "pip install flash_attn-2.6.3+cu123torch2.3cxx11abi{}-cp311-cp311-linux_x86_64.whl"


def test_a_file_with_the_new_abi_for_a_torch_with_the_old() -> None:
    found = root(WHEEL.format("TRUE"), FILE + NEW)
    assert "takes the new C++ ABI's std::string, as its name says" in found.message
    assert "Usually this torch is a build with the old C++ ABI" in found.message
    assert "whose name has cxx11abiFALSE" in whole(found)
    assert "_GLIBCXX_USE_CXX11_ABI" in whole(found)
    assert not any("cxx11abiTRUE" in command for command in found.remedy.commands)


def test_what_is_known_of_torch_makes_it_certain() -> None:
    found = root(WHEEL.format("FALSE").replace("torch2.3", "torch2.6"), FILE + OLD, "torch==2.6.0+cu126")
    assert "it has the old C++ ABI, torch the other one" in found.message
    assert "cxx11abiTRUE" in whole(found)


def test_conda_forges_torch_and_wheels_of_another_place() -> None:
    row = "I use pytorch  2.4.0   cpu_generic_py311h8ca351a_1   conda-forge"
    found = root(row, "pip install torch-sparse -f https://data.pyg.org/whl/torch-2.4.0+cpu.html",
                 f"OSError: /e/lib/python3.11/site-packages/torch_sparse/_version_cpu.so: {OLD}")  # fmt: skip
    assert "conda-forge's build of torch has the new one" in found.message
    assert "pytorch_sparse" in whole(found)
    assert "torch-cluster" in whole(found)


def test_a_page_of_wheels_is_no_installed_torch() -> None:
    told = "It fails with torch 2.3.1\npip install x -f https://data.pyg.org/whl/torch-2.2.0+cpu.html\nError: failed"
    assert torch(told).version == "2.3.1"


def test_a_symbol_without_a_string_is_left_as_it_was() -> None:
    found = root("ImportError: /e/site-packages/causal_conv1d_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi")
    assert "std::string" not in found.message


def test_what_was_compiled_here_is_of_no_other_abi() -> None:
    found = root("I rebuilt it from scratch.", f"ImportError: /src/knn/knn.so: {OLD}")
    assert "Usually what was built before was used again" in found.message
