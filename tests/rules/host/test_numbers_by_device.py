"""Numbers that one device computes otherwise than another, without any error."""

from __future__ import annotations

import pytest

from envdoctor.errors import Trouble
from tests.rules.host.test_slow_run import judged


def told(text: str) -> list[str]:
    try:
        return [one.subject for one in judged(text).findings if one.rule == "host/complained-of"]
    except Trouble:  # nothing at all is in it
        return []


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("# mps shows other numbers\n\nThe losses on mps are 12.3 and on cpu 2.1, so they differ.", "Apple's GPU"),
        ("# Different losses with 'mps' than with 'cpu'\n\nM3 Max, macOS 15", "Apple's GPU"),
        ("# Wrong gradients on MPS\n\nCorrect on cpu, wrong on mps.", "Apple's GPU"),
        (
            "# The logits of cuda and cpu do not match\n\nThe outputs on cuda and cpu differ.",
            "other numbers on another device",
        ),
        ("# Wrong values on the GPU\n\nWrong results on cuda, the cpu is right.", "other numbers on another device"),
    ],
)
def test_the_device_is_the_matter(text: str, subject: str) -> None:
    assert subject in told(text)
    assert judged(text).unexplained is None


@pytest.mark.parametrize(
    "text",
    [
        "# The loss on mps\n\nThe loss is 2.1 on mps. Is that fine? The CPU takes longer.",
        "# Speed\n\nmps takes 3 s and cpu 9 s for the same outputs.",
        "RuntimeError: Expected all tensors to be on the same device, but found cuda:0 and cpu! (different values)",
    ],
)
def test_a_device_that_is_only_named_is_not(text: str) -> None:
    assert not {"Apple's GPU", "other numbers on another device"} & set(told(text))
