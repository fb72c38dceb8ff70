from __future__ import annotations

import pytest

from envdoctor.rules.torch.source_build import source_build
from tests.rules.cuda_machines import ABSENT, brief, machine, only, torch
from tests.rules.judging import silent, skipped


@pytest.mark.parametrize(
    ("version", "what"),
    [
        ("2.5.0a0+git1234567", "built from source"),
        ("2.5.1+gita8d6afb", "built from source"),
        ("2.4.0a0+07cecf4168.nv24.05", "NVIDIA's container build"),
        ("2.16.0.dev20261101+cu132", "a nightly"),
    ],
)
def test_found(version: str, what: str) -> None:
    facts = machine(torch=torch(version=version))
    assert brief(source_build, facts) == ["note not-judged torch"]
    assert what in only(source_build, facts).message


@pytest.mark.parametrize(
    "version", ["2.15.0+cu130", "2.6.0", "1.7.1+cpu", "2.9.0+rocm6.4", "2.9.0+xpu", "2.3.0+cu121.with.pypi.cudnn"]
)
def test_released(version: str) -> None:
    assert silent(source_build, machine(torch=torch(version=version)))


def test_not_judged() -> None:
    assert skipped(source_build, machine(torch=ABSENT))
