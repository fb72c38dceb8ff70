"""The report a person reads: root cause first, one block per rule, and the command to type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from envdoctor import __version__
from envdoctor.facts.model import Interpreter, Torch, Unavailable
from envdoctor.facts.scrub import printable
from envdoctor.render import steps
from envdoctor.render.page import Line, command, line
from envdoctor.rules.checkup import Checkup
from envdoctor.rules.diagnose import Diagnosis
from envdoctor.rules.finding import USUALLY, Finding, Severity

MARKS = {Severity.ERROR: ("✗", "bold red"), Severity.WARNING: ("!", "bold yellow"), Severity.NOTE: ("·", "dim")}
WHO = {
    "you": "",
    "image": "who builds the image can mend this",
    "host": "only who administers the machine can mend this",
}
SHOWN = 12  # subjects of one rule before the rest is counted; --verbose shows all
FEW = 4  # sentences of one rule that are all read
LINE = 40  # characters of what was found: longer ones are lines of a report, and are printed once


def text(checkup: Checkup, *, verbose: bool = False) -> Iterator[Line]:
    """The lines of the report; notes and skipped rules in full only when ``verbose``."""
    yield from _heading(checkup)
    yield Line()
    titles = {rule.name: rule.title for rule in checkup.rules}
    diagnosis = checkup.diagnosis
    root = diagnosis.root_cause
    if root is not None and any(found.symptom_of for found in diagnosis.findings):
        yield Line((("Root cause: ", "bold"), (f"{printable(root.message)} ", ""), (f"({root.rule})", "dim")))
        yield Line()
    shown = [f for f in diagnosis.findings if verbose or f.severity is not Severity.NOTE]
    reported = checkup.facts.origin.kind == "pasted"
    for (name, own, _), several in groupby(shown, key=lambda found: (found.rule, found.title, found.severity)):
        group = list(several)
        title = own or _title(name, titles.get(name, name), likely=any(found.likely for found in group))
        yield from _block(group, title, verbose=verbose, reported=reported)
    for crashed in diagnosis.crashed:
        yield line(f"? {crashed.rule} failed to judge: {printable(crashed.error)}", "magenta")
    for missing in diagnosis.unseen:
        yield line(f"? {printable(missing.section)} not {missing.word}: {printable(missing.reason)}", "magenta")
    if diagnosis.unexplained is not None:
        yield line(f"? {printable(diagnosis.unexplained.sentence)}", "bold magenta")
        yield Line()
    if verbose:
        for skipped in diagnosis.skipped:
            yield line(f"- {skipped.rule}: not judged: {printable(skipped.reason)}", "dim")
    yield _ending(checkup, verbose=verbose)


_TELLS_WHAT_IS_READ = frozenset(
    "packages/known-errors packages/known-symptoms packages/import-mismatch packages/asked-for packages/conda-lacks "
    "packages/changed-calls packages/checkpoint-keys packages/matrix-widths packages/no-such-release "
    "packages/reported-conflicts host/complained-of host/slow-run torch/cuda-error".split()
)
"""Rules whose title says no more than what a text says itself."""


def _title(rule: str, title: str, *, likely: bool) -> str:
    """A rule's title; of a cause that is but likely it is no more than that either."""
    return f"Most likely: {title}" if likely and rule not in _TELLS_WHAT_IS_READ else title


def _heading(checkup: Checkup) -> Iterator[Line]:
    facts = checkup.facts
    parts = [f"envdoctor {__version__}"]
    if facts.origin.environment:
        parts.append(facts.origin.environment)
    if isinstance(facts.interpreter, Interpreter):
        parts.append(f"Python {facts.interpreter.version}")
    match facts.torch:
        case Unavailable() if facts.origin.kind == "image":
            pass
        case Torch(version=version):
            parts.append(f"torch {version}")
        case Unavailable(why="not-asked"):
            parts.append("torch not asked")
        case Unavailable(reason=reason):
            said = reason.splitlines()[0] if reason else "unavailable"
            parts.append(said if said.startswith("torch ") else f"torch: {said}")
    yield line(printable(" · ".join(parts)), "bold")
    yield line(printable(_held_against(checkup)), "dim")


def _held_against(checkup: Checkup) -> str:
    """The target, its stack and what is known of its speed; of a report that nobody named a target for, that alone."""
    target = checkup.target
    choice = target.choice
    if choice is None and target.name == "none":
        return f"no target: {checkup.target_reason}"
    stack = f"stack {choice.stack} ({choice.reason})" if choice else f"no stack ({target.no_choice or 'none chosen'})"
    none = "no baseline for this stack"
    if choice and choice.resolved:
        none = f"current, resolved together on {choice.resolved}; its speed was not measured"
    speed = {"none": none, "measured": "known-fast: measured baseline"}
    evidence = speed.get(target.evidence(), f"{target.evidence()} baseline only")
    return f"target {target.name} ({checkup.target_reason}), {stack}, {evidence}"


def _block(group: list[Finding], title: str, *, verbose: bool, reported: bool) -> Iterator[Line]:
    first = group[0]
    mark, style = MARKS[first.severity or Severity.NOTE]
    yield Line(((f"{mark} {title}", style), (f"  {first.rule}", "dim")))
    shown = group if verbose else group[:SHOWN]
    width = min(max(len(found.subject) for found in shown), 32)
    messages = {found.message for found in group}
    for found in shown:
        body = [(printable(found.subject).ljust(width) + "  ", "")]
        speaks = not found.rows and (found is shown[0] if len(messages) == 1 else _says_more(found))
        if (found.actual or found.expected) and not (speaks and _is_quoted(found)):
            body.append((printable(found.actual or "-"), "red"))
        if found.expected:
            body += [(" → usually " if found.likely else " → ", "dim"), (printable(found.expected), "green")]
        yield Line(tuple(body), 4)
        if found.rows:
            yield from _rows(found, verbose=verbose)
        elif speaks:
            certain, usually, likely = found.message.partition(USUALLY)
            yield line(printable(certain), indent=6)
            if usually:
                yield line(f"Usually {printable(likely)}", indent=6)
    if len(group) > len(shown):
        yield line(f"... and {len(group) - len(shown)} more (--verbose)", "dim", 4)
    if any(found.symptom_of for found in group):
        causes = ", ".join(sorted({found.symptom_of.split()[0] for found in group if found.symptom_of}))
        quoted = any(found.quoted for found in group)
        told = (
            f"usually follows from {causes}: look there first" if quoted else f"follows from {causes}: mend that first"
        )
        yield line(told, "dim", 4)
    else:
        yield from _remedies(group, reported=reported)
    yield Line()


def _rows(found: Finding, *, verbose: bool) -> Iterator[Line]:
    """The table of a finding about many things."""
    shown = found.rows if verbose else found.rows[:SHOWN]
    width = min(max(len(row.subject) for row in shown), 32)
    for row in shown:
        name = printable(row.subject).ljust(width) + "  "
        yield Line(((name, ""), (printable(row.actual), "red"), (" → ", "dim"), (printable(row.expected), "green")), 6)
    if len(found.rows) > len(shown):
        yield line(f"... and {len(found.rows) - len(shown)} more (--verbose)", "dim", 6)


def _says_more(found: Finding) -> bool:
    """Does the message say more than "is ACTUAL, should be EXPECTED"? In a long list that line says it already."""
    return not (found.actual and found.expected and found.actual in found.message and found.expected in found.message)


def _is_quoted(found: Finding) -> bool:
    """Is what was found a line of the report, which the message below it quotes?"""
    return len(found.actual) > LINE and found.actual in found.message


def _remedies(group: Sequence[Finding], *, reported: bool) -> Iterator[Line]:
    """What to do about a group: the sentences that no command does (all of them, where they are few and somebody else's
    error is told of: a command may only look; else the first), and each command once."""
    few = FEW if reported else 1
    texts = list(dict.fromkeys(found.remedy.text for found in group if found.remedy.text))
    if len(texts) > few:
        alone = {found.remedy.text for found in group if not found.remedy.commands}
        texts = [text for text in texts if text in alone] or (texts[:1] if reported else [])
    unsure = {found.remedy.text for found in group if found.likely}
    said = (f"{steps.USUAL} {text}" if text in unsure else text for text in texts[:SHOWN])
    yield from (line(printable(text), indent=4) for text in said)
    for who, likely in dict.fromkeys((found.who, found.likely) for found in group):
        if WHO[who]:
            yield line(f"({'usually ' if likely else ''}{WHO[who]})", "dim", 4)
    ways = ((found.remedy.commands, found.remedy.instead) for found in group)
    heading = steps.heading(
        yours=any(found.who == "you" for found in group),
        likely=any(found.likely for found in group),
        told=reported,
    )
    for block in steps.blocks(ways, heading, most=SHOWN):
        yield line(block.heading, "dim", 4)
        yield from (command(f"  {printable(one)}", "bold cyan", 4) for one in block.commands)


def _ending(checkup: Checkup, *, verbose: bool) -> Line:
    diagnosis = checkup.diagnosis
    counts = [(word, sum(f.severity is severity for f in diagnosis.findings)) for severity, word in _WORDS.items()]
    told = counts if verbose or not any(n for _, n in counts[:-1]) else counts[:-1]
    parts = [f"{n} {word}{'s' if n != 1 else ''}" for word, n in told if n]
    if diagnosis.outcome == "healthy":
        elsewhere = any(found.rule == "driver/nothing-found" for found in diagnosis.findings)
        far = ", as far as can be told without the GPU" if elsewhere else ""
        what = "this image" if checkup.facts.origin.kind == "image" else "this environment"
        said = (f"✓ Healthy{far}: {diagnosis.judged} rules judged, nothing slows {what} down", "bold green")
    elif diagnosis.outcome == "unexplained":
        beside = f"; beside it: {', '.join(parts)}" if parts else ""
        said = (f"? Not explained{beside}", "bold magenta")
    elif diagnosis.outcome == "unknown":
        return line(f"? Not known: {_doubt(diagnosis)}, so this is no clean bill of health", "bold magenta")
    else:
        said = (f"✗ Found {', '.join(parts)}", "bold red")
    notes = counts[-1][1]
    hidden = []
    if notes and not verbose:
        hidden.append(f"{notes} note{'s' if notes != 1 else ''}")
    if diagnosis.skipped and not verbose:
        many = len(diagnosis.skipped)
        hidden.append(f"{many} rule{'s' if many != 1 else ''} not judged")
    tail = f"; {', '.join(hidden)} (--verbose)" if hidden else ""
    return Line((said, (f"{tail} · {checkup.seconds:.1f} s", "dim")))


def _doubt(diagnosis: Diagnosis) -> str:
    """Why there is no answer."""
    if diagnosis.unseen:
        words = dict.fromkeys(missing.word for missing in diagnosis.unseen)
        groups = [(word, [one.section for one in diagnosis.unseen if one.word == word]) for word in words]
        return ", ".join(f"{printable(' and '.join(names))} could not be {word}" for word, names in groups)
    return "rules failed to judge" if diagnosis.crashed else "no rule could judge"


_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
