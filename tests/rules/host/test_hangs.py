"""A run that stands still: what the text tells of it narrows the causes, and rules others out."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding
from tests.rules.host.test_slow_run import judged

RANKS = "\n".join(f"initializing ddp: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/4" for rank in (0, 1, 0, 1))
JOB = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:4\nsrun python fit.py\n"


def told(text: str) -> list[Finding]:
    return [one for one in judged(text).findings if one.rule == "host/complained-of"]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("# DDP hangs on four GPUs\n\nWith NCCL_P2P_DISABLE=1 it trains fine.", "peer access that is broken"),
        (
            "# Training gets stuck\n\nTwo A6000 with torchrun. NCCL_P2P_DISABLE set to 1 solves it, is it safe?",
            "peer access that is broken",
        ),
        (
            "# Two nodes hang with torchrun\n\nIt only starts when I set NCCL_IB_DISABLE=1, then it works.",
            "the way between the machines",
        ),
        ("# NCCL hangs\n\nall_reduce_perf of nccl-tests with -g 4 hangs as well as my script.", "below PyTorch"),
        ("# accelerate test is stuck\n\nTwo 3090, the config says MULTI_GPU.", "below PyTorch"),
        ("# DDP hangs\n\nIt also hangs with one GPU, and with gloo too.", "a start that stands with one GPU, too"),
        (f"# Training on the cluster is stuck\n\n{RANKS}", "ranks that came twice"),
        (f"# Lightning hangs on slurm\n\n{JOB}\ntrainer = pl.Trainer(devices=4, num_nodes=2)", "ranks that came twice"),
        (
            "# It freezes after the first epoch\n\nThe process sleeps, there is no error. GTX 1080.",
            "between two epochs",
        ),
        ("# Stuck at the end of every epoch\n\nNothing in the log.", "between two epochs"),
        ("# Deadlock between epochs\n\nnum_workers=8", "the loader's workers"),
        ("# Hangs after the first epoch\n\ntorchrun on 2 gpus", "ranks that wait for one another"),
    ],
)
def test_the_text_narrows_the_causes(text: str, subject: str) -> None:
    assert [one.subject for one in told(text)] == [subject]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("# DDP hangs on four GPUs\n\nNCCL_P2P_DISABLE=1 does not help.", "peer access that is broken"),
        ("# DDP hangs on four GPUs\n\nnccl-tests works without a problem.", "below PyTorch"),
        ("# DDP hangs on 2 gpus\n\nWith one GPU it works.", "a start that stands with one GPU, too"),
        (
            f"# It hangs\n\n{JOB.replace('--nodes', '--ntasks-per-node=4 --nodes')}\npl.Trainer(devices=4)",
            "ranks that came twice",
        ),
        (
            "# It hangs with 4 gpus\n\n"
            + "\n".join(f"initializing ddp: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/4" for rank in range(4)),
            "ranks that came twice",
        ),
        (
            f"# It hangs\n\n{JOB.replace('srun python', 'srun torchrun --nproc_per_node 4')}\npl.Trainer()",
            "ranks that came twice",
        ),
        ("# Hangs after the first epoch\n\nnum_workers=0 hangs too.", "between two epochs"),
        ("# accelerate test hangs\n\nAll of examples/ was used, multi gpu.", "rows prepared by several processes"),
    ],
)
def test_and_rules_others_out(text: str, subject: str) -> None:
    assert subject not in [one.subject for one in told(text)]


def test_the_cure_of_peer_access_is_the_host_s() -> None:
    (found,) = told("# It hangs with 4 gpus\n\nI confirmed that it works with NCCL_P2P_DISABLE=1.")
    assert "iommu=pt" in found.remedy.text
    assert "does not help" not in found.remedy.text


def test_the_step_that_decides_is_among_the_commands() -> None:
    (found,) = told("# It just stops\n\nMap (num_proc=4):   0%|          | 0/500 [00:00<?, ? examples/s]")
    assert found.remedy.commands[0] == "python SCRIPT --num_proc 1"
