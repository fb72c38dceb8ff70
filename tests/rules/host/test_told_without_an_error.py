"""Texts of people who paste no error line: what a knowledgeable reader would look at first, said as a guess."""

import pytest

from envdoctor.errors import Trouble
from tests.rules.host.test_slow_run import judged


def guessed(text: str) -> set[str]:
    try:
        judged(text)
    except Trouble:  # nothing at all is in it
        return set()
    return {one.subject for one in judged(text).findings if one.rule == "host/complained-of"}


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        (
            "Only 1 of 8 GPUs works on our cluster\n\nsbatch with --gpus-per-node=8, Trainer(devices=8).",
            "Slurm's tasks",
        ),
        ("torch.cuda.device_count() is 1 although four were asked for\n\nsalloc --gres=gpu:4", "Slurm's tasks"),
        ("单机四卡只用了一张卡\n\npython train.py --gpus 0,1,2,3", "one process"),
        ("# The script can't use both GPUs\n\nTwo 3090, python main.py", "one process"),
        ("指定第三张卡还是跑在0号, CUDA_VISIBLE_DEVICES does nothing", "the variable comes too late"),
        ("Trained on 8 GPUs with DDP the mAP is lower, 3 points", "the batch over all GPUs"),
        ("The workstation reboots as soon as both cards are at full load", "power and heat"),
        ("docker: exited with code 139\n\nRadeon 7800 XT, image rocm5.4.2", "RDNA3 and an older ROCm"),
        ("Python quits without any message\n\nwhile loading the checkpoint of 13 GB", "memory while loading"),
        (
            "It fails with the newest transformers\n\n4.50 breaks it, please pin it",
            "",
        ),
        ("Not compatible with the latest gradio", "a newer release than the code"),
        ("setup.py asks for pytorch-lightning>=1.2, and pip takes 2.x", "Lightning's arguments"),
        ("torch 2.7 changed the default of torch.load\n\nNo checkpoint loads, broken with torch 2.7", "weights_only"),
    ],
)
def test_a_likely_cause_is_named(text: str, subject: str) -> None:
    found = judged(text)
    subjects = guessed(text)
    assert subject in subjects if subject else subjects
    assert found.unexplained is None
    assert all(one.severity.word == "warning" for one in found.findings if one.rule == "host/complained-of")


@pytest.mark.parametrize(
    "text",
    [
        "# Several GPUs\nDoes the code run on more than one GPU? I'd like to take four.",
        "# Requirements\nWhich releases of torch and CUDA did you use for the paper?",
        "# Memory\nI only have one GPU with 8 GB, is that enough to train it?",
        "# Speed\nWith four cards it is slower than when only one GPU is used.",
        "# It does not work\nPlease help.",
        "# Question\nDid you train on only one GPU?",
        "# The docs\nOnly one GPU type is listed.",
        "RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
        "# Broken with the latest transformers\nImportError: cannot import name 'x_y' from 'transformers'",
        "# GPU not used\nUserWarning: CUDA initialization: CUDA unknown error",
    ],
)
def test_nothing_is_guessed_of_a_text_that_says_nothing_or_more(text: str) -> None:
    assert not guessed(text)


def test_a_gpu_that_torch_sees_is_not_said_to_be_unseen() -> None:
    text = "# The GPU is not used\ntorch.cuda.is_available() gives True and nvidia-smi shows 0 %.\n"
    assert "torch sees no GPU" not in " ".join(one.message for one in judged(text).findings)
    blind = judged(
        "# cuda not available in the container\n>>> torch.cuda.is_available()\nFalse\nIn another it is True.\n"
    )
    assert any("torch sees no GPU" in one.message for one in blind.findings)


def test_a_run_that_is_resumed_is_no_machine_that_slept() -> None:
    slept = {one.subject for one in judged("CUDA fails after resuming from suspension\ndriver 570").findings}
    assert "suspend" in slept
    text = "CUDA out of memory after resuming\nIt happens with --resume, the driver is 570."
    assert "suspend" not in {one.subject for one in judged(text).findings}


@pytest.mark.parametrize("who", ["The program hangs", "My program hangs", "A system hangs", "It hangs"])
def test_whose_word_ends_like_a_persons(who: str) -> None:
    assert "ranks that wait for one another" in guessed(f"{who} with torchrun on two GPUs")


def test_a_crash_whose_stack_is_there_is_not_guessed_at() -> None:
    assert "a library that crashes" not in guessed("# rocminfo segfaults\n#0 0x00007f3 in hsa_init () from libhsa.so\n")


def test_what_a_job_asks_its_scheduler_for_is_no_complaint() -> None:
    text = "My job does not start.\n#SBATCH --mem=200G  # memory increased, it keeps growing with every epoch\n"
    assert not guessed(text)
    assert guessed(text.replace("#SBATCH --mem=200G  # ", ""))
