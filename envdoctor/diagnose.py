"""Facts + target -> diagnosis: every rule is run, none can take the others down, and one root cause is named."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from envdoctor.facts import Facts
from envdoctor.frozen import dataclass
from envdoctor.rule import KINDS, Finding, Remedy, Rule, Severity, Skip
from envdoctor.target import Target

PLUGINS = "envdoctor.rules"
_RULES = os.path.join(os.path.dirname(__file__), "rules")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """A rule that raised: its own fault, reported as such; the other rules went on."""

    rule: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What the rules found, in stable order: errors first, then by rule and subject."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    crashed: tuple[Crashed, ...] = ()
    root_cause: Finding | None = None
    judged: int = 0

    @property
    def outcome(self) -> Literal["healthy", "findings", "unknown"]:
        """Unknown is never healthy: with nothing judged, or a rule crashed, there is no clean bill."""
        if any(finding.severity in (Severity.ERROR, Severity.WARNING) for finding in self.findings):
            return "findings"
        return "unknown" if self.crashed or not self.judged else "healthy"

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity is not None and f.severity >= severity)


def load_rules(without: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The rules of `envdoctor.rules`, one per file, and those of plugins, by name; not the families in ``without``.

    A plugin is an entry point of the group ``envdoctor.rules`` that names a `Rule`. A rule that cannot be loaded
    becomes one that crashes when it is run: it is reported, and the others go on.
    """
    rules = []
    for family in (entry for entry in os.scandir(_RULES) if entry.is_dir() and entry.name not in without):
        for name in sorted(os.listdir(family)):
            if name.endswith(".py") and not name.startswith("_"):
                module = importlib.import_module(f"envdoctor.rules.{family.name}.{name[:-3]}")
                (found,) = (value for value in vars(module).values() if isinstance(value, Rule))
                rules.append(found)
    rules += _plugins()
    return tuple(sorted(rules, key=lambda rule: rule.name))


def _plugins() -> Iterator[Rule]:
    """Rules of other distributions. `importlib.metadata` takes long to import, so it is asked only if there are any."""
    wanted = f"[{PLUGINS}]"
    if not any(wanted in file.read_text("utf-8", errors="replace") for file in _entry_point_files()):
        return
    from importlib import metadata

    for point in metadata.entry_points(group=PLUGINS):
        try:
            loaded = point.load()
            if not isinstance(loaded, Rule):
                raise TypeError(f"it is a {type(loaded).__name__}, not a rule made by @rule")
        except Exception as error:  # noqa: BLE001 - somebody else's code: its failure is reported, never ours
            yield _broken(point.name, f"plugin {point.value} cannot be loaded: {type(error).__name__}: {error}")
        else:
            yield replace(loaded, name=f"plugin/{point.name}")


def _entry_point_files() -> Iterator[Path]:
    for folder in dict.fromkeys(sys.path):
        if folder and os.path.isdir(folder):
            with os.scandir(folder) as entries:
                found = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
            yield from (file for path in found if (file := Path(path, "entry_points.txt")).is_file())


def _broken(name: str, problem: str) -> Rule:
    def broken(_facts: Facts, _target: Target) -> Iterator[Finding]:
        raise ImportError(problem)

    return Rule(name=f"plugin/{name}", severity=Severity.ERROR, judge=broken, doc=f"The plugin {name}")


def diagnose(facts: Facts, target: Target, rules: Iterable[Rule]) -> Diagnosis:
    """Run the rules. Pure: equal facts and target give an equal diagnosis."""
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    crashed: list[Crashed] = []
    judged = 0
    for rule in rules:
        try:
            found = [_completed(finding, rule, facts) for finding in rule(facts, target)]
        except Skip as skip:
            skipped.append(Skipped(rule=rule.name, reason=str(skip)))
        except Exception as error:  # noqa: BLE001 - a broken rule is an outcome of its own, never the doctor's end
            crashed.append(Crashed(rule=rule.name, error=f"{type(error).__name__}: {error}"))
        else:
            judged += 1
            findings += found
    findings.sort(key=lambda f: (-(f.severity or 0), f.rule, f.subject, f.message))
    linked = tuple(_linked(finding, findings) for finding in findings)
    return Diagnosis(
        findings=linked,
        skipped=tuple(skipped),
        crashed=tuple(crashed),
        root_cause=_root(linked),
        judged=judged,
    )


def _completed(finding: Finding, rule: Rule, facts: Facts) -> Finding:
    if finding.kind not in KINDS:
        raise ValueError(f"{rule.name} yields the unknown kind {finding.kind!r}")
    return replace(
        finding,
        rule=rule.name,
        severity=finding.severity or rule.severity,
        source=finding.source or rule.sections.get("Source", ""),
        remedy=_aimed(finding.remedy, facts),
    )


def _aimed(remedy: Remedy, facts: Facts) -> Remedy:
    """Our own commands in a remedy, aimed at the environment that was examined: pasted elsewhere they must not miss."""
    place = facts.origin.environment if facts.origin.kind == "probe" else None
    if place is None:
        return remedy
    home = "~/" if place.startswith("~/") else ""  # outside the quotes, where the shell reads it
    rest = place.removeprefix(home)
    quoted = home + (rest if all(c.isalnum() or c in "/._-+" for c in rest) else "'" + rest.replace("'", "'\\''") + "'")

    def aimed(command: str) -> str:
        ours = command.startswith(("envdoctor fix", "envdoctor undo", "envdoctor check"))
        return f"{command} --env {quoted}" if ours and "--env" not in command else command

    return replace(remedy, commands=tuple(aimed(command) for command in remedy.commands))


def _linked(finding: Finding, findings: Sequence[Finding]) -> Finding:
    """Point a symptom to the finding of highest rank that says it explains it."""
    causes = [
        cause
        for cause in findings
        if cause is not finding
        and cause.root_rank > finding.root_rank
        and any(
            name in (finding.rule, finding.identity) or (name.endswith("/") and finding.rule.startswith(name))
            for name in cause.explains
        )
    ]
    if not causes:
        return finding
    return replace(finding, symptom_of=max(causes, key=lambda cause: cause.root_rank).identity)


def _root(findings: Sequence[Finding]) -> Finding | None:
    """What to fix first: the error or warning nearest to the root that is nobody's symptom."""
    candidates = [f for f in findings if f.symptom_of is None and f.severity in (Severity.ERROR, Severity.WARNING)]
    return max(candidates, key=lambda f: (f.severity or 0, f.root_rank), default=None)
