"""The rule of cubins and PTX, by table and against torch's own copy of it."""

from __future__ import annotations

import importlib.util
import itertools
import warnings

import pytest

from envdoctor.knowledge.architectures import Code, code_for, parse, runs
from envdoctor.knowledge.generations import generations


@pytest.mark.parametrize(
    ("entry", "device", "expected"),
    [
        ("sm_86", "8.9", True),  # Ada runs Ampere's cubins
        ("sm_80", "8.6", True),
        ("sm_86", "8.0", False),
        ("sm_89", "8.6", False),
        ("sm_90", "8.9", False),
        ("sm_60", "6.1", True),
        ("sm_61", "6.0", False),
        ("sm_70", "7.5", True),
        ("sm_90", "10.0", False),
        ("sm_100", "10.3", True),
        ("sm_103", "10.0", False),
        ("sm_100", "12.0", False),
        ("sm_120", "12.1", True),
        ("sm_120", "10.0", False),
        # embedded devices stand apart, both ways
        ("sm_80", "8.7", False),
        ("sm_87", "8.7", True),
        ("sm_87", "8.9", False),
        ("sm_60", "6.2", False),
        ("sm_70", "7.2", False),
        ("sm_72", "7.5", False),
        ("sm_50", "5.3", False),
        ("sm_100", "10.1", False),
        ("sm_101", "11.0", True),  # Thor's old and new number
        ("sm_110", "11.0", True),
        # PTX runs upward only
        ("compute_90", "12.0", True),
        ("compute_120", "12.1", True),
        ("compute_90", "8.9", False),
        ("compute_37", "8.6", True),
        ("compute_80", "8.7", True),
        # narrow code
        ("sm_90a", "9.0", True),
        ("sm_90a", "10.0", False),
        ("compute_90a", "10.0", False),
        ("sm_100a", "10.3", False),
        ("sm_100f", "10.3", True),
        ("sm_120f", "12.1", True),
        ("sm_100f", "12.0", False),
        ("compute_100f", "10.3", True),
        ("compute_100f", "12.0", False),
        ("gfx90a", "9.0", False),
        ("sm_", "9.0", False),
    ],
)
def test_runs(entry: str, device: str, expected: bool) -> None:
    assert bool(code_for([entry], device)) is expected


@pytest.mark.parametrize(
    ("entry", "device", "cuda", "expected"),
    [
        ("sm_80", "8.7", "13.2", True),  # one toolkit for boards and servers
        ("sm_86", "8.7", "13.4", True),
        ("sm_89", "8.7", "13.2", False),
        ("sm_80", "8.7", "13.0", False),
        ("sm_80", "8.7", None, False),
        ("sm_87", "8.6", "13.2", False),
        ("sm_110", "10.1", None, True),
        ("sm_100", "10.7", "13.4", True),  # Rubin runs Blackwell's cubins
    ],
)
def test_what_depends_on_the_toolkit(entry: str, device: str, cuda: str | None, expected: bool) -> None:
    assert bool(code_for([entry], device, cuda)) is expected


def test_cubins_come_before_ptx() -> None:
    codes = code_for(["compute_80", "sm_90", "sm_80"], "9.0")
    assert codes == (Code("cubin", (9, 0)), Code("ptx", (8, 0)))
    assert code_for(["sm_90"], "not a capability") == ()


@pytest.mark.slow  # imports torch
def test_agrees_with_torch() -> None:
    """torch judges the same question when it starts CUDA: every pair of code and device must come out alike."""
    spec = importlib.util.find_spec("torch")
    if spec is None:
        pytest.fail("the test environment has torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.cuda import DEVICE_REQUIREMENT
    pairs = itertools.product(DEVICE_REQUIREMENT, generations())
    for code, (major, minor) in pairs:
        entry = parse(f"sm_{code}")
        assert entry is not None
        expected = 10 * major + minor in DEVICE_REQUIREMENT[code]
        assert runs(entry, (major, minor)) is expected, (code, major, minor)
