"""Timing the suspects of a slow run, one at a time, interleaved with runs as they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from envdoctor.environment import Environment, locate
from envdoctor.facts import Facts
from envdoctor.speed import why
from envdoctor.speed.cost import at_speed
from envdoctor.speed.interleaving import plan
from envdoctor.speed.outcome import Verdict
from envdoctor.speed.report import Report
from envdoctor.speed.why import Inquiry, Suspect
from envdoctor.target import Target
from envdoctor.timing import Timing, run_variant

ROUNDS = 3


def inquire(
    environment: Environment,
    target: Target,
    timing: Timing,
    verdict: Verdict,
    *,
    facts: Facts | None,
    clean: Path | None = None,
    rounds: int = ROUNDS,
    progress: Callable[[str], None],
    on_line: Callable[[str], None] | None = None,
) -> tuple[Verdict, Inquiry]:
    """Try what could explain the verdict; the verdict comes back with the cause that was found, if one was.

    ``clean``: an environment with the stack as locked, to try versions with. A run that fails is a row that says so.
    """
    found, untried = why.suspects(verdict, target, os.environ, clean)
    reports: dict[str, list[Report]] = {}
    if found:
        by_name: dict[str, Suspect] = {suspect.mended.name: suspect for suspect in found}
        order = plan((why.AS_IT_IS, *(suspect.mended for suspect in found)), rounds)
        for number, variant in enumerate(order, 1):
            progress(f"why? run {number} of {len(order)}: {variant.name}")
            asked = replace(variant, settings={**timing.settings, **variant.settings})
            unset = by_name[variant.name].unset if variant.name in by_name else ()
            where = environment if variant.environment is None else locate(variant.environment)
            done = run_variant(where, target, verdict.workload, timing.measure, asked, without=unset, on_line=on_line)
            reports.setdefault(variant.name, []).append(done)
    answer = why.conclude(found, untried, reports, verdict, facts)
    cause = answer.cause if answer.cause is not None else verdict.cause
    fixed = at_speed(verdict.cost, answer.gain) if verdict.cost is not None and answer.gain else verdict.fixed
    return replace(verdict, cause=cause, fixed=fixed), answer
