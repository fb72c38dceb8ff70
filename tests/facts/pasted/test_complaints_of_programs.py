"""What a program logs of slowness is no person's complaint of it."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted.slowness import is_complaint


@pytest.mark.parametrize(
    ("text", "complains"),
    [
        ("Training is very slow on my GPU", True),
        (
            "2025-10-15 18:52:49.085286: W external/xla/x.cc:930] XLA is disabling it, which may slow down compilation",
            False,
        ),
        ("I1015 18:52:48.803117 47138917599424 xla_bridge.py:895] this is very slow", False),
    ],
)
def test_a_log_complains_of_nothing(text: str, complains: bool) -> None:
    assert is_complaint(text) == complains
