from __future__ import annotations

from envdoctor.rules.torch.debug_build import debug_build
from tests.rules.cuda_machines import brief, machine, torch
from tests.rules.judging import silent, skipped


def test_found() -> None:
    assert brief(debug_build, machine(torch=torch(debug_build=True))) == ["warning known-slow-version torch"]


def test_not_found() -> None:
    assert silent(debug_build, machine())
    assert silent(debug_build, machine(torch=torch(version="1.7.0+cu110", debug_build=True)))  # says so wrongly
    assert skipped(debug_build, machine(torch=torch(debug_build=None)))
