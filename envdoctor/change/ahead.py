"""A change that begins before the examination has ended: for who said yes beforehand, to whatever the plan will be.

Which packages have to be installed is read from files, in a tenth of the time that torch's import takes. They are put
into a clone that nobody uses; by then torch has told the rest. Where that asks for other packages, what was begun is
cleared away. For a target that sets nothing within torch, torch is asked once, in the clone: what it told of the state
before would change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from envdoctor.change.apply import Outdated
from envdoctor.change.examination import Examination
from envdoctor.change.proposal import ChangeOptions, Proposal, change_for, propose, require_comparison
from envdoctor.change.repair import Examine, not_healthier
from envdoctor.change.values import Change, Strategy
from envdoctor.facts.environment import Environment
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

    def __init__(
        self, examination: Examination, early: Proposal, how: ChangeOptions, *, agree: Callable[[Proposal], bool]
    ) -> None:
        self.settled: Proposal | None = None
        self._examination, self._early, self._how, self._agree = examination, early, how, agree
        self._checkup: Checkup | None = None
        self._torch = bool(early.checkup.target.flags)
        if not self._torch:
            examination.without_torch()

    def enough(self, examine: Examine) -> Examine:
        """``examine`` for the clone. It raises `Outdated` where torch was not asked before and tells there that more
        is to be done, or something is wrong that torch may have told of before, too."""

        def look(environment: Environment, *, compiling: bool) -> Checkup:
            after = examine(environment, compiling=compiling)
            if not self._torch and self._is_more(after):
                raise Outdated
            return after

        return look

    def _is_more(self, after: Checkup) -> bool:
        unseen = any(one.section == "torch" for one in after.diagnosis.unseen)
        worse = not_healthier(self._early.checkup.diagnosis, after.diagnosis)
        return unseen or worse is not None or not self._how.applied_to(after).plan.empty

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

    def still(self) -> bool:
        """After a failure: whether what was begun is what would be done, so that it would fail again.

        Shows it then, and raises the `Trouble` of a plan that would be refused.
        """
        if not self._same(self._early.change):
            return False
        require_comparison(self._early.environment, self.checkup)
        return self._agree(propose(self._early.environment, self.checkup, self._how))

    @property
    def checkup(self) -> Checkup:
        """Of the environment as it was found. Waits for torch where that decides about anything."""
        if self._checkup is None:
            found = self._examination.checkup() if self._torch else self._early.checkup
            self._checkup = self._how.applied_to(found)
        return self._checkup

    def _same(self, begun: Change) -> bool:
        """Flags and variables may differ: the hook is written last."""
        return replace(self._change(), flags=begun.flags, variables=begun.variables) == begun

    def _change(self) -> Change:
        return change_for(self._examination.environment, self.checkup, self._how)
