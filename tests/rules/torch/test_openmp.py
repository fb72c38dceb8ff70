from __future__ import annotations

from envdoctor.facts.model import Facts
from envdoctor.rules.torch.openmp import openmp
from tests.rules.cuda_machines import CPU_TARGET, brief, machine, pasted, torch
from tests.rules.judging import silent, skipped

SITE = "/env/lib/python3.12/site-packages/"


def mapped(*paths: str) -> Facts:
    return machine(torch=torch(libraries=paths))


BOTH = mapped(SITE + "torch/lib/libgomp-a34b3233.so.1", "/env/lib/libiomp5.so")


def test_found() -> None:
    assert brief(openmp, BOTH) == ["note thread-count OpenMP"]
    assert brief(openmp, BOTH, CPU_TARGET) == ["warning thread-count OpenMP"]
    stopped = pasted("OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.")
    assert brief(openmp, stopped) == ["error thread-count OpenMP"]


def test_not_found() -> None:
    copies = mapped(SITE + "torch/lib/libgomp-a34b3233.so.1", SITE + "scikit_learn.libs/libgomp-d22c30c5.so.1.0.0")
    assert silent(openmp, copies)
    assert skipped(openmp, machine())
