"""The order of an ablation's runs: variants interleaved in rounds, so that a machine's slow changes cancel out.

Comparing a run of this morning with one of this afternoon measures the machine's day. Here every round runs each
variant once, in fresh processes, and the order alternates: A B, B A, ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envdoctor.speed.report import Report

FEWEST_ROUNDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One arm. ``settings`` and ``flags`` go into the trainer's order, ``variables`` into its environment.

    ``environment``: path of another environment to run in (None: the one examined). ``why`` says what it shows.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    environment: Path | None = None
    why: str = ""


def plan(variants: Sequence[Variant], rounds: int) -> tuple[Variant, ...]:
    """The order of runs: each variant once per round; every other round backwards, starting one variant later.

    Raises ValueError for fewer than two variants, two of one name, or fewer than two rounds.
    """
    names = [variant.name for variant in variants]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError("an ablation needs two or more variants of different names")
    if rounds < FEWEST_ROUNDS:
        raise ValueError(f"an ablation needs at least {FEWEST_ROUNDS} rounds: one difference has no error")
    order: list[Variant] = []
    for number in range(rounds):
        shift = number // 2 % len(variants)
        row = [*variants[shift:], *variants[:shift]]
        order += row if number % 2 == 0 else row[::-1]
    return tuple(order)


def interleaved_reports(
    variants: Sequence[Variant], rounds: int, run: Callable[[Variant], Report], progress: Callable[[str], None]
) -> dict[str, list[Report]]:
    """Run the variants in the order of `plan`; their reports by name. Raises ValueError as `plan` does."""
    order = plan(variants, rounds)
    reports: dict[str, list[Report]] = {variant.name: [] for variant in variants}
    for number, variant in enumerate(order, 1):
        progress(f"run {number} of {len(order)}: {variant.name}")
        reports[variant.name].append(run(variant))
    return reports


def ladder(base: Variant, additions: Sequence[Variant]) -> tuple[Variant, ...]:
    """Variants that add one change after the other, each on top of all before it: what a stack of settings is worth."""
    steps = [base]
    for addition in additions:
        before = steps[-1]
        steps.append(
            Variant(
                name=f"+ {addition.name}",
                settings={**before.settings, **addition.settings},
                flags={**before.flags, **addition.flags},
                variables={**before.variables, **addition.variables},
                environment=addition.environment or before.environment,
                why=addition.why,
            )
        )
    return tuple(steps)
