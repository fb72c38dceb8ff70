from dataclasses import replace

import pytest

from envdoctor.facts.model import Damage, DamagedFile, Facts, Packages
from envdoctor.rules.packages.damaged import damaged
from envdoctor.rules.rule import Pin, Severity
from tests.rules.judging import findings, installed, locked, silent, skipped


def broken(*pieces: DamagedFile, **versions: str) -> Facts:
    return Facts(packages=replace(installed(**versions), damaged=pieces, damage_checked="sizes"))


def piece(name: str, kind: Damage, path: str, detail: str = "") -> DamagedFile:
    return DamagedFile(distribution=name, kind=kind, path=path, detail=detail)


@pytest.mark.parametrize("kind", ["missing-file", "wrong-size", "wrong-hash", "unreadable", "no-metadata"])
def test_lost_and_altered_files_are_errors(kind: Damage) -> None:
    facts = broken(piece("torch", kind, "torch/lib/libtorch_cpu.so", "12 of 400 bytes"), torch="2.13.0")
    (finding,) = findings(damaged, facts, locked(torch="2.13.0"))
    assert (finding.kind, finding.subject, finding.severity) == ("package-damaged", "torch", Severity.ERROR)
    assert "torch/lib/libtorch_cpu.so" in finding.actual
    assert "12 of 400 bytes" in finding.actual
    assert finding.repair == (Pin(name="torch", version="2.13.0"),)
    assert finding.remedy.commands == ("envdoctor fix --target h100",)
    assert "torch/" in finding.explains
    assert finding.certain


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("missing-file", "numpy/tests/test_x.py"),
        ("missing-file", "numpy/__init__.pyi"),
        ("missing-file", "torch/include/ATen/ATen.h"),
        ("missing-file", "torch-2.13.0.dist-info/LICENSE"),
        ("no-record", ""),
        ("empty-record", ""),
        ("missing-file", "numpy-2.4.6.dist-info/INSTALLER"),
        ("wrong-size", "numpy-2.4.6.dist-info/RECORD"),
        ("broken-record", "x.dist-info/RECORD"),
    ],
)
def test_what_training_does_not_need_is_noted(kind: Damage, path: str) -> None:
    (finding,) = findings(damaged, broken(piece("numpy", kind, path), numpy="2.4.6"))
    assert finding.severity is Severity.NOTE
    assert not finding.explains


def test_many_pieces_make_one_finding_for_each_package() -> None:
    facts = broken(
        piece("peft", "missing-file", "peft/a.py"),
        piece("numpy", "missing-file", "numpy/a.so"),
        piece("peft", "wrong-size", "peft/b.py"),
        peft="0.21.0",
        numpy="2.4.6",
    )
    numpy, peft = findings(damaged, facts)
    assert (numpy.subject, peft.subject) == ("numpy", "peft")
    assert peft.actual == "peft/a.py is missing, and 1 more"
    assert "packages/extension-abi peft" in peft.explains
    assert "torch/" not in peft.explains
    assert peft.remedy.commands == ("python -m pip install 'peft==0.21.0' --force-reinstall --no-deps",)
    assert not peft.repair


def test_the_worst_piece_is_named_first() -> None:
    facts = broken(
        piece("peft", "missing-file", "peft-0.21.0.dist-info/INSTALLER"),
        piece("peft", "wrong-size", "peft/tuners.py"),
        peft="0.21.0",
    )
    (finding,) = findings(damaged, facts)
    assert finding.actual.startswith("peft/tuners.py")
    assert finding.severity is Severity.ERROR


def test_leftovers_are_another_rules_matter() -> None:
    assert silent(damaged, broken(piece("numpy", "leftover", "~umpy")))


def test_sound_packages_are_healthy_and_unchecked_ones_are_skipped() -> None:
    assert silent(damaged, broken(torch="2.13.0"))
    assert skipped(damaged, Facts(packages=Packages())) == "the files were not compared with RECORD"
    assert skipped(damaged, Facts())
