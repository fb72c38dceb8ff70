"""Names and modules that came and went, as `packages/import-mismatch` tells them by the sources that were read."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.knowledge import history
from envdoctor.rules.packages.import_mismatch import import_mismatch
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed

SEED = "ImportError: cannot import name 'seed_everything' from 'pytorch_lightning.utilities.seed' (/v/seed.py)"
METRICS = "ModuleNotFoundError: No module named 'pytorch_lightning.metrics'"


@pytest.mark.parametrize(
    ("line", "version", "wanted"),
    [
        (SEED, "2.1.0", "pytorch-lightning<2.0.0"),
        (SEED, None, "pytorch-lightning<2.0.0"),
        (METRICS, "1.9.0", "pytorch-lightning>=0.8.0,<1.5.0"),
        (METRICS, "0.7.6", "pytorch-lightning>=0.8.0,<1.5.0"),
        ("no module named pytorch_lightning.strategies", "1.5.0", "pytorch-lightning>=1.6.0,<2"),
    ],
)
def test_which_releases_have_it(line: str, version: str | None, wanted: str) -> None:
    packages = installed(pytorch_lightning=version) if version else installed(complete=False)
    (found,) = findings(import_mismatch, Facts(messages=(line,), packages=packages))
    assert (found.subject, found.severity, found.certain) == ("pytorch-lightning", Severity.ERROR, True)
    assert found.remedy.commands == (f"python -m pip install '{wanted}'",)


def test_two_bounds_and_an_unknown_release_say_no_more_than_that() -> None:
    (found,) = findings(import_mismatch, Facts(messages=(METRICS,)))
    assert "from 0.8.0 on and before 1.5.0" in found.message


def test_what_is_listed_has_it_so_it_is_not_what_runs() -> None:
    (found,) = findings(import_mismatch, Facts(messages=(SEED,), packages=installed(pytorch_lightning="1.9.5")))
    assert (found.kind, found.severity, found.certain) == ("package-conflict", Severity.WARNING, False)
    assert "1.9.5 is listed" in found.message


def test_a_name_that_neither_came_nor_went() -> None:
    line = "ImportError: cannot import name 'PatchedTrainer' from 'pytorch_lightning.utilities' (/v/__init__.py)"
    (found,) = findings(import_mismatch, Facts(messages=(line,)))
    assert (found.severity, found.certain) == (Severity.WARNING, False)
    assert not any("upgrade" in command for command in found.remedy.commands)


def test_a_private_part_is_a_package_s_own_affair() -> None:
    (found,) = findings(import_mismatch, Facts(messages=("AttributeError: module 'numpy' has no attribute '_hidden'",)))
    assert (found.kind, found.severity) == ("package-damaged", Severity.WARNING)


def test_a_module_of_python_s_own_seen_through_a_package() -> None:
    (found,) = findings(
        import_mismatch, Facts(messages=("AttributeError: module 'numpy' has no attribute 'warnings'",))
    )
    assert found.remedy.commands == ()
    assert "import warnings" in found.remedy.text


def test_an_old_release_that_this_python_has_no_wheels_of() -> None:
    line = "AttributeError: module 'numpy' has no attribute 'Inf'"
    facts = Facts(messages=(line,), packages=installed(numpy="2.1.0"), interpreter=Interpreter(version="3.13.1"))
    (found,) = findings(import_mismatch, facts)
    assert "Python 3.12" in found.remedy.text


@pytest.mark.parametrize("module", ["a" * 400, "..", "nul", "../../../etc/passwd"])
def test_a_module_of_any_name_is_looked_up_and_no_file_of_that_name(module: str) -> None:
    assert history.reads(module) == ()
    assert history.of_name(module, "anything") is None
    error = f"ImportError: cannot import name 'anything' from '{module}'"
    assert "history" not in "".join(found.source for found in findings(import_mismatch, Facts(messages=(error,))))
