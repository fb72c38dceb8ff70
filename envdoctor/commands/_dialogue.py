"""What a command says while it works, and how it asks: on stderr, so that stdout holds the answer alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import click
from rich.console import Console

from envdoctor.change.proposal import Proposal
from envdoctor.commands._output import count_noun, say, stderr
from envdoctor.commands._progress import answer_interrupt, steps
from envdoctor.doctor import Repaired
from envdoctor.errors import Trouble
from envdoctor.facts.project import project_lock
from envdoctor.rules.checkup import Checkup


class TerminalDialogue:
    """A spinner with the present step on a terminal, plain lines elsewhere; asks only where one can answer."""

    def __init__(
        self,
        *,
        yes: bool = False,
        dry_run: bool = False,
        plan: str | None = None,
        checked: Callable[[Checkup, Repaired | None], None] = lambda *_: None,
    ) -> None:
        """``plan``: the name of the only plan that is agreed to. ``checked`` shows an environment before its speed is
        timed, which takes a minute."""
        self._console, self._checked = stderr(), checked
        self._yes, self._dry_run, self._plan = yes, dry_run, plan
        self._progress: AbstractContextManager[Callable[[str], None]] | None = None
        self._show: Callable[[str], None] = lambda _: None

    @contextmanager
    def shown(self) -> Iterator[TerminalDialogue]:
        """While this lasts, steps are shown."""
        self._begin()
        try:
            yield self
        finally:
            self._end()

    def step(self, text: str) -> None:
        self._show(text)

    def tell(self, text: str) -> None:
        say(self._console, text)

    def agree(self, proposal: Proposal) -> bool:
        self._end()  # nothing moves on the screen while somebody reads and types
        show_proposal(self._console, proposal)
        if self._dry_run:
            self._console.print("Nothing was changed (--dry-run).")
            return False
        if self._plan is not None and proposal.name != self._plan:
            raise Trouble(
                f"nothing was changed: the plan is now {proposal.name}, another one than was agreed to",
                where="--plan",
                remedy="Read it, and name this one: envdoctor fix --dry-run",
                exit_code=3,
            )
        if not self._yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise Trouble(
                    "nothing was changed: there is nobody to ask here",
                    remedy="Add --yes to make this change, or --dry-run to see it only.",
                    exit_code=2,
                )
            click.confirm("Make this change?", abort=True, err=True)
        self._begin()
        return True

    def checked(self, checkup: Checkup, repaired: Repaired | None) -> None:
        self._end()
        self._checked(checkup, repaired)
        self._begin()

    def stopping(self, text: str) -> AbstractContextManager[None]:
        return answer_interrupt(self.step, text)

    def _begin(self) -> None:
        self._progress = steps(self._console)
        self._show = self._progress.__enter__()

    def _end(self) -> None:
        if self._progress is not None:
            self._progress.__exit__(None, None, None)
        self._progress, self._show = None, lambda _: None


def show_proposal(console: Console, proposal: Proposal) -> None:
    """The plan as a person reads it before saying yes."""
    checkup, change, strategy, new = proposal.checkup, proposal.change, proposal.strategy, proposal.new
    plan, target = checkup.plan, checkup.target
    if target.choice is not None:
        say(console, f"target {target.name}, stack {target.choice.stack}: {target.choice.reason}", style="dim")
    if new:
        size = sum(pin.size or 0 for pin in change.wanted) / 1e9
        download = f" ({size:.1f} GB of wheels)" if size >= 0.05 else ""
        packages = count_noun(len(change.wanted), "package")
        say(console, f"Create {strategy.environment} with {packages}{download}, by exact version and hash.")
    steps = () if new else plan.install
    for step in (step for step in steps if not step.downgrade):
        say(console, f"  {step.name:<24} {step.before or 'missing':>16} → {step.after.version}")
    back = [step for step in steps if step.downgrade]
    if back:
        say(console, f"  Back to the lock, which is older (--keep-newer leaves {'it' if len(back) == 1 else 'them'}):")
    for step in back:
        say(console, f"  {step.name:<24} {step.before or 'missing':>16} → {step.after.version}")
    # A new environment gets all settings of the target, one that exists those that it lacks.
    settings, others = (plan, plan.kept) if not new else (change, ())
    for name, value in settings.flags.items():
        say(console, f"  flag {name} = {value} (startup hook)")
    for name, variable in settings.variables.items():
        say(console, f"  variable {name} {'removed' if variable is None else '= ' + variable} (startup hook)")
    if others:
        kept = count_noun(len(others), "package")
        verb = "removed (--exact)" if change.strict else "kept (--exact removes what is not locked)"
        say(console, f"  {kept} outside the lock: {verb}", style="dim")
        if change.strict:
            say(console, f"    {', '.join(others)}", style="dim")
    lock = project_lock(strategy.environment)
    said = lock.taken_back((pin.name, pin.version) for pin in change.wanted) if lock else ""
    if said:
        say(console, f"  ! {said}", style="yellow")
    if strategy.kind != "create":
        say(console, f"  how: {strategy.kind}: {strategy.reason}", style="dim")
