"""The verdict a person reads: the word with its interval, the reason, the speed, and where the time goes."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from envdoctor.scrub import printable
from envdoctor.speed import breakdown
from envdoctor.speed.cost import Cost, duration
from envdoctor.speed.outcome import Verdict, as_json, idle_share
from envdoctor.speed.why import Inquiry
from envdoctor.speed.why import as_json as why_as_json

STYLES = {
    "as-expected": ("✓", "bold green"),
    "faster": ("✓", "bold green"),
    "slower": ("✗", "bold red"),
    "unstable": ("?", "bold yellow"),
    "not-comparable": ("?", "bold yellow"),
}
BAR = 40  # characters of the widest breakdown bar


def document(verdict: Verdict, inquiry: Inquiry | None = None) -> dict[str, Any]:
    """``verify --format json``; with what ``--why`` tried, where it did."""
    found = as_json(verdict)
    return found if inquiry is None else found | {"why": why_as_json(inquiry)}


def render(verdict: Verdict, console: Console, inquiry: Inquiry | None = None) -> None:
    """Print a verdict. Never a word without its interval, never a number without its condition."""
    mark, style = STYLES[verdict.word]
    console.print(Text(f"{mark} {printable(verdict.sentence)}", style))
    for reason in verdict.reasons if verdict.comparison else verdict.reasons[1:]:
        console.print(Text(f"    {printable(reason)}"))
    if verdict.cause is not None:
        console.print(Text(f"    cause: {verdict.cause}", "bold"))
    if verdict.steps_per_second is not None:
        console.print(Text.assemble(("    speed: ", "dim"), _speed(verdict)))
    spent = verdict.breakdown
    if spent.known:
        shares = {name: share for name, share in spent.shares.items() if share >= 0.005}
        console.print(Text("    where a step's time goes:", "dim"))
        for name, share in shares.items():
            console.print(Text(f"      {name:<11}{share:6.1%}  {'━' * max(round(share * BAR), 1)}"))
        console.print(Text(f"      {printable(breakdown.diagnose(spent))}", "dim"))
    idle = idle_share(verdict.reports)
    if idle is not None:
        console.print(Text(f"    the GPU ran nothing in {idle:.0%} of the time (kernels of a profiled window)"))
    if verdict.cost is not None:
        console.print(Text(f"    your run: {_cost(verdict.cost)}{_after(verdict)}"))
    console.print(Text(f"    {_conditions(verdict)}", "dim"))
    if inquiry is not None:
        _render_why(inquiry, console)


def _render_why(inquiry: Inquiry, console: Console) -> None:
    """What was tried, one suspect a line, and what it showed."""
    console.print(Text("    why? Each suspect taken away, interleaved with runs as they are:", "bold"))
    for suspect, row in inquiry.rows:
        style = "bold green" if suspect is inquiry.suspect else ""
        if row.ratio is None or row.interval is None:
            said = f"failed: {row.remark}"
        else:
            said = f"{row.ratio:.2f}x [{row.interval[0]:.2f}, {row.interval[1]:.2f}] {row.word}"
        console.print(Text(f"      {said:<34} {printable(row.variant.name)}  ({printable(suspect.what)})", style))
    for text in inquiry.untried:
        console.print(Text(f"      not tried: {printable(text)}", "dim"))
    console.print(Text(f"    {printable(inquiry.sentence)}", "bold"))
    if inquiry.suspect is not None:
        console.print(Text(f"    {printable(inquiry.suspect.remedy)}"))


def _speed(verdict: Verdict) -> str:
    parts = [f"{verdict.steps_per_second:.3g} it/s"]
    tokens = verdict.tokens_per_second
    if tokens.get("real"):
        parts.append(f"{tokens['real']:,.0f} real tokens/s ({tokens.get('trained', 0):,.0f} trained)")
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
    about = f"{verdict.workload}, {many} process{'es' if many > 1 else ''}, {windows} windows in {seconds:.0f} s"
    return printable(f"{about}, {first.precision}, {first.device.name}; baseline: {verdict.evidence}")


def _cost(cost: Cost) -> str:
    return duration(cost.seconds) + ("" if cost.money is None else f", {cost.money:.2f} at your price")


def _after(verdict: Verdict) -> str:
    return "" if verdict.fixed is None else f"; mended: {_cost(verdict.fixed)}"
