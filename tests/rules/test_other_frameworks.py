"""JAX and TensorFlow are named as not judged, with what is known of the driver that they need, and nothing more."""

from __future__ import annotations

import pytest

from envdoctor import doctor
from envdoctor.commands.check import exit_code
from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.checkup import CheckOptions
from tests.rules.judging import installed


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        ({"jax": "0.10.0", "jaxlib": "0.10.0"}, "JAX could not be judged: .* without which it uses no NVIDIA GPU"),
        ({"jax": "0.10.0", "jax-cuda12-plugin": "0.10.0"}, "CUDA 12, which needs driver 525.60.13 or later"),
        ({"jax": "0.10.0", "jax-cuda13-plugin": "0.10.0"}, "CUDA 13, which needs driver 580 or later"),
        ({"jax": "0.10.0", "tensorflow": "2.22.0"}, "JAX and TensorFlow could not be judged"),
        ({"tensorflow": "2.22.0"}, "TensorFlow could not be judged: there is no torch here, and only that is judged$"),
        ({"tensorflow": "2.22.0", "nvidia-cuda-runtime-cu12": "12.5.82"}, "CUDA 12, which needs driver 525.60.13"),
    ],
)
def test_it_is_named_with_its_driver_and_never_called_healthy(packages: dict[str, str], said: str) -> None:
    import re

    facts = Facts(interpreter=Interpreter(version="3.12.1"), packages=installed(packages))
    checkup = doctor.judge(facts, CheckOptions(target="auto", ignore=("packages/missing",)))
    texts = [f"{one.text}: {one.reason}" for one in checkup.diagnosis.unseen]
    assert any(re.search(said, text) for text in texts), texts
    assert not checkup.diagnosis.certain
    assert exit_code(checkup, "never") == 3


def test_beside_torch_it_is_nobodys_matter() -> None:
    packages = installed({"jax": "0.10.0", "torch": "2.13.0"})
    checkup = doctor.judge(Facts(interpreter=Interpreter(version="3.12.1"), packages=packages), CheckOptions())
    assert not any(one.section == "JAX" for one in checkup.diagnosis.unseen)
