"""Facts + target -> diagnosis: every rule is run, none can take the others down, and one root cause is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from envdoctor.facts.model import IN_OTHER_WORDS, Facts
from envdoctor.knowledge.circumstances import ZLUDA
from envdoctor.knowledge.machine import needs_board_wheels, platform_of
from envdoctor.knowledge.messages import is_persons, is_told, retold_lines
from envdoctor.locks.target import Target
from envdoctor.rules import remedies
from envdoctor.rules.causes import KINDS, rank
from envdoctor.rules.finding import Crashed, Finding, Remedy, Severity, Skipped
from envdoctor.rules.jax_kept import keep_jax
from envdoctor.rules.rule import Rule, Skip
from envdoctor.rules.tools import without_other_tools
from envdoctor.rules.torch_kept import for_this_torch, keep_torch
from envdoctor.rules.tried import without_tried
from envdoctor.rules.unexplained import Unexplained, find_unexplained
from envdoctor.rules.unseen import Unseen, missing_sections
from envdoctor.rules.weighed import of_their_own_machine, with_the_shown_first
from envdoctor.values import shell
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Diagnosis:
    """What the rules found, in stable order: errors first, then by rule and subject."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    crashed: tuple[Crashed, ...] = ()
    root_cause: Finding | None = None
    judged: int = 0
    unseen: tuple[Unseen, ...] = ()
    unexplained: Unexplained | None = None

    @property
    def blind(self) -> bool:
        """Is something missing without which whatever else was judged is no answer?"""
        return any(missing.blind for missing in self.unseen)

    @property
    def trainable(self) -> bool:
        """Is there any use in training here? Not where nothing was seen, nor with an error of the environment's own."""
        mine = (found for found in self.findings if found.who == "you")
        return not self.blind and not any(found.severity is Severity.ERROR for found in mine)

    @property
    def certain(self) -> bool:
        """Was everything judged that a clean bill needs? If not, no exit code may say so, whatever was found."""
        return bool(self.judged) and not self.crashed and not self.unseen and self.unexplained is None

    @property
    def outcome(self) -> Literal["healthy", "findings", "unexplained", "unknown"]:
        """Unknown is never healthy: nothing judged, a rule crashed, an essential section unseen: no clean bill.

        An error that nothing found explains comes before what was found beside it.
        """
        if self.blind:
            return "unknown"
        if self.unexplained is not None:
            return "unexplained"
        if any(finding.severity in (Severity.ERROR, Severity.WARNING) for finding in self.findings):
            return "findings"
        return "healthy" if self.certain else "unknown"

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity is not None and f.severity >= severity)


def diagnose(facts: Facts, target: Target, rules: Iterable[Rule]) -> Diagnosis:
    """Run the rules. Pure: equal facts and target give an equal diagnosis."""
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    crashed: list[Crashed] = []
    judged = 0
    for rule in rules:
        try:
            found = [_complete(finding, rule, facts) for finding in rule(facts, target)]
        except Skip as skip:
            skipped.append(Skipped(rule=rule.name, reason=str(skip)))
        except Exception as error:  # noqa: BLE001 - a broken rule is an outcome of its own, never the doctor's end
            crashed.append(Crashed(rule=rule.name, error=f"{type(error).__name__}: {error}"))
        else:
            judged += 1
            findings += found
    findings.sort(key=_place)
    linked = tuple(_link_to_cause(finding, findings) for finding in findings)
    if facts.origin.kind == "pasted":
        linked = _by_certainty(linked)
        linked = tuple(without_other_tools(without_tried(finding, facts), facts) for finding in linked)
        linked = tuple(of_their_own_machine(with_the_shown_first(finding, facts), facts) for finding in linked)
    why = find_unexplained(facts, linked)
    retold = retold_lines(facts)
    if retold:
        linked = tuple(_as_it_stands(finding, retold) for finding in linked)
        why = replace(why, line=_quoted_as_it_stands(why.line, retold)) if why is not None else None
    return Diagnosis(
        findings=linked,
        skipped=tuple(skipped),
        crashed=tuple(crashed),
        root_cause=None if why is not None else _root(linked),
        judged=judged,
        unseen=missing_sections(facts, target),
        unexplained=why,
    )


def _place(finding: Finding) -> tuple[int, str, str, str]:
    """Errors first, then by rule and subject; guesses stay as their rule has them, the likeliest first."""
    named = (finding.subject, finding.message) if finding.certain else ("", "")
    return -(finding.severity or 0), finding.rule, *named


def _complete(finding: Finding, rule: Rule, facts: Facts) -> Finding:
    """The finding with what it leaves to its rule."""
    kind = finding.kind or rule.kind
    if kind not in KINDS:
        raise ValueError(f"{rule.name} yields the unknown kind {kind!r}")
    severity = finding.severity or rule.severity
    if severity is Severity.ERROR and _is_told(finding, facts, is_told):
        severity = Severity.WARNING
    return replace(
        finding,
        told=_is_told(finding, facts, is_persons),
        quoted=_is_quoted(finding, facts),
        rule=rule.name,
        kind=kind,
        subject=finding.subject or rule.subject,
        expected=finding.expected or rule.expected,
        who=finding.who or rule.who,
        explains=finding.explains or rule.explains,
        severity=severity,
        source=finding.source or rule.sections.get("Source", ""),
        remedy=_aim_at_environment(_of_distribution(_for_board(finding.remedy, facts), finding, facts), facts),
    )


def _quoted_as_it_stands(text: str, retold: Mapping[str, str]) -> str:
    """The text with the report's own lines in place of the words that they were put into, though one is cut off."""
    for words, line in retold.items():
        text = text.replace(f"{words} [{IN_OTHER_WORDS}{line}]", line.rstrip("."))
        if text.startswith(f"{words} [{IN_OTHER_WORDS}"):
            text = line[:300]
    return text


def _as_it_stands(finding: Finding, retold: Mapping[str, str]) -> Finding:
    """What a finding quotes of a line that was put into a program's words, as the report has it."""

    def quoted(found: re.Match[str]) -> str:
        line = next((line for words, line in retold.items() if found[1] in words), None)
        return found[0] if line is None else f'"{line}"'

    message = _QUOTE.sub(quoted, _quoted_as_it_stands(finding.message, retold))
    actual = _quoted_as_it_stands(finding.actual, retold)
    actual = next((line for words, line in retold.items() if len(actual) >= 8 and actual in words), actual)
    return replace(finding, message=message, actual=actual)


_QUOTE = Pattern(r'"([^"]{8,300})"')


def _is_told(finding: Finding, facts: Facts, told: Callable[[str], bool]) -> bool:
    """Does it rest on a person's word alone: on a line that was put into a program's words, or on what it quotes of
    one?"""
    if told(finding.message) or told(finding.actual):
        return True
    for quote in _quotations(finding):
        lines = [text for text in facts.messages if len(quote) >= 8 and quote in text]
        if lines:
            return all(map(told, lines))
    return False


def _quotations(finding: Finding) -> Iterator[str]:
    yield finding.actual
    yield from (found[1] for found in _QUOTE.finditer(finding.message))


def _is_quoted(finding: Finding, facts: Facts) -> bool:
    """Does it rest on a line that somebody pasted, which tells what went wrong and not of which machine?"""
    if facts.origin.kind != "pasted":
        return False
    lines = (text[:_TELLING].rstrip(". ") for text in facts.messages)
    if any(len(text) >= 8 and (text in finding.message or text in finding.actual) for text in lines):
        return True
    parts = (part for part in _quotations(finding) if len(part) >= 8)
    return any(part.rstrip(". ") in text for part in parts for text in facts.messages)


_TELLING = 60
"""Of a long line that a finding quotes cut off, as much as shows which it is."""


def _for_board(remedy: Remedy, facts: Facts) -> Remedy:
    """On a Jetson no wheel of torch, nor of what is compiled for it, comes from the indexes of other machines; under
    ZLUDA the program alone knows which does."""
    if not any(remedies.TAKES_TORCH_WHEELS.search(command) for command in (*remedy.commands, *remedy.instead)):
        return remedy
    if needs_board_wheels(facts):
        return Remedy(text=remedies.FOR_JETSON)
    return Remedy(text=remedies.WITH_ZLUDA) if ZLUDA.stands(facts) else remedy


def _of_distribution(remedy: Remedy, finding: Finding, facts: Facts) -> Remedy:
    """What comes from a Linux distribution is mended there: pip must not change its Python."""
    if not any(command.startswith("python -m pip install") for command in remedy.commands):
        return remedy
    named = f"{finding.subject} {finding.actual} {finding.message}".lower()
    kept = ((key.partition("distribution's ")[2], tool) for key, tool in facts.remarks.items())
    tool = next((tool for name, tool in kept if name and name in named), None)
    return remedies.beside_distribution(remedy, tool) if tool else remedy


def _aim_at_environment(remedy: Remedy, facts: Facts) -> Remedy:
    """Our own commands in a remedy, aimed at the environment that was examined: pasted elsewhere they must not miss.

    A command that is empty or more than one line is left out, whoever made it; for Windows each is written as its
    shell reads it, for the interpreter that a report names. Environments are changed on Linux only.
    """
    commands, instead = (_for_this_text(some, facts) for some in (remedy.commands, remedy.instead))
    if not commands:
        commands, instead = instead, ()
    if platform_of(facts).startswith("win"):
        remedy = replace(remedy, text=remedies.on_windows(remedy.text))
    same = commands == remedy.commands and instead == remedy.instead
    return remedy if same else replace(remedy, commands=commands, instead=instead)


def _for_this_text(commands: Sequence[str], facts: Facts) -> tuple[str, ...]:
    commands = shell.in_the_new_environment(
        [
            keep_jax(keep_torch(for_this_torch(command, facts), facts), facts)
            for command in filter(shell.harmless, commands)
        ]
    )
    platform = platform_of(facts)
    if not platform.startswith("linux"):
        commands = tuple(command for command in commands if not command.startswith("envdoctor fix"))
    if platform.startswith("win"):
        python = facts.remarks.get("embedded python", "python")
        commands = tuple(filter(None, (shell.for_windows(command, python) for command in commands)))
    place = facts.origin.environment if facts.origin.kind == "probe" else None
    if place is None or not place.isprintable():
        return commands
    quoted = shell.word(place)

    def aimed(command: str) -> str:
        ours = command.startswith(("envdoctor fix", "envdoctor undo", "envdoctor check"))
        return f"{command} --env {quoted}" if ours and "--env" not in command else command

    return tuple(aimed(command) for command in commands)


def _nearness(finding: Finding) -> tuple[bool, bool, bool, int]:
    """How near to the root: a note explains no more than notes, weak evidence nothing that is certain, and what a
    person made of it all nothing that a program said."""
    return (finding.severity or 0) > Severity.NOTE, not finding.told, finding.certain, rank(finding.kind, finding.rule)


def _link_to_cause(finding: Finding, findings: Sequence[Finding]) -> Finding:
    """Point a symptom to the finding nearest to the root that says it explains it."""
    causes = [
        cause
        for cause in findings
        if cause is not finding
        and _nearness(cause) > _nearness(finding)
        and any(
            name in (finding.rule, finding.identity) or (name.endswith("/") and finding.rule.startswith(name))
            for name in cause.explains
        )
    ]
    if not causes:
        return finding
    return replace(finding, symptom_of=max(causes, key=_nearness).identity)


def _by_certainty(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Of a text, what only one reading of a line says is a warning where another finding is certain of an error.

    A text seldom tells of two faults that ended one run: what rests on weaker evidence is then an attempt that somebody
    tells of, an error that followed, or a misreading. What is usual in troubles of such a kind has no place beside it.
    """
    proven = any(found.severity is Severity.ERROR and found.certain for found in findings)
    if not proven:
        return tuple(findings)
    weaker = [
        replace(found, severity=Severity.WARNING) if found.severity is Severity.ERROR and not found.certain else found
        for found in findings
        if not found.fallback
    ]
    return tuple(sorted(weaker, key=lambda found: -(found.severity or 0)))


def _root(findings: Sequence[Finding]) -> Finding | None:
    """What to fix first: the error or warning nearest to the root that is nobody's symptom."""
    candidates = [f for f in findings if f.symptom_of is None and f.severity in (Severity.ERROR, Severity.WARNING)]
    return max(candidates, key=lambda f: (f.severity or 0, _nearness(f)), default=None)
