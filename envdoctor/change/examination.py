"""An examination in parts: its probes run beside whatever is done meanwhile, and what is read from files is known long
before torch has been imported.

Every check begins here, so little is imported before the probes run.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.facts import collect
from envdoctor.facts.environment import Environment

if TYPE_CHECKING:
    from envdoctor.facts.model import Facts
    from envdoctor.locks.target import Target
    from envdoctor.rules.checkup import Case, CheckOptions, Checkup
    from envdoctor.rules.rule import Rule


class Examination:
    """Probes of an environment on their way; leaving the ``with`` block before `checkup` ends them."""

    def __init__(
        self, environment: Environment, options: CheckOptions, *, flags_table: Path | None, compiling: bool = False
    ) -> None:
        """``flags_table`` reads torch's switches; ``compiling``: the environment is new, torch's bytecode may stay."""
        self.environment, self.options = environment, options
        self._started = time.monotonic()
        self._early: Checkup | None = None
        self._whole: Checkup | None = None
        self._begin = functools.partial(
            collect.begin,
            environment,
            torch=options.torch,
            deep=options.deep,
            flags_table=flags_table,
            scripts=options.scripts,
            torch_deadline=options.torch_deadline,
            compiling=compiling,
        )
        self._collection: collect.Collection | None = self._begin()

    def __enter__(self) -> Examination:
        return self

    def __exit__(self, *_: object) -> None:
        self._abandon()

    def early(self) -> Checkup:
        """What is found without torch, which may still be on its way."""
        if self._early is None:
            self._early = self._judge(replace(self.options, torch=False), self._probes.quick)
        return self._early

    def without_torch(self) -> None:
        """End torch's import, which nothing hangs on; who asks for it all the same begins anew."""
        self.early()
        self._abandon()

    def checkup(self) -> Checkup:
        """What is found in all. Waits for the slowest probe, once."""
        if self._whole is None:
            if self.options.torch:
                self._warm_up()
            self._whole = self._judge(self.options, self._probes.finish)
        return self._whole

    @property
    def _probes(self) -> collect.Collection:
        """On their way; begun anew where they have been ended."""
        if self._collection is None:
            self._collection = self._begin()
        return self._collection

    def _abandon(self) -> None:
        if self._collection is not None:
            self._collection.abandon()
        self._collection = None

    def _warm_up(self) -> None:
        """Judge what is known without torch, while it is waited for in any case: whatever tables, locks and modules
        judging takes have been read then, and what comes after torch is short."""
        with contextlib.suppress(Exception):  # which the judgement itself meets again, if it is one
            self.early()

    @functools.cached_property
    def _asked(self) -> tuple[tuple[Rule, ...], Mapping[str, Target]]:
        """The rules and the targets there are. Raises `Trouble` for a name that none has: before anybody waits."""
        from envdoctor.locks import library
        from envdoctor.rules.selection import select_rules

        return select_rules(self.options), library.targets_with(self.options.target)

    def _judge(self, options: CheckOptions, facts: Callable[[], Facts]) -> Checkup:
        rules, targets = self._asked
        found = _with_history(facts(), self.environment)
        return checkup_of(case(found, options, targets), rules, self._started)


def case(facts: Facts, options: CheckOptions, targets: Mapping[str, Target] | None = None) -> Case:
    """Facts and the target that they are held against. Raises `Trouble` for a target or stack that is not there."""
    from envdoctor.knowledge.interpreter import interpreter_of
    from envdoctor.locks import library
    from envdoctor.locks.choice import choose_stack, choose_target
    from envdoctor.locks.target import no_target
    from envdoctor.rules.checkup import Case

    if options.target == "none":
        wanted, reason = no_target(), "judged by general knowledge alone"
    else:
        wanted, reason = choose_target(options.target, facts, targets or library.load_targets())
    stacks = library.load_stacks(wanted, options.stack, interpreter_of(facts))
    target = choose_stack(wanted, stacks, facts, options.stack, options.extras)
    asked = options.stack is not None or options.target not in (*library.FOUND, "none")
    return Case(facts=facts, target=replace(target, asked=asked), target_reason=reason)


def checkup_of(found: Case, rules: tuple[Rule, ...], started: float) -> Checkup:
    """Judge a case by ``rules``, and plan what mends it. ``started``: when the examination began (time.monotonic)."""
    from envdoctor.rules.checkup import Checkup
    from envdoctor.rules.diagnose import diagnose
    from envdoctor.rules.plan import plan

    diagnosis = diagnose(found.facts, found.target, rules)
    return Checkup(
        facts=found.facts,
        target=found.target,
        target_reason=found.target_reason,
        diagnosis=diagnosis,
        plan=plan(found.facts, found.target, diagnosis),
        rules=rules,
        seconds=time.monotonic() - started,
    )


def _with_history(facts: Facts, environment: Environment) -> Facts:
    """Facts that know too whether `undo` has an earlier state to go back to."""
    from envdoctor.change.earlier import can_go_back
    from envdoctor.facts.model import Unavailable

    if isinstance(facts.interpreter, Unavailable):
        return facts
    return replace(facts, interpreter=replace(facts.interpreter, can_go_back=can_go_back(environment.path)))
