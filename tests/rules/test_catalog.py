"""What is found as a rule: one per file, those of plugins, and what becomes of a file that holds none."""

from __future__ import annotations

from pathlib import Path

import pytest

import envdoctor.rules
from envdoctor.rules import catalog
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from tests.render.checkups import FACTS, TARGET

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for path in (ROOT / "envdoctor" / "rules").glob("*/*.py") if not path.name.startswith("_"))
RULE = """
@rule(Severity.NOTE)
def {name}(facts, target):
    \"\"\"Says that it ran.\"\"\"
    remedy = Remedy(text="t")
    yield Finding(kind="interpreter", subject="s", actual="a", expected="e", message="{name} ran", remedy=remedy)
"""
IMPORTS = "from envdoctor.rules.rule import Finding, Remedy, Severity, rule\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_rule_has_a_test_of_its_own(path: Path) -> None:
    if path.parent.name == "image":  # tested by whole files, each with all that is to be found in it
        cases = (ROOT / "tests" / "rules" / "images" / "published").glob("*.toml")
        named = [f'"image/{path.stem.replace("_", "-")}"' in case.read_text("utf-8") for case in cases]
        assert any(named), "write a case that it fires on"
        return
    test = ROOT / "tests" / "rules" / path.parent.name / f"test_{path.stem}.py"
    assert test.is_file(), f"write {test.relative_to(ROOT)}"
    assert "\ndef test_" in test.read_text("utf-8"), f"{test.relative_to(ROOT)} tests nothing"


def test_every_file_is_a_rule() -> None:
    names = {f"{path.parent.name}/{path.stem.replace('_', '-')}" for path in FILES}
    assert {rule.name for rule in load_rules() if rule.family != "plugin"} == names


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of rule files in place of the real ones; the family ``odd`` is imported from there."""
    monkeypatch.setattr(catalog, "_RULES", str(tmp_path))
    monkeypatch.setattr(envdoctor.rules, "__path__", [*envdoctor.rules.__path__, str(tmp_path)])
    family = tmp_path / "odd"
    family.mkdir()
    (family / "good.py").write_text(IMPORTS + RULE.format(name="good"))
    return family


@pytest.mark.parametrize(
    ("name", "source", "said"),
    [
        ("bare", "LIMIT = 3\n", "holds no rule: it needs one function under @rule(...)"),
        ("two", IMPORTS + RULE.format(name="one") + RULE.format(name="other"), "holds 2 rules (one, other)"),
        ("absent", "import no_such_module\n", "cannot be imported: ModuleNotFoundError: No module named"),
        ("misspelt", "def rule(:\n", "cannot be imported: SyntaxError"),
    ],
)
def test_a_broken_file_is_one_report_about_it_and_stops_nothing(odd: Path, name: str, source: str, said: str) -> None:
    (odd / f"{name}.py").write_text(source)
    diagnosis = diagnose(FACTS, TARGET, load_rules())
    assert [finding.message for finding in diagnosis.findings] == ["good ran"]
    (crashed,) = diagnosis.crashed
    assert crashed.rule == f"odd/{name}"
    assert f"envdoctor/rules/odd/{name}.py {said}" in crashed.error
    assert diagnosis.outcome == "unknown"  # what a rule could not judge is not healthy


def test_a_rule_may_import_another_files_rule(odd: Path) -> None:
    (odd / "guest.py").write_text(f"{IMPORTS}from envdoctor.rules.odd.good import good\n{RULE.format(name='guest')}")
    diagnosis = diagnose(FACTS, TARGET, load_rules())
    assert not diagnosis.crashed
    assert sorted(finding.rule for finding in diagnosis.findings) == ["odd/good", "odd/guest"]


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path with a distribution that brings one good rule and one that cannot be loaded."""
    (tmp_path / "theirs.py").write_text(
        "from envdoctor.rules.rule import Finding, Remedy, Severity, rule\n\n"
        "@rule(Severity.NOTE)\n"
        "def house_style(facts, target):\n"
        '    """The house has a rule of its own."""\n'
        "    remedy = Remedy(text='t')\n"
        "    yield Finding(kind='interpreter', subject='s', actual='a', expected='e', message='m', remedy=remedy)\n"
    )
    (tmp_path / "newer.py").write_text(
        "from envdoctor.rules.rule import NOTE, finding, rule\n\n"
        "@rule(NOTE, kind='interpreter', subject='s', expected='e', who='image')\n"
        "def newer_style(facts):\n"
        '    """The house has another, which looks at the facts alone."""\n'
        "    yield finding(actual='a', message='m', fix='t', run='true')\n"
    )
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    points = "[envdoctor.rules]\nhouse-style = theirs:house_style\nnewer = newer:newer_style\nbroken = theirs:nothing\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_plugins_are_rules_and_a_broken_one_is_only_reported(plugins: Path) -> None:
    rules = [rule for rule in load_rules() if rule.family == "plugin"]
    assert [rule.name for rule in rules] == ["plugin/broken", "plugin/house-style", "plugin/newer"]
    diagnosis = diagnose(FACTS, TARGET, rules)
    assert [finding.rule for finding in diagnosis.findings] == ["plugin/house-style", "plugin/newer"]
    assert [(f.kind, f.subject, f.expected, f.who) for f in diagnosis.findings] == [
        ("interpreter", "s", "e", "you"),
        ("interpreter", "s", "e", "image"),
    ]
    assert "nothing" in diagnosis.crashed[0].error
