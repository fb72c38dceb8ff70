"""Which FlashAttention is tried where, and what becomes of one that fails. torch's own registry takes kernels in; those
of version 3 and 4 need a GPU, and have not been run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.nn.attention import (
    current_flash_attention_impl,
    register_flash_attention_impl,
    restore_flash_attention_impl,
)

from trainer.errors import TrainerError
from trainer.model import attention, flash
from trainer.model.attention import DocumentAttention
from trainer.model.trial import Heads, held_against_float32


def everything(module: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("wanted", "major", "names"),
    [
        ("auto", 9, ("FA4", "FA3")),
        ("auto", 10, ("FA4",)),
        ("auto", 8, ()),
        ("auto", 12, ()),
        ("2", 9, ()),
        ("3", 9, ("FA3",)),
    ],
)
def test_a_kernel_is_tried_on_its_generations(wanted: str, major: int, names: tuple[str, ...]) -> None:
    assert flash.candidates(wanted, major, everything) == names
    assert flash.candidates("auto", major, lambda module: False) == ()


@pytest.mark.parametrize(("wanted", "major", "why"), [("3", 10, "made for capability 9.x"), ("4", 9, "not installed")])
def test_what_was_asked_for_and_cannot_be_is_said(wanted: str, major: int, why: str) -> None:
    with pytest.raises(TrainerError, match=why):
        flash.candidates(wanted, major, lambda module: wanted == "3")


def test_torch_knows_the_names() -> None:
    from torch.nn.attention import list_flash_attention_impls

    assert {kernel.name for kernel in flash.KERNELS.values()} <= set(list_flash_attention_impls())
    assert not any(flash.is_installed(kernel.module) for kernel in flash.KERNELS.values())


@pytest.fixture
def taken_out() -> Iterator[list[str]]:
    """A kernel of the test's own in torch's registry; the list is what was taken out again."""
    log: list[str] = []

    class Handle:
        def remove(self) -> None:
            log.append("removed")

    register_flash_attention_impl("of-a-test", register_fn=Handle)
    yield log
    restore_flash_attention_impl(_raise_warn=False)


def test_one_that_fails_is_taken_out_again(taken_out: list[str]) -> None:
    def attempt() -> None:
        assert current_flash_attention_impl() == "of-a-test"
        raise ArithmeticError("its dQ is off by 30 %")

    found, why = flash.first_that_works(("FA3", "of-a-test"), attempt)
    assert (found, current_flash_attention_impl()) == ("", None)
    assert why[0].startswith("FA3: ")  # not installed here, or no CUDA
    assert why[1] == "of-a-test: ArithmeticError: its dQ is off by 30 %"
    assert taken_out == ["removed"]


def test_one_that_works_stays(taken_out: list[str]) -> None:
    found, why = flash.first_that_works(("of-a-test",), lambda: None)
    assert (found, why, current_flash_attention_impl(), taken_out) == ("of-a-test", [], "of-a-test", [])


def test_a_right_path_passes_and_a_wrong_one_does_not() -> None:
    torch.manual_seed(0)
    heads, cpu = Heads(4, 2, 32), torch.device("cpu")
    held_against_float32(DocumentAttention("right", attention._documents), cpu, torch.bfloat16, heads)

    def wrong(state, query, key, value, scale):
        return attention._documents(state, query, key, value, 1.2 * scale)

    with pytest.raises(ArithmeticError, match="is off by"):
        held_against_float32(DocumentAttention("wrong", wrong), cpu, torch.bfloat16, heads)
