"""Environments that people reported in public: read, judged by every rule, and compared with the known root cause.

Each ``cases/NAME.toml`` says in our words what the cause was and how it is known; ``NAME.txt`` is the report as pasted.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from envdoctor.facts.model import Facts, Unavailable
from envdoctor.facts.pasted import read, words
from envdoctor.locks.target import no_target
from envdoctor.render.steps import Effect, effect, undoes
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.causes import KINDS
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.rule import Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "cases"
REQUIRED = 0.95


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    text: str
    stated: dict[str, Any]
    confidence: str

    @functools.cached_property
    def facts(self) -> Facts:
        return read(self.text)

    @functools.cached_property
    def diagnosis(self) -> Diagnosis:
        return diagnose(self.facts, no_target(), RULES)

    @property
    def verdict(self) -> str:
        """The kind that was found; "healthy" needs a report without errors and without a root cause."""
        if self.diagnosis.unexplained is not None:
            return "unexplained"
        root = self.diagnosis.root_cause
        if root is not None:
            return root.kind
        return "errors" if self.diagnosis.at_least(Severity.ERROR) else "healthy"


def _case(path: Path) -> Case:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    text = path.with_suffix(".txt").read_text(encoding="utf-8")
    return Case(path.stem, data["kind"], text, data.get("facts", {}), data.get("confidence", "high"))


RULES = load_rules()
CASES = [_case(path) for path in sorted(FOLDER.glob("*.toml"))]


def test_the_known_root_cause_is_found() -> None:
    rows = [(case.name, case.kind, case.verdict) for case in CASES]
    hits = sum(kind == verdict for _, kind, verdict in rows)
    print(f"\n{'case':10} {'known':26} {'found':26}")
    for name, kind, verdict in rows:
        print(f"{name:10} {kind:26} {verdict:26} {'' if kind == verdict else '<-- miss'}")
    print(f"{hits} of {len(rows)}: {hits / len(rows):.1%}")
    misses = [f"{name}: {kind}, found {verdict}" for name, kind, verdict in rows if kind != verdict]
    assert hits / len(rows) >= REQUIRED, "\n".join(misses)


@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "healthy"], ids=lambda case: case.name)
def test_nothing_is_found_wrong_with_a_healthy_report(case: Case) -> None:
    assert [finding.message for finding in case.diagnosis.at_least(Severity.WARNING)] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_rule_breaks_on_a_real_report(case: Case) -> None:
    assert case.diagnosis.crashed == ()
    assert case.diagnosis.judged > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_remedy_takes_back_what_it_did(case: Case) -> None:
    for finding in case.diagnosis.findings:
        done = Effect()
        for command in finding.remedy.commands:
            made = effect(command)  # what is removed in order to be installed anew, comes first
            assert not undoes(made, Effect(installs=done.installs, sets=done.sets)), finding.remedy.commands
            done = done.joined(made)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_report_is_read_as_its_author_read_it(case: Case) -> None:
    stated, found = case.stated, _found(case.facts)
    for key, value in found.items():
        expected = stated.get(key)
        if expected is not None and not (isinstance(expected, str) and words.is_unknown(expected)):
            assert value == _comparable(key, expected), key
    if names := stated.get("gpus"):
        read_names = [] if isinstance(case.facts.gpus, Unavailable) else [g.name for g in case.facts.gpus.devices]
        assert read_names
        assert all(name.startswith(read_name) for name, read_name in zip(names, read_names, strict=False))
    if packages := stated.get("packages"):
        assert not isinstance(case.facts.packages, Unavailable)
        read_packages = {d.name: d.version for d in case.facts.packages.distributions}
        conda = {name: row.split()[0] for name, row in case.facts.packages.conda.items()}
        for name, version in packages.items():
            normal = canonicalize_name(name)
            assert read_packages.get(normal, conda.get(normal)) == version, name


def _found(facts: Facts) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not isinstance(facts.torch, Unavailable):
        found |= {"torch": facts.torch.version or None, "torch_cuda": facts.torch.cuda}
        found |= {"cuda_available": facts.torch.cuda_available, "arch_list": list(facts.torch.arch_list)}
        found |= {"debug_build": facts.torch.debug_build}
    if not isinstance(facts.interpreter, Unavailable):
        found["python"] = facts.interpreter.version
    if not isinstance(facts.driver, Unavailable):
        found |= {"driver": facts.driver.kernel_module, "smi_cuda": facts.driver.cuda}
    if not isinstance(facts.host, Unavailable):
        found |= {"cuda_runtime": facts.host.nvcc, "os": facts.host.distribution}
    return found


def _comparable(key: str, expected: Any) -> Any:
    """Facts keep major and minor of torch's CUDA, the release of Python, and the system without its architecture."""
    if key == "torch_cuda":
        return ".".join(expected.split(".")[:2])
    if key == "os" and expected in ("Linux", "Windows"):
        return None
    return (
        expected.partition("+")[0]
        if key == "python"
        else expected.removesuffix(" (x86_64)")
        if key == "os"
        else expected
    )


def test_every_case_has_a_known_kind() -> None:
    assert {case.kind for case in CASES} <= KINDS | {"healthy"}
