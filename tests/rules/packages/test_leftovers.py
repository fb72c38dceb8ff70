from dataclasses import replace

import pytest

from envdoctor.facts.model import Damage, DamagedFile, Facts, Interpreter
from envdoctor.rules.packages.leftovers import leftovers
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, silent, skipped


def left(kind: Damage, *paths: str, site: str = "/env/lib/site-packages") -> Facts:
    pieces = tuple(DamagedFile(distribution="numpy", kind=kind, path=path) for path in paths)
    return Facts(
        packages=replace(installed(numpy="2.4.6"), damaged=pieces),
        interpreter=Interpreter(version="3.11.7", site_packages=(site,)),
    )


@pytest.mark.parametrize("kind", ["leftover", "partial-file", "orphan-file", "dangling-path-file", "nameless"])
def test_remains_are_noted(kind: Damage) -> None:
    (finding,) = findings(leftovers, left(kind, "~umpy", "~umpy.libs"))
    assert (finding.kind, finding.severity) == ("package-damaged", Severity.NOTE)
    assert finding.actual == "~umpy, ~umpy.libs"
    assert bool(finding.remedy.commands) is (kind in ("leftover", "partial-file"))


@pytest.mark.parametrize(
    ("site", "command"),
    [
        ("/env/lib/site-packages", "rm -r -- '/env/lib/site-packages/~umpy'"),
        ("/env of mine/lib", "rm -r -- '/env of mine/lib/~umpy'"),
        ("~/env/lib", "rm -r -- ~/'env/lib/~umpy'"),  # the shell expands a ~ outside of quotes only
    ],
)
def test_the_command_names_the_file_and_nothing_else(site: str, command: str) -> None:
    (finding,) = findings(leftovers, left("leftover", "~umpy", site=site))
    assert finding.remedy.commands == (command,)


def test_nothing_left_is_healthy() -> None:
    assert silent(leftovers, left("missing-file", "numpy/a.so"))
    assert skipped(leftovers, Facts())
