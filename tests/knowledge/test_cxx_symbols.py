"""Which std::string a mangled name takes is told by its grammar, not by the letters of a name in it."""

from __future__ import annotations

import pytest

from envdoctor.knowledge.questions import has_new_strings


@pytest.mark.parametrize(
    ("symbol", "new"),
    [
        ("_ZN3c1010ValueErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", True),
        ("_ZNK5torch8autograd4Node4nameB5cxx11Ev", True),
        ("_ZN3c1010ValueErrorC1ENS_14SourceLocationENSt7_", True),
        ("_ZN5torch3jit12parseSchemasERKSs", False),
        ("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs", False),
        ("_ZN3c104cuda9SetDeviceEi", None),
        ("_ZN5torch8classSs_3getEv", None),
        ("THPVariableClass", None),
    ],
)
def test_the_string_of_a_symbol(symbol: str, new: bool | None) -> None:
    assert has_new_strings(f"ImportError: x.so: undefined symbol: {symbol}") is new
