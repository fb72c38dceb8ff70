"""The story: collect, choose, diagnose, plan, change, hand off, measure, judge. Every command is a part of it.

What is heavy is imported where it is used: the environment's own import of torch takes longest, so its probe is started
before anything else happens here.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from envdoctor import bundle
from envdoctor.change.examination import Examination, case, checkup_of
from envdoctor.errors import Trouble
from envdoctor.facts import collect
from envdoctor.facts.environment import Environment, locate
from envdoctor.values.frozen import frozen

if TYPE_CHECKING:
    from envdoctor.change.proposal import ChangeOptions, Proposal
    from envdoctor.change.values import Applied
    from envdoctor.facts.model import Facts
    from envdoctor.rules.checkup import Case, CheckOptions, Checkup
    from envdoctor.speed.ablation.against import Other, Pairs
    from envdoctor.speed.ablation.suspect_ablation import Suspects
    from envdoctor.speed.ablation.suspects import SuspectAblation
    from envdoctor.speed.outcome import Verdict
    from envdoctor.speed.timing import TimingOptions


class Dialogue(Protocol):
    """Whoever watches a command at work, and says yes or no to what it is about to do."""

    def step(self, text: str) -> None:
        """What is being done now."""

    def tell(self, text: str) -> None:
        """What happened on the way, and stays to be read."""

    def agree(self, proposal: Proposal) -> bool:
        """Show what is about to be changed. False: it shall not be (a dry run); raises where nobody can be asked."""

    def checked(self, checkup: Checkup, repaired: Repaired | None) -> None:
        """How the environment is now, and what was done to it, before its speed is timed."""

    def stopping(self, text: str) -> AbstractContextManager[None]:
        """While this lasts, Ctrl-C is answered by ``text``: clearing away takes a moment."""


@frozen
class Repaired:
    """What became of a proposal. ``applied`` is None where nothing was to be changed, or was not agreed to."""

    checkup: Checkup
    proposal: Proposal | None = None
    applied: Applied | None = None
    seconds: float = 0.0  # of work: the time that somebody took to answer is left out


@frozen
class Verified:
    """The speed of an environment, and what trying the suspects said where they were tried."""

    checkup: Checkup
    verdict: Verdict
    ablation: SuspectAblation | None = None


@frozen
class Preflight:
    """The whole story's end: the environment as it is now, what was done to it, and its speed unless it is too sick.

    ``gain``: what a repair has made of the speed, where the state before could train.
    """

    checkup: Checkup
    repaired: Repaired | None
    verdict: Verdict | None
    gain: Verdict | None = None


def examine(
    environment: Environment,
    options: CheckOptions,
    *,
    compiling: bool = False,
    meanwhile: Callable[[], object] = lambda: None,
) -> Checkup:
    """Collect the facts of an environment and judge them; ``compiling``: it is new, and torch's bytecode may stay.

    ``meanwhile`` is done while the probes are on their way.
    """
    with _examination(environment, options, compiling=compiling) as examination:
        meanwhile()
        return examination.checkup()


def examine_images(options: CheckOptions, machine: Facts | None = None) -> Checkup:
    """Judge image files for ``machine``, else this one. Raises `Trouble` for an unreadable file."""
    from envdoctor.facts.images.files import load
    from envdoctor.rules.imaging import facts_of, on_target
    from envdoctor.rules.selection import select_rules

    started, images = time.monotonic(), load(options.images)
    if machine is None and options.driver is None:
        machine = collect.begin(locate(Path(sys.executable)), torch=False).finish()
    facts = facts_of(images, machine, options.driver)
    facts = on_target(facts, case(facts, options).target)
    return checkup_of(case(facts, options), select_rules(options), started)


def judge(facts: Facts, options: CheckOptions) -> Checkup:
    """Judge facts that are already there: recorded in a file, or read from a pasted report."""
    from envdoctor.rules.selection import select_rules

    started = time.monotonic()
    return checkup_of(case(facts, options), select_rules(options), started)


def target_for(environment: Environment, options: CheckOptions) -> Case:
    """The target and stack of an environment, chosen by its facts alone: torch is not imported, no rule is asked."""
    return case(collect.begin(environment, torch=False).finish(), options)


def begin_examination(environment: Environment, options: CheckOptions) -> Examination | None:
    """An examination for `fix`, begun before the rest of the program is loaded; None where that cannot be yet: what
    an interrupted change has left is to be cleared away first, or there is no environment."""
    from envdoctor.change.earlier import is_settled

    if not environment.exists or not is_settled(environment.path):
        return None
    return _examination(environment, options)


def _examination(environment: Environment, options: CheckOptions, *, compiling: bool = False) -> Examination:
    return Examination(environment, options, flags_table=bundle.flags_table(), compiling=compiling)


def fix(
    environment: Environment,
    options: CheckOptions,
    how: ChangeOptions,
    dialogue: Dialogue,
    *,
    python: str | None = None,
    before: Checkup | None = None,
    examination: Examination | None = None,
    agreed: bool = False,
    extend: Callable[[Environment, Checkup], Checkup] | None = None,
) -> Repaired:
    """Repair an environment, or create it: examine, propose, ask, change, examine again.

    ``before``: its checkup where it was just made, ``examination``: one that has begun; ``extend`` adds to its plan.
    ``agreed``: to whatever the plan will be, so that the change may begin while torch is still being imported.
    Raises `Trouble` where nothing could be compared, where it is refused, and (exit code 3) where the result would be
    no healthier: nothing has changed then.
    """
    started = time.monotonic()
    if environment.exists:
        if examination is None:
            settle(environment, dialogue)
        dialogue.step("examining the environment")
        if before is None:
            with examination or _examination(environment, options) as found:
                if agreed and extend is None and (begun := _fix_ahead(found, how, dialogue, started)) is not None:
                    return begun
                before = found.checkup()
        before = how.applied_to(before)
    else:
        from envdoctor.change.creation import base_for

        environment, base = base_for(environment, lambda place: target_for(place, options), python)
        before = checkup_of(base, (), started)
    from envdoctor.change.proposal import propose, require_comparison
    from envdoctor.change.repair import carry_out

    require_comparison(environment, before)
    if extend is not None:
        dialogue.step("looking for releases that fit")
        before = extend(environment, before)
    if environment.exists and before.plan.empty:
        return Repaired(checkup=before, seconds=time.monotonic() - started)
    dialogue.step("looking how it can be changed")
    proposal = propose(environment, before, how)
    worked = time.monotonic() - started
    if not dialogue.agree(proposal):
        return Repaired(checkup=before, proposal=proposal, seconds=worked)
    started = time.monotonic()
    with dialogue.stopping("stopping: clearing away what was begun"):
        look = functools.partial(examine, options=replace(options, deep=False))
        applied, after = carry_out(proposal, look, progress=dialogue.step)
    seconds = worked + time.monotonic() - started
    return Repaired(checkup=after, proposal=proposal, applied=applied, seconds=seconds)


def _fix_ahead(examination: Examination, how: ChangeOptions, dialogue: Dialogue, started: float) -> Repaired | None:
    """`fix` where a yes was said beforehand: what has to be installed is known long before torch has been imported, so
    the new state is begun beside that, or without it. None where nothing can be begun, or torch told that something
    else is needed: then nothing has changed.
    """
    from envdoctor.change.ahead import AgreedPlan, begin
    from envdoctor.change.apply import Outdated
    from envdoctor.change.repair import carry_out

    if (early := begin(examination, how)) is None:
        return None
    plan = AgreedPlan(examination, early, how, agree=dialogue.agree)
    look = plan.enough(functools.partial(examine, options=replace(examination.options, deep=False)))
    try:
        with dialogue.stopping("stopping: clearing away what was begun"):
            applied, after = carry_out(early, look, progress=dialogue.step, settle=plan.settle)
    except Outdated:
        return None
    except Trouble:
        if plan.settled is None and not plan.still():
            return None
        raise
    return Repaired(checkup=after, proposal=plan.settled, applied=applied, seconds=time.monotonic() - started)


def verify(
    environment: Environment,
    options: CheckOptions,
    timing: TimingOptions,
    dialogue: Dialogue,
    *,
    suspects: Suspects | None = None,
) -> Verified:
    """Examine an environment, judge the speed of a short training in it, and try the suspects of one that is slow.

    Where training could tell nothing, that is the verdict, and neither torch is imported nor anything trained.
    """
    from envdoctor.speed.timing import judged_without_timing

    dialogue.step("examining the environment")
    known = target_for(environment, options)
    if (verdict := judged_without_timing(known.target, timing, known.facts)) is not None:
        return Verified(checkup=judge(known.facts, replace(options, torch=False)), verdict=verdict)
    checkup = examine(environment, options)
    verdict = speed_of(environment, checkup, timing, dialogue)
    if suspects is None or not verdict.reports or verdict.word in ("as-expected", "faster"):
        return Verified(checkup=checkup, verdict=verdict)
    from envdoctor.speed.ablation.suspect_ablation import ablate_suspects
    from envdoctor.speed.timing import ignore_progress

    verdict, ablation = ablate_suspects(
        environment, checkup.target, timing, verdict, facts=checkup.facts,
        clean=suspects.clean, rounds=suspects.rounds, progress=dialogue.step, on_line=ignore_progress,
    )  # fmt: skip
    return Verified(checkup=checkup, verdict=verdict, ablation=ablation)


def verify_against(
    environment: Environment,
    other: Other | None,
    options: CheckOptions,
    timing: TimingOptions,
    pairs: Pairs,
    dialogue: Dialogue,
) -> Verdict:
    """Time an environment against another one in turns until it is decided; ``other``: None for one made from the lock.

    Raises `Trouble` (exit code 3) where the other one cannot be made, or a training fails.
    """
    from envdoctor.speed.ablation.against import time_against
    from envdoctor.speed.timing import ignore_progress, workload_of
    from envdoctor.speed.without_timing import without_training

    dialogue.step("examining the environment")
    known = target_for(environment, options)
    workload = workload_of(known.target, timing.workload)
    if (verdict := without_training(known.facts, known.target, workload)) is not None:
        return verdict
    return time_against(
        environment, other or locked_arm(environment, known, options, dialogue), known.target, timing, pairs,
        facts=known.facts, progress=dialogue.step, on_line=ignore_progress,
    )  # fmt: skip


def locked_arm(environment: Environment, known: Case, options: CheckOptions, dialogue: Dialogue) -> Other:
    """An environment with exactly what the target's lock says, in a folder that is kept and used again.

    Made with a yes, or repaired. Raises `Trouble` (exit code 3) where no stack fits, or without a yes.
    """
    from envdoctor.change.proposal import ChangeOptions
    from envdoctor.facts.model import Unavailable
    from envdoctor.speed.ablation.against import Other, locked_folder

    choice, interpreter = known.target.choice, known.facts.interpreter
    if choice is None or not choice.digest:
        raise Trouble(
            f"target {known.target.name} locks no packages here: {known.target.no_choice or 'it has no stack'}",
            where="--against locked",
            remedy="Name another environment: envdoctor verify --against PATH",
            exit_code=3,
        )
    python = "" if isinstance(interpreter, Unavailable) else interpreter.version
    folder = locked_folder(choice.stack, choice.digest, python)
    folder.parent.mkdir(parents=True, exist_ok=True)
    same, how = replace(options, stack=choice.stack), ChangeOptions(strict=True)
    repaired = fix(locate(folder), same, how, dialogue, python=str(environment.python))
    if repaired.proposal is not None and repaired.applied is None:
        raise Trouble("there is no locked environment to compare with", file=folder, exit_code=3)
    return Other(name="the locked one", environment=locate(folder).require(), lock=choice.digest)


def speed_of(environment: Environment, checkup: Checkup, timing: TimingOptions, dialogue: Dialogue) -> Verdict:
    """Train a workload in fresh processes, and judge its speed against the target's baseline."""
    from envdoctor.speed.memory_needed import too_little_memory
    from envdoctor.speed.timing import ignore_progress, judged_without_timing, time_and_judge, workload_of

    if (verdict := judged_without_timing(checkup.target, timing, checkup.facts)) is not None:
        return verdict
    if (short := too_little_memory(workload_of(checkup.target, timing.workload), checkup.facts)) is not None:
        raise Trouble(short[0], where="memory", remedy=short[1], exit_code=3)
    return time_and_judge(
        environment, checkup.target, timing, facts=checkup.facts, progress=dialogue.step, on_line=ignore_progress
    )


def preflight(
    environment: Environment,
    options: CheckOptions,
    timing: TimingOptions,
    dialogue: Dialogue,
    *,
    how: ChangeOptions | None = None,
    python: str | None = None,
) -> Preflight:
    """Check, repair if allowed (``how``), train a short workload, judge its speed.

    An environment that is too sick to train, or of which nothing could be seen, is not timed: ``verdict`` is None.
    """
    started = time.monotonic()
    if environment.exists:
        settle(environment, dialogue)
        dialogue.step("examining the environment")
        checkup = examine(environment, options)
    elif how is None:
        raise Trouble("there is no environment", file=environment.path, remedy="Create it: add --fix", exit_code=3)
    else:
        checkup = None
    seconds, repaired, before = time.monotonic() - started, None, checkup
    if how is not None and (checkup is None or not checkup.plan.empty):
        repaired = fix(environment, options, how, dialogue, python=python, before=checkup)
        checkup, environment = repaired.checkup, locate(environment.path)
        seconds += repaired.seconds
    assert checkup is not None
    checkup = replace(checkup, seconds=seconds)
    dialogue.checked(checkup, repaired)
    if not checkup.diagnosis.trainable:
        return Preflight(checkup=checkup, repaired=repaired, verdict=None)
    verdict = speed_of(environment, checkup, timing, dialogue)
    timed = repaired is not None and repaired.applied and before is not None and before.starts_training
    gain = gain_of(environment, options, timing, dialogue) if timed else None
    return Preflight(checkup=checkup, repaired=repaired, verdict=verdict, gain=gain)


def earlier_arm(environment: Environment) -> Other | None:
    """The state that the last fix replaced, as an arm of its own; None where no folder of it is kept."""
    from envdoctor.change.earlier import earlier_folder
    from envdoctor.speed.ablation.against import Other

    folder = earlier_folder(environment.path)
    if folder is None or not folder.is_dir():
        return None
    return Other(name="before the fix", environment=locate(folder).require(), before=True)


def gain_of(
    environment: Environment, options: CheckOptions, timing: TimingOptions, dialogue: Dialogue
) -> Verdict | None:
    """What the last fix has made of the speed, in few pairs; None (and told) where the earlier state does not train."""
    from envdoctor.speed.ablation.against import AFTER_A_FIX

    if (other := earlier_arm(environment)) is None:
        return None
    try:
        verdict = verify_against(environment, other, options, timing, AFTER_A_FIX, dialogue)
        why = "" if verdict.reports else verdict.because
    except Trouble as failure:
        why = failure.problem
    if why:
        dialogue.tell(f"how fast it was before the fix cannot be said: {why}")
    return None if why else verdict


def settle(environment: Environment, dialogue: Dialogue) -> None:
    """Clear away, or bring to its end, what an interrupted change left behind."""
    from envdoctor.change.recover import recover

    dialogue.step("looking for what an interrupted run left behind")
    for left in recover(environment.path).actions:
        dialogue.tell(f"cleaned up after an interrupted run: {left}")
