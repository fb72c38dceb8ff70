from dataclasses import replace

import pytest

from envdoctor.facts.model import Distribution, Facts, Interpreter, Packages
from envdoctor.rules.packages.wheel_tags import wheel_tags
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, locked, silent, skipped

LINUX = Interpreter(version="3.11.7", platform="linux-x86_64", libc="glibc 2.36", free_threaded=False)


def tagged(*tags: str, interpreter: Interpreter = LINUX) -> Facts:
    row = Distribution(name="numpy", version="2.4.6", tags=tags)
    return Facts(interpreter=interpreter, packages=Packages(distributions=(row,)))


@pytest.mark.parametrize(
    ("tag", "built_for"),
    [
        ("cp310-cp310-manylinux_2_17_x86_64", "Python 3.10"),
        ("cp312-abi3-manylinux_2_17_x86_64", "Python 3.12"),
        ("cp311-cp311t-manylinux_2_17_x86_64", "a free-threaded Python 3.11"),
        ("cp311-cp311-manylinux_2_17_aarch64", "aarch64"),
        ("cp311-cp311-musllinux_1_2_x86_64", "musl"),
    ],
)
def test_a_wheel_for_something_else(tag: str, built_for: str) -> None:
    (finding,) = findings(wheel_tags, tagged(tag), locked(numpy="2.4.7"))
    assert (finding.kind, finding.subject, finding.severity) == ("extension-abi-mismatch", "numpy", Severity.ERROR)
    assert f"was built for {built_for}" in finding.message
    assert finding.repair == (Pin(name="numpy", version="2.4.7"),)


@pytest.mark.parametrize(
    "tags",
    [
        ("cp311-cp311-manylinux_2_17_x86_64",),
        ("cp38-abi3-manylinux_2_17_x86_64",),
        ("py3-none-any",),
        ("py3-none-manylinux_2_28_x86_64",),
        ("cp310-cp310-manylinux_2_17_x86_64", "cp311-cp311-manylinux_2_17_x86_64"),
        ("pp310-pypy310_pp73-manylinux_2_17_x86_64",),
        (),
    ],
)
def test_fitting_wheels(tags: tuple[str, ...]) -> None:
    assert silent(wheel_tags, tagged(*tags))


def test_a_free_threaded_python_needs_its_own_wheels() -> None:
    threaded = replace(LINUX, version="3.14.0", free_threaded=True)
    assert silent(wheel_tags, tagged("cp314-cp314t-manylinux_2_17_x86_64", interpreter=threaded))
    assert not silent(wheel_tags, tagged("cp314-cp314-manylinux_2_17_x86_64", interpreter=threaded))


def test_unknown_is_skipped() -> None:
    assert skipped(wheel_tags, Facts())
    assert skipped(wheel_tags, Facts(packages=Packages()))
