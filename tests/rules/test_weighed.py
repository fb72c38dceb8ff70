"""Of the usual causes the one that the text shows stands first, and those of another system are left out."""

from __future__ import annotations

import pytest

from envdoctor import doctor
from envdoctor.facts.model import SHOWS, Facts
from envdoctor.facts.pasted import read
from envdoctor.knowledge.errors import ERRORS
from envdoctor.knowledge.topics import TOPICS, begins_with, ruled_out, shown_topics, told_topics
from envdoctor.knowledge.usual_causes import in_a_row, separate
from envdoctor.rules.checkup import CheckOptions
from envdoctor.rules.finding import Finding, Remedy
from envdoctor.rules.weighed import of_their_own_machine, with_the_shown_first


def weighed(usually: str, shows: str) -> str:
    found = Finding(actual="", message=f"It stopped. Usually {usually}.", remedy=Remedy(text=""))
    return with_the_shown_first(found, Facts(remarks={SHOWS: shows})).message.removeprefix("It stopped. Usually ")


@pytest.mark.parametrize(
    ("usually", "shows", "expected"),
    [
        (
            "the batch is too large, or a container has too little shared memory",
            "a container",
            "a container has too little shared memory (the text shows a container), or the batch is too large.",
        ),
        ("a container is full, or a disk is full", "a container", None),
        ("a disk is full, or a container is full", "a Mac", None),
        ("the image is old, or the container is full", "a container", None),
        ("a disk is full, or they lie in a container", "a container", None),
        ("a disk is full, or it is an adapter alone", "an adapter", None),
        (
            "it is a full model, or it is an adapter alone",
            "an adapter",
            "it is an adapter alone (the text shows an adapter), or it is a full model.",
        ),
        (
            "all take the first GPU, or CUDA_VISIBLE_DEVICES names one",
            "CUDA_VISIBLE_DEVICES",
            "CUDA_VISIBLE_DEVICES names one (the text shows CUDA_VISIBLE_DEVICES), or all take the first GPU.",
        ),
        ("on Windows a path is too long, or a file is missing", "Linux", "a file is missing."),
        ("on Windows a path is too long, or a file is missing", "Linux, Windows", None),
        ("on Windows a path is too long, or a file is missing", "Linux, a container", None),
        ("on Windows a path is too long", "Linux", None),
    ],
)
def test_usual_causes(usually: str, shows: str, expected: str | None) -> None:
    assert weighed(usually, shows) == (f"{usually}." if expected is None else expected)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("(base) C:\\Users\\ada>python train.py", "Windows"),
        ('File "/Users/ada/x.py", line 3', "a Mac"),
        ('File "/home/ada/x.py", line 3', "Linux"),
        ("$ docker run --rm trainer", "a container"),
        ("#SBATCH --gres=gpu:1", "Slurm"),
        ("export CUDA_HOME=/opt/cuda", "CUDA_HOME"),
        ("python serve.py --enforce-eager", "--enforce-eager"),
        ("error: command '/usr/bin/nvcc' failed", "/usr/bin/nvcc"),
        ('  File "main.py", line 92, in validate', "an evaluation"),
    ],
)
def test_signs(text: str, name: str) -> None:
    assert name in shown_topics(text)


@pytest.mark.parametrize(
    "text",
    [
        "- OS (e.g. Linux, Windows, macOS):",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "- How you installed PyTorch (conda, pip, docker):",
        "the image processor is slow",
    ],
)
def test_no_signs(text: str) -> None:
    assert not shown_topics(text)


def test_a_text_of_one_system_rules_the_others_out() -> None:
    assert "a Mac" in ruled_out(frozenset({"Linux"}))
    assert not ruled_out(frozenset({"Linux", "a Mac"}))
    assert not ruled_out(frozenset())


def test_a_cause_is_about_a_topic_by_its_first_words_alone() -> None:
    windows, nothing = frozenset({"Windows"}), frozenset[str]()
    assert begins_with("on Windows the path is too long", windows, nothing)
    assert not begins_with("the path is longer than the system (Windows) allows", windows, nothing)
    assert not begins_with("a Mac or Windows has none", windows, nothing)
    assert not begins_with("(Windows, macOS) it lies elsewhere", frozenset({"a Mac"}), windows)


def test_causes_are_taken_apart_and_joined_again_as_they_were() -> None:
    for row in ERRORS:
        assert in_a_row(separate(row.usually)) == row.usually


def test_each_topic_is_told_of_by_some_cause() -> None:
    causes = [cause for row in ERRORS for cause in separate(row.usually)]
    told = frozenset().union(*map(told_topics, causes))
    assert {topic.name for topic in TOPICS} - told == {"Linux", "sudo"}


def test_a_text_s_own_signs_reach_what_is_said() -> None:
    text = (
        "building the ops on my workstation (GPU: Quadro P4000)\n"
        "nvcc fatal   : Unsupported gpu architecture 'compute_61'\n"
        "error: command '/usr/bin/nvcc' failed with exit status 1\n"
    )
    found = doctor.judge(read(text), CheckOptions(target="none")).diagnosis.findings[0]
    _, _, usually = found.message.partition(" Usually ")
    assert usually.startswith("an old toolkit stands first in PATH")
    assert "(the text shows /usr/bin/nvcc)" in usually


@pytest.mark.parametrize(
    ("shows", "who"), [("", "host"), ("sudo", "you"), ("Linux, sudo", "you"), ("a container, sudo", "host")]
)
def test_who_may_change_the_machine_mends_it(shows: str, who: str) -> None:
    found = Finding(actual="", message="No driver answers.", remedy=Remedy(text=""), who="host")
    assert of_their_own_machine(found, Facts(remarks={SHOWS: shows})).who == who


def test_a_prompt_of_root_s_shows_that_the_machine_is_one_s_own() -> None:
    assert "sudo" in shown_topics("$ sudo apt install nvidia-driver-580")
    assert "sudo" not in shown_topics("do I need sudo?")


def test_a_flag_of_a_command_is_no_measurement() -> None:
    text = (
        "docker run --ipc=host --gpus all trainer\n"
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"
    )
    found = doctor.judge(read(text), CheckOptions(target="none")).diagnosis.findings[0]
    assert "the text tells of a larger one" in found.message
    assert "the setting did not reach this container" in found.message
