from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.rules.finding import Severity
from envdoctor.rules.network.launcher_tasks import launcher_tasks
from tests.rules.judging import findings, silent, skipped

SAID = "RuntimeError: The server socket has failed to listen: EADDRINUSE, message: address already in use"
JOB = "#SBATCH --nodes=2\n#SBATCH --ntasks=8\nsrun torchrun --nnodes=2 --nproc_per_node=4 train.py\n"


def test_a_launcher_for_each_task() -> None:
    (found,) = findings(launcher_tasks, read(f"{JOB}{SAID}"))
    assert found.severity in (None, Severity.ERROR)
    assert found.actual == "4 tasks on each node"
    assert "srun torchrun" in found.message


def test_without_the_command_it_is_a_guess() -> None:
    (found,) = findings(launcher_tasks, read(f"#SBATCH --ntasks-per-node=8\n{SAID}"))
    assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    "text",
    [
        f"#SBATCH --ntasks-per-node=1\n#SBATCH --nodes=2\nsrun torchrun train.py\n{SAID}",
        f"#SBATCH -N 4\n#SBATCH -n 4\nsrun accelerate launch train.py\n{SAID}",
        f"{JOB}RuntimeError: CUDA out of memory",
        "#SBATCH --ntasks-per-node=8\nsrun python train.py\nRendezvousTimeoutError: timed out",
    ],
)
def test_not_found(text: str) -> None:
    assert silent(launcher_tasks, read(text))


def test_skipped() -> None:
    assert skipped(launcher_tasks, read(SAID))
