from __future__ import annotations

import pytest

from envdoctor.facts.model import Unavailable
from envdoctor.rules.rule import Pin
from envdoctor.rules.torch.import_fails import import_fails
from tests.rules.cuda_machines import ABSENT, brief, machine, only
from tests.rules.judging import installed, locked, silent, skipped


def sick(reason: str, why: str) -> Unavailable:
    return Unavailable(reason=reason, why=why)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("torch", "words", "who"),
    [
        (sick("import torch: SIGSEGV", "crashed"), ("crashes", "native libraries clash"), "you"),
        (sick("import torch: SIGILL", "crashed"), ("the CPU lacks instructions",), "host"),
        (sick("import torch: SIGKILL", "crashed"), ("killed",), "host"),
        (sick("import torch: no answer within 60 s", "timed-out"), ("does not come back",), "you"),
        (sick("libtorch_cuda.so: undefined symbol: x", "failed"), ("two libraries of different builds",), "you"),
        (sick("/lib/libc.so.6: version `GLIBC_2.28' not found", "failed"), ("fails",), "you"),
        (sick("libcudart.so.12: cannot open shared object file: No such file", "failed"), ("is missing",), "you"),
    ],
)
def test_found(torch: Unavailable, words: tuple[str, ...], who: str) -> None:
    found = only(import_fails, machine(torch=torch))
    assert (found.kind, found.who) == ("torch-import", who)
    assert all(word in found.message for word in words)


def test_absent_torch_counts_when_it_is_listed_or_locked() -> None:
    assert skipped(import_fails, machine(torch=ABSENT))
    assert brief(import_fails, machine(torch=ABSENT, packages=installed(torch="2.15.0"))) == [
        "error torch-import torch"
    ]
    found = only(import_fails, machine(torch=ABSENT), locked(torch="2.15.0"))
    assert found.repair == (Pin(name="torch", version="2.15.0"),)


def test_not_found() -> None:
    assert silent(import_fails, machine())
    for why in ("not-asked", "not-reported"):
        assert skipped(import_fails, machine(torch=sick("not looked at", why))) == "not looked at"
