"""The engine: order, symptoms, the root cause, and rules that skip or crash."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.causes import KINDS
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.rule import Severity
from tests.render.checkups import FACTS, RULES, TARGET, checkup, healthy


def test_errors_come_first_and_order_is_stable() -> None:
    diagnosis = checkup().diagnosis
    assert [f.rule for f in diagnosis.findings] == [
        "driver/cuda-line",
        "torch/cuda-unavailable",
        "packages/pinned-versions",
        "packages/pinned-versions",
        "script/debug-settings",
        "precision/tf32",
    ]
    assert diagnose(FACTS, TARGET, tuple(reversed(RULES))).findings == diagnosis.findings


def test_a_symptom_points_to_its_cause_and_one_root_cause_is_named() -> None:
    diagnosis = checkup().diagnosis
    (symptom,) = [f for f in diagnosis.findings if f.symptom_of]
    assert (symptom.rule, symptom.symptom_of) == ("torch/cuda-unavailable", "driver/cuda-line driver")
    assert diagnosis.root_cause is not None
    assert diagnosis.root_cause.kind == "driver-too-old"


def test_a_rule_that_crashes_or_skips_is_an_outcome_of_its_own() -> None:
    diagnosis = checkup().diagnosis
    assert [(c.rule, c.error) for c in diagnosis.crashed] == [("variables/crashes", "RuntimeError: boom")]
    assert [(s.rule, s.reason) for s in diagnosis.skipped] == [("host/skips", "the report does not say")]


@pytest.mark.parametrize(
    ("names", "outcome"),
    [
        (("precision/tf32",), "healthy"),
        (("packages/pinned-versions",), "findings"),
        (("variables/crashes", "precision/tf32"), "unknown"),
        (("host/skips",), "unknown"),
        ((), "unknown"),
    ],
)
def test_unknown_is_never_healthy(names: tuple[str, ...], outcome: str) -> None:
    rules = tuple(rule for rule in RULES if rule.name in names)
    assert diagnose(FACTS, TARGET, rules).outcome == outcome


def test_the_healthy_one_has_no_root_cause() -> None:
    assert healthy().diagnosis.root_cause is None


def test_every_bundled_rule_documents_itself() -> None:
    rules = load_rules()
    assert len({rule.name for rule in rules}) == len(rules) >= 10
    for rule in rules:
        assert rule.title, rule.name
        assert not rule.title.endswith("."), rule.name
        assert set(rule.sections) == {"Why", "Fix", "Source"}, rule.name
        assert all(rule.sections.values()), rule.name
        assert isinstance(rule.severity, Severity)


def test_kinds_are_kebab_case() -> None:
    assert all(kind == kind.lower() and " " not in kind for kind in KINDS)


def test_no_error_rests_on_a_persons_own_words_alone() -> None:
    told = diagnose(read("pip can't find torch 9.9.9 anywhere, torch does not see my GPU\n"), no_target(), load_rules())
    assert told.findings
    assert told.at_least(Severity.ERROR) == ()
    said = diagnose(read("ERROR: No matching distribution found for torch==1.0.0\n"), no_target(), load_rules())
    assert said.at_least(Severity.ERROR)


def test_what_a_rule_quotes_of_a_persons_own_words_is_no_error() -> None:
    told = diagnose(read("# Out of VRAM on a 24 GB card\n"), no_target(), load_rules())
    assert told.findings
    assert told.at_least(Severity.ERROR) == ()
    said = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB."
    both = f"# Out of VRAM on a 24 GB card\n\n{said}"
    assert diagnose(read(both), no_target(), load_rules()).at_least(Severity.ERROR)


def test_weak_evidence_beside_a_proven_error_is_a_warning() -> None:
    weak, proven = (
        "RuntimeError: cuDNN error: CUDNN_STATUS_BAD_PARAM",
        "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
    )
    (alone,) = diagnose(read(weak), no_target(), load_rules()).at_least(Severity.WARNING)
    assert (alone.severity, alone.certain) == (Severity.ERROR, False)
    both = diagnose(read(f"{weak}\n{proven}"), no_target(), load_rules()).at_least(Severity.WARNING)
    assert [(found.subject, found.severity) for found in both] == [
        ("Secure Boot", Severity.ERROR),
        (alone.subject, Severity.WARNING),
    ]
