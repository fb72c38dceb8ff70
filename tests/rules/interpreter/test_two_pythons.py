"""Another Python ran than the one whose environment is active: what is missing is not missing there."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import read
from envdoctor.rules.interpreter.two_pythons import two_pythons
from tests.rules.judging import skipped
from tests.rules.told import errors, root, whole

PROMPT = "(tune) me@node1:~/work$ torchrun --nproc_per_node 2 train.py"
LACKS = "ModuleNotFoundError: No module named 'plans'"
BINARY = "E0718 02:26:56 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) of binary: {}"


@pytest.mark.parametrize("binary", ["/usr/bin/python3", "/usr/local/bin/python3.10", "/home/me/.local/bin/python"])
def test_the_systems_python_under_an_active_environment(binary: str) -> None:
    found = root(PROMPT, LACKS, BINARY.format(binary))
    assert found.rule == "interpreter/two-pythons"
    assert binary in found.message
    assert "(tune)" in found.message
    assert "python -m torch.distributed.run" in whole(found)


def test_the_script_is_named_and_nothing_is_installed_for_the_other() -> None:
    frame = '  File "/home/me/.local/bin/torchrun", line 8, in <module>'
    found = root(PROMPT, LACKS, BINARY.format("/usr/bin/python3"), "Traceback (most recent call last):", frame)
    assert "started by /home/me/.local/bin/torchrun" in found.message
    assert not any("install" in command for command in found.remedy.commands)


@pytest.mark.parametrize(
    "lines",
    [
        (PROMPT, LACKS, BINARY.format("/home/me/miniconda3/envs/tune/bin/python")),
        ("me@node1:~/work$ torchrun train.py", LACKS, BINARY.format("/usr/bin/python3")),
        ("(main) me@node1:~/work$ torchrun train.py", LACKS, BINARY.format("/usr/bin/python3")),
        (PROMPT, LACKS),
        (PROMPT, "RuntimeError: something else", BINARY.format("/usr/bin/python3")),
    ],
)
def test_what_shows_one_python_alone_is_left_to_others(lines: tuple[str, ...]) -> None:
    assert not any(one.rule == "interpreter/two-pythons" for one in errors(*lines))


def test_unknown_is_skipped() -> None:
    assert skipped(two_pythons, Facts())


WHEEL = "ERROR: {} is not a supported wheel on this platform."


def test_a_wheel_for_another_python_wants_that_python() -> None:
    found = root(WHEEL.format("flash_attn-2.7.0+cu12torch2.5cxx11abiFALSE-cp311-cp311-linux_x86_64.whl"))
    assert "made for Python 3.11" in found.message
    assert "python -m pip --version" in found.remedy.commands


def test_a_boards_wheel_is_not_exchanged() -> None:
    name = "torch-2.1.0a0+41361538.nv23.06-cp38-cp38-linux_aarch64.whl"
    board = root(WHEEL.format(name), "It is a Jetson Orin.")
    assert "Change the Python and not the wheel" in whole(board)
    assert "let the installer choose" not in whole(board)


def test_the_python_of_a_refused_wheel_is_not_the_one_here() -> None:
    name = "torch-2.0.0+nv23.05-cp38-cp38-linux_aarch64.whl"
    facts = read(f"pip install https://x.org/jp/{name}\n{WHEEL.format(name)}")
    assert getattr(facts.interpreter, "version", None) is None
