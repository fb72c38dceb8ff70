"""A change that begins before the examination has ended: for who said yes beforehand, to whatever the plan will be.

Which packages have to be installed is read from files, in a tenth of the time that torch's import takes. They are put
into a clone that nobody uses; by then torch has told the rest. Where that asks for other packages, what was begun is
cleared away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from envdoctor.change.apply import Outdated
from envdoctor.change.examination import Examination
from envdoctor.change.proposal import ChangeOptions, Proposal, change_for, propose, require_comparison
from envdoctor.change.values import Change, Strategy
from envdoctor.rules.checkup import Checkup


def begin(examination: Examination, how: ChangeOptions) -> Proposal | None:
    """What is known to be needed without torch; None where that is nothing, or not seen well enough to begin with."""
    checkup = how.applied_to(examination.early())
    change = change_for(examination.environment, checkup, how)
    if any(one.blind for one in checkup.diagnosis.unseen) or checkup.target.choice is None or not change.install:
        return None
    strategy = Strategy(kind="exchange", reason="", environment=change.environment)
    return Proposal(environment=examination.environment, checkup=checkup, change=change, strategy=strategy)


class AgreedPlan:
    """What is agreed to once the examination has ended."""

    def __init__(self, examination: Examination, how: ChangeOptions, *, agree: Callable[[Proposal], bool]) -> None:
        self.settled: Proposal | None = None
        self._examination, self._how, self._agree = examination, how, agree
        self._checkup: Checkup | None = None

    def settle(self, begun: Change, strategy: Strategy) -> Proposal:
        """The proposal that was begun, as it is with torch's facts. Raises `Outdated` where it is another one now."""
        if not self._same(begun):
            raise Outdated
        require_comparison(self._examination.environment, self.checkup)
        proposal = Proposal(
            environment=self._examination.environment, checkup=self.checkup, change=self._change(), strategy=strategy
        )
        if not self._agree(proposal):
            raise Outdated
        self.settled = proposal
        return proposal

    def still(self, early: Proposal) -> bool:
        """After a failure: whether what was begun is what would be done, so that it would fail again.

        Shows it then, and raises the `Trouble` of a plan that would be refused.
        """
        if not self._same(early.change):
            return False
        require_comparison(early.environment, self.checkup)
        return self._agree(propose(early.environment, self.checkup, self._how))

    @property
    def checkup(self) -> Checkup:
        """Of the environment as it was found. Waits for torch."""
        if self._checkup is None:
            self._checkup = self._how.applied_to(self._examination.checkup())
        return self._checkup

    def _same(self, begun: Change) -> bool:
        """Flags and variables may differ: the hook is written last."""
        return replace(self._change(), flags=begun.flags, variables=begun.variables) == begun

    def _change(self) -> Change:
        return change_for(self._examination.environment, self.checkup, self._how)
