"""The report a person reads: root cause first, one block per rule, and the command to type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from envdoctor import __version__
from envdoctor.examination import Examination
from envdoctor.facts import Interpreter, Torch, Unavailable
from envdoctor.rule import Finding, Rule, Severity
from envdoctor.scrub import printable

MARKS = {Severity.ERROR: ("✗", "bold red"), Severity.WARNING: ("!", "bold yellow"), Severity.NOTE: ("·", "dim")}
WHO = {"you": "", "image": "who builds the image can mend this", "host": "only who rents out the machine can mend this"}
SHOWN = 12  # subjects of one rule before the rest is counted; --verbose shows all


def render(examination: Examination, console: Console, rules: Sequence[Rule], *, verbose: bool = False) -> None:
    """Print an examination; notes and skipped rules in full only when ``verbose``."""
    console.print(_heading(examination))
    console.print()
    titles = {rule.name: rule.title for rule in rules}
    diagnosis = examination.diagnosis
    root = diagnosis.root_cause
    if root is not None and any(found.symptom_of for found in diagnosis.findings):
        line = Text.assemble(("Root cause: ", "bold"), f"{printable(root.message)} ", (f"({root.rule})", "dim"))
        console.print(line)
        console.print()
    shown = [f for f in diagnosis.findings if verbose or f.severity is not Severity.NOTE]
    for name, group in groupby(shown, key=lambda found: found.rule):
        _block(list(group), titles.get(name, name), console, verbose=verbose)
    for crashed in diagnosis.crashed:
        console.print(Text(f"? {crashed.rule} failed to judge: {printable(crashed.error)}", "magenta"))
    if verbose:
        for skipped in diagnosis.skipped:
            console.print(Text(f"- {skipped.rule}: not judged: {printable(skipped.reason)}", "dim"))
    console.print(_ending(examination, verbose=verbose))


def _heading(examination: Examination) -> Text:
    facts, target = examination.facts, examination.target
    parts = [f"envdoctor {__version__}"]
    if facts.origin.environment:
        parts.append(facts.origin.environment)
    if isinstance(facts.interpreter, Interpreter):
        parts.append(f"Python {facts.interpreter.version}")
    match facts.torch:
        case Torch(version=version):
            parts.append(f"torch {version}")
        case Unavailable(why="not-asked"):
            parts.append("torch not asked")
        case Unavailable(reason=reason):
            parts.append(f"torch: {reason.splitlines()[0] if reason else 'unavailable'}")
    choice = target.choice
    stack = f"stack {choice.stack} ({choice.reason})" if choice else f"no stack ({target.no_choice or 'none chosen'})"
    speed = {"none": "no baseline for this stack", "measured": "measured baseline"}
    evidence = speed.get(target.evidence(), f"{target.evidence()} baseline only")
    second = f"target {target.name} ({examination.target_reason}), {stack}, {evidence}"
    return Text(printable(" · ".join(parts)) + "\n", "bold") + Text(printable(second), "dim not bold")


def _block(group: list[Finding], title: str, console: Console, *, verbose: bool) -> None:
    first = group[0]
    mark, style = MARKS[first.severity or Severity.NOTE]
    console.print(Text.assemble((f"{mark} {title}", style), (f"  {first.rule}", "dim")))
    shown = group if verbose else group[:SHOWN]
    width = min(max(len(found.subject) for found in shown), 32)
    messages = {found.message for found in group}
    for found in shown:
        body = Text(printable(found.subject).ljust(width) + "  ")
        if found.actual or found.expected:
            body.append(printable(found.actual or "-"), "red")
            if found.expected:
                body.append(" → ", "dim").append(printable(found.expected), "green")
        console.print(_indented(body, 4))
        if found is shown[0] if len(messages) == 1 else _says_more(found):
            console.print(_indented(Text(printable(found.message)), 6))
    if len(group) > len(shown):
        console.print(_indented(Text(f"... and {len(group) - len(shown)} more (--verbose)", "dim"), 4))
    if any(found.symptom_of for found in group):
        causes = sorted({found.symptom_of.split()[0] for found in group if found.symptom_of})
        console.print(_indented(Text(f"follows from {', '.join(causes)}: mend that first", "dim"), 4))
    else:
        for line in _remedies(group):
            console.print(_indented(line, 4))
    console.print()


def _indented(text: Text, columns: int) -> Padding:
    return Padding(text, (0, 0, 0, columns), expand=False)


def _says_more(found: Finding) -> bool:
    """Does the message say more than "is ACTUAL, should be EXPECTED"? In a long list that line says it already."""
    return not (found.actual and found.expected and found.actual in found.message and found.expected in found.message)


def _remedies(group: Sequence[Finding]) -> Iterator[Text]:
    """What to do about a group: its sentences (one each, unless a command does it all), and each command once."""
    texts = list(dict.fromkeys(found.remedy.text for found in group if found.remedy.text))
    commands = list(dict.fromkeys(command for found in group for command in found.remedy.commands))
    if len(texts) == 1 or not commands:
        yield from (Text(printable(text)) for text in texts[:SHOWN])
    for who in dict.fromkeys(found.who for found in group):
        if WHO[who]:
            yield Text(f"({WHO[who]})", "dim")
    if commands:
        yield Text("You can fix this by running:", "dim")
        yield from (Text(f"  {printable(command)}", "bold cyan") for command in commands[:SHOWN])


def _ending(examination: Examination, *, verbose: bool) -> Text:
    diagnosis = examination.diagnosis
    counts = [(word, sum(f.severity is severity for f in diagnosis.findings)) for severity, word in _WORDS.items()]
    parts = [f"{n} {word}{'s' if n != 1 else ''}" for word, n in counts if n]
    if diagnosis.outcome == "healthy":
        text = Text(f"✓ Healthy: {diagnosis.judged} rules judged, nothing slows this environment down", "bold green")
    elif diagnosis.outcome == "unknown":
        return Text("? Not known: rules failed to judge, so this is no clean bill of health", "bold magenta")
    else:
        text = Text(f"✗ Found {', '.join(parts)}", "bold red")
    notes = counts[-1][1]
    hidden = []
    if notes and not verbose:
        hidden.append(f"{notes} note{'s' if notes != 1 else ''}")
    if diagnosis.skipped and not verbose:
        many = len(diagnosis.skipped)
        hidden.append(f"{many} rule{'s' if many != 1 else ''} not judged")
    tail = f"; {', '.join(hidden)} (--verbose)" if hidden else ""
    return text + Text(f"{tail} · {examination.seconds:.1f} s", "dim not bold")


_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
