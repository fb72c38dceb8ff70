"""Timing the suspects of a slow run, one at a time, interleaved with runs as they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from envdoctor.facts.environment import Environment, locate
from envdoctor.facts.model import Facts
from envdoctor.locks.target import Target
from envdoctor.speed.ablation import suspects as suspecting
from envdoctor.speed.ablation.interleaving import Variant, interleaved_reports
from envdoctor.speed.ablation.suspects import SuspectAblation
from envdoctor.speed.cost import at_speed
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report
from envdoctor.speed.timing import TimingOptions, run_variant
from envdoctor.values.frozen import frozen

ROUNDS = 3


@frozen
class Suspects:
    """How the causes of a slow run are tried: ``clean`` is an environment with the stack as locked, for versions."""

    rounds: int = ROUNDS
    clean: Path | None = None


def ablate_suspects(
    environment: Environment,
    target: Target,
    timing: TimingOptions,
    verdict: Verdict,
    *,
    facts: Facts | None,
    clean: Path | None = None,
    rounds: int = ROUNDS,
    progress: Callable[[str], None],
    on_line: Callable[[str], None] | None = None,
) -> tuple[Verdict, SuspectAblation]:
    """Try what could explain the verdict; the verdict comes back with the cause that was found, if one was.

    ``clean``: an environment with the stack as locked, to try versions with. A run that fails is a row that says so.
    """
    found, untried = suspecting.suspects(verdict, target, os.environ, clean)
    unset = {suspect.mended.name: suspect.unset for suspect in found}

    def run(variant: Variant) -> Report:
        asked = replace(variant, settings={**timing.settings, **variant.settings})
        where = environment if variant.environment is None else locate(variant.environment)
        without = unset.get(variant.name, ())
        return run_variant(where, target, verdict.workload, timing.measure, asked, without=without, on_line=on_line)

    reports: dict[str, list[Report]] = {}
    if found:
        arms = (suspecting.AS_IT_IS, *(suspect.mended for suspect in found))
        reports = interleaved_reports(arms, rounds, run, lambda text: progress(f"why? {text}"))
    answer = suspecting.conclude(found, untried, reports, verdict, facts)
    cause = answer.cause if answer.cause is not None else verdict.cause
    fixed = at_speed(verdict.cost, answer.gain) if verdict.cost is not None and answer.gain else verdict.fixed
    return replace(verdict, cause=cause, fixed=fixed), answer
