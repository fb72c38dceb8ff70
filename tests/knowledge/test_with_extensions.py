"""The names that ``--with`` takes, and what is said where no wheel fits."""

from __future__ import annotations

import pytest

from envdoctor.errors import Trouble
from envdoctor.knowledge.extensions import MODULES
from envdoctor.knowledge.with_extensions import _ROWS, find_extensions


def test_names_are_taken_as_people_spell_them() -> None:
    words = ("flash_attn, Liger_Kernel", "torchao", "liger-kernel,")
    assert [one.name for one in find_extensions(words)] == ["flash-attn", "liger-kernel", "torchao"]


@pytest.mark.parametrize(
    ("word", "near"), [("flash-atn", "flash-attn"), ("bitsnbytes", "bitsandbytes"), ("zzz", "Known: ")]
)
def test_an_unknown_name_is_one_clear_error(word: str, near: str) -> None:
    with pytest.raises(Trouble) as caught:
        find_extensions((f"liger-kernel,{word}",))
    assert repr(word) in str(caught.value)
    assert near in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "torch", "requirement"),
    [
        ("torchao", "2.9.1+cu128", "torchao==0.15.*"),
        ("torchao", "2.13.0+cpu", "torchao>=0.17"),
        ("xformers", "2.6.0", "xformers==0.0.29.post3"),
        ("xformers", "2.13.0", "xformers>=0.0.35"),
        ("flash-attn", "2.6.0", "flash-attn>=2.5"),
        ("einops", "2.6.0", "einops"),
    ],
)
def test_the_release_for_a_torch_is_the_tables(name: str, torch: str, requirement: str) -> None:
    (one,) = find_extensions((name,))
    assert one.requirement(torch) == requirement


def test_every_row_says_what_to_do_without_it() -> None:
    for row in _ROWS:
        text = row.without_wheel("2.13.0", "3.11")
        assert row.needs in text
        assert row.instead in text
        assert row.source.startswith("https://")
        assert MODULES.get(row.module, row.name) == row.name
