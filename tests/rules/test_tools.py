"""Advice names the options of the program that a text is about, and not of others."""

from __future__ import annotations

import pytest

from tests.rules.told import root, whole

BLACK = "# All pictures come out black"
FLAGS = {"A1111": "--no-half-vae in A1111", "ComfyUI": "--fp32-vae", "diffusers": "upcast_vae()"}


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("I use ComfyUI with a GTX 1660.", "ComfyUI"),
        ("Automatic1111 on Windows, GTX 1660.", "A1111"),
        ("pipe = StableDiffusionXLPipeline.from_pretrained(...)", "diffusers"),
    ],
)
def test_its_own_options_stay(line: str, tool: str) -> None:
    found = whole(root(BLACK, line))
    assert [name for name, flag in FLAGS.items() if flag in found] == [tool]


def test_another_project_has_none_of_them() -> None:
    found = whole(root(BLACK, "python my_sampler.py --steps 50 on a GTX 1660, no errors"))
    assert not any(flag in found for flag in FLAGS.values())
    assert "float32" in found


def test_a_text_that_names_none_is_told_of_all() -> None:
    found = whole(root(BLACK, "What can it be? I have a GTX 1660."))
    assert all(flag in found for flag in FLAGS.values())
