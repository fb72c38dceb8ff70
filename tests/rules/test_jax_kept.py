"""A remedy does not replace a jax that computes on the GPU by the one for processors."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.rules.jax_kept import keep_jax

LINE = "ModuleNotFoundError: No module named 'jax.extend'\n"
OLD = f"jaxlib 0.4.9+cuda11.cudnn86\n{LINE}"
NEW = f"jax-cuda12-plugin==0.4.30\n{LINE}"
PLAIN = f"jaxlib==0.4.20\n{LINE}"
LATER = "python -m pip install 'jax>=0.4.11' 'jaxlib' --upgrade"
EARLIER = "python -m pip install 'jax<0.4.24' 'jaxlib<0.4.24'"


@pytest.mark.parametrize(
    ("report", "command", "wanted"),
    [
        (OLD, LATER, "'jax[cuda11_pip]>=0.4.11,<0.4.26' -f "),
        (OLD, EARLIER, "'jax[cuda11_pip]<0.4.24' -f "),
        (NEW, LATER, "'jax[cuda12]>=0.4.11'"),
        (NEW, EARLIER, "'jax[cuda12_pip]<0.4.24' -f "),
        (NEW, "python -m pip install --upgrade jax jaxlib", "--upgrade 'jax[cuda12]'"),
        (OLD, "python -m pip install 'jax!=0.4.30' 'jaxlib'", "'jax[cuda11_pip]<0.4.26' -f "),
    ],
)
def test_cuda_comes_along(report: str, command: str, wanted: str) -> None:
    kept = keep_jax(command, read(report))
    assert wanted in kept
    assert "jaxlib" not in kept


@pytest.mark.parametrize(
    ("report", "command"),
    [
        (PLAIN, LATER),
        (NEW, "python -m pip install --upgrade 'jax[cuda12]'"),
        (NEW, "python -m pip install flax"),
        (NEW, "python -m pip install jax-metal 'jax==0.4.34' 'jaxlib==0.4.34'"),
    ],
)
def test_other_commands_stay_as_they_are(report: str, command: str) -> None:
    assert keep_jax(command, read(report)) == command
