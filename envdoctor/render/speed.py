"""The verdict a person reads: the word with its interval, the reason, the speed, and where the time goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from envdoctor.facts.scrub import printable
from envdoctor.render.page import laid_out, line
from envdoctor.speed import breakdown
from envdoctor.speed.ablation.suspects import SuspectAblation
from envdoctor.speed.ablation.suspects import as_json as why_as_json
from envdoctor.speed.measured_run.advice import MeasuredRun
from envdoctor.speed.outcome import Verdict, as_json
from envdoctor.speed.report import idle_share

STYLES = {
    "as-expected": ("✓", "bold green"),
    "faster": ("✓", "bold green"),
    "slower": ("✗", "bold red"),
    "unstable": ("?", "bold yellow"),
    "not-comparable": ("?", "bold yellow"),
}
BAR = 40  # characters of the widest breakdown bar


def document(verdict: Verdict, ablation: SuspectAblation | None = None) -> dict[str, Any]:
    """``verify --format json``; with what ``--why`` tried, where it did."""
    found = as_json(verdict)
    return found if ablation is None else found | {"why": why_as_json(ablation)}


def render(
    verdict: Verdict, console: Console, ablation: SuspectAblation | None = None, *, verbose: bool = False
) -> None:
    """Print a verdict: one sentence, what to do, the speed; with ``verbose`` every figure, reason and condition."""
    mark, style = STYLES[verdict.word]
    console.print(Text(f"{mark} {printable(verdict.sentence)}", style))
    if verdict.next_step:
        _advise(verdict.next_step, console)
    if verbose:
        _render_reasons(verdict, console)
    if verdict.steps_per_second is not None:
        console.print(Text.assemble(("    speed: ", "dim"), _speed(verdict)))
    if verdict.cost is not None:
        console.print(Text(f"    your run: {verdict.cost.sentence}{_after(verdict)}"))
    if verbose:
        render_breakdown(verdict, console)
        console.print(Text(f"    {_conditions(verdict)}", "dim"))
    if ablation is not None:
        _render_why(ablation, console)


def _advise(text: str, console: Console) -> None:
    """A sentence that may hold a command, which no line break gets into."""
    console.print(Text(laid_out([line(printable(text), indent=4)], width=console.width).rstrip("\n")), soft_wrap=True)


def render_gain(gain: Verdict, console: Console) -> None:
    """What a repair has made of the speed, in a line; the way back where it has made it slower."""
    mark, style = STYLES[gain.word]
    console.print(Text(f"{mark} {printable(gain.sentence)}", style))
    if gain.word == "slower":
        console.print(Text("    Back to the state before: envdoctor undo"))


def _render_reasons(verdict: Verdict, console: Console) -> None:
    if verdict.figures:
        console.print(Text(f"    {verdict.figures}"))
    for reason in verdict.reasons:
        console.print(Text(f"    {printable(reason)}"))
    if verdict.cause is not None:
        console.print(Text(f"    cause: {verdict.cause}", "bold"))


def render_breakdown(verdict: Verdict, console: Console, *, conclude: bool = True) -> None:
    """Where a step's time goes, part by part, and how much of it the GPU ran nothing; ``conclude``: what that means."""
    spent = verdict.breakdown
    if spent.known:
        shares = {name: share for name, share in spent.shares.items() if share >= 0.005}
        console.print(Text("    where a step's time goes:", "dim"))
        for name, share in shares.items():
            console.print(Text(f"      {name:<11}{share:6.1%}  {'━' * max(round(share * BAR), 1)}"))
        if conclude:
            console.print(Text(f"      {printable(breakdown.diagnose(spent))}", "dim"))
    idle = idle_share(verdict.reports)
    if idle is not None:
        console.print(Text(f"    the GPU ran nothing in {idle:.0%} of the time (kernels of a profiled window)"))


def render_measured(run: MeasuredRun, console: Console, *, remarks: Sequence[str] = ()) -> None:
    """A measured run of the user's own: the cure first, then the lines to write, then what they rest on.

    ``remarks``: about its processes and what it ran with.
    """
    verdict = run.verdict
    mark, style = ("▸", "bold yellow") if run.advice and verdict.comparison is None else STYLES[verdict.word]
    if verdict.comparison is None and not run.advice:
        mark, style = ("✓", "bold green") if run.healthy else ("?", "bold yellow")
    console.print(Text(f"{mark} {printable(verdict.sentence)}", style))
    for number, one in enumerate(run.advice):
        if number or verdict.comparison is not None:  # else it is the headline
            console.print(Padding(Text(f"▸ {printable(one.text)}"), (0, 0, 0, 2)))
        console.print(Text(f"    saves at most {one.saves:.0%} of the time", "dim"))
        for typed in one.lines:  # never broken: it is there to be copied
            console.print(Text(f"      {typed}", "bold cyan"), soft_wrap=True)
    for reason in run.remarks:
        console.print(Text(f"    {printable(reason)}"))
    if verdict.steps_per_second is not None:
        console.print(Text.assemble(("    speed: ", "dim"), _speed(verdict)))
    if verdict.cost is not None:
        console.print(Text(f"    your run: {verdict.cost.sentence}{_after(verdict)}"))
    render_breakdown(verdict, console, conclude=False)  # the headline says it, or that it is too early to say
    console.print(Text(f"    {_conditions(verdict)}", "dim"))
    for text in remarks:
        indent = len(text) - len(text.lstrip())
        console.print(Padding(Text(printable(text.strip()), "dim"), (0, 0, 0, 4 + indent)))


def _render_why(ablation: SuspectAblation, console: Console) -> None:
    """What was tried, one suspect a line, and what it showed."""
    console.print(Text("    why? Each suspect taken away, interleaved with runs as they are:", "bold"))
    for suspect, row in ablation.rows:
        style = "bold green" if suspect is ablation.suspect else ""
        if row.ratio is None or row.interval is None:
            said = f"failed: {row.remark}"
        else:
            said = f"{row.ratio:.2f}x [{row.interval[0]:.2f}, {row.interval[1]:.2f}] {row.word}"
        console.print(Text(f"      {said:<34} {printable(row.variant.name)}  ({printable(suspect.what)})", style))
    for text in ablation.untried:
        console.print(Text(f"      not tried: {printable(text)}", "dim"))
    console.print(Text(f"    {printable(ablation.sentence)}", "bold"))
    if ablation.suspect is not None:
        _advise(ablation.suspect.remedy, console)


def _speed(verdict: Verdict) -> str:
    parts = [f"{verdict.steps_per_second:.3g} it/s"]
    tokens = verdict.tokens_per_second
    if tokens.get("real"):
        trained = tokens.get("trained")  # a script's labels are not always among what its loader gives
        parts.append(f"{tokens['real']:,.0f} real tokens/s" + (f" ({trained:,.0f} trained)" if trained else ""))
    line = verdict.roofline
    if line is not None and line.mfu is not None:
        parts.append(f"MFU {line.mfu:.0%}")
    if line is not None and line.of_achievable is not None:
        parts.append(f"{line.of_achievable:.0%} of the achievable FLOP/s")
    return ", ".join(parts)


def _conditions(verdict: Verdict) -> str:
    if not verdict.reports:
        return "nothing was timed"
    first = verdict.reports[0]
    windows = sum(len(report.windows) for report in verdict.reports)
    seconds = sum(window.seconds for report in verdict.reports for window in report.windows)
    many = len(verdict.reports)
    timed = f"{windows} window{'s' if windows != 1 else ''} in {seconds:.2g} s"
    about = f"{verdict.workload}, {many} process{'es' if many > 1 else ''}, {timed}"
    return printable(f"{about}, {first.precision}, {first.device.name}; baseline: {verdict.evidence}")


def _after(verdict: Verdict) -> str:
    return "" if verdict.fixed is None else f"; mended: {verdict.fixed.sentence}"
