"""Why a run is not as fast as its baseline: one cause, one sentence, from what was measured beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from envdoctor.speed.breakdown import DATA_WAIT_LIMIT, Breakdown
from envdoctor.speed.conditions import Cause, Obstacle, pressure
from envdoctor.speed.probes import Machine
from envdoctor.speed.report import Report
from envdoctor.target import Baseline, Target

# Settings of the trainer that change its speed; the others (names of files, learning rates) do not.
SPEED_SETTINGS = (
    "precision", "attention", "packing", "head", "optimizer", "compile", "recompute", "threads", "prefetch",
    "pretokenize", "sync_every_step", "tokens_per_row", "examples_per_batch", "accumulate",
)  # fmt: skip
SPEED_PACKAGES = ("torch", "triton", "transformers", "accelerate", "flash-attn", "datasets", "peft", "numpy", "python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    cause: Cause | None
    sentence: str


def attribute(
    *,
    ratio: float,
    machine: Machine,
    reports: Sequence[Report],
    breakdown: Breakdown,
    baseline: Baseline,
    target: Target | None,
    obstacles: Sequence[Obstacle] = (),
) -> Attribution:
    """The cause of a slower (or unjudgeable) run. ``ratio``: speed relative to the baseline, machine taken off.

    An obstacle that names a cause goes first: it was seen directly. Then what a person can change: data, settings,
    stack; then the machine; then neighbours. None, with a sentence that says so, when nothing measured explains it.
    """
    for obstacle in obstacles:
        if obstacle.cause is not None:
            return Attribution(cause=obstacle.cause, sentence=obstacle.text)
    waits = breakdown.shares["data"]
    usual = _usual_wait(baseline)
    if waits > DATA_WAIT_LIMIT and waits - usual > DATA_WAIT_LIMIT / 2:
        return Attribution(
            cause="data", sentence=f"the step waits {waits:.0%} of its time for data (the baseline: {usual:.0%})"
        )
    settings = [*differing_settings(reports[0], baseline), *differing_flags(reports[0], target)]
    if settings:
        return Attribution(cause="settings", sentence=f"set differently from the baseline: {'; '.join(settings)}")
    packages = differing_packages(reports[0], baseline, target)
    if packages:
        return Attribution(cause="stack", sentence=f"other versions than the baseline's: {', '.join(packages)}")
    own = math.exp(machine.log_factor)
    if machine.known and own < 0.97 and own < math.sqrt(min(ratio * own, 1.0)):
        # The machine explains at least half of the raw slow-down (on the log scale).
        slowest = min(machine.ratios, key=lambda name: machine.ratios[name])
        return Attribution(
            cause="machine",
            sentence=machine.said
            if slowest == "pace"
            else f"{machine.said} ({slowest} {machine.ratios[slowest]:.2f}x)",
        )
    waited = max((share for report in reports if (share := pressure(report)) is not None), default=0.0)
    if waited > 0.05:
        return Attribution(
            cause="contention", sentence=f"tasks waited for a CPU core in {waited:.0%} of the measured time"
        )
    if baseline.lock is None or target is None or target.choice is None:
        sentence = "the installed versions could not be compared with the baseline's: check them first"
        return Attribution(cause=None, sentence=sentence)
    return Attribution(
        cause=None,
        sentence="machine, load, versions and settings are like the baseline's: nothing measured explains it",
    )


def _usual_wait(baseline: Baseline) -> float:
    breakdown = baseline.conditions.get("breakdown")
    usual = breakdown.get("data", 0.0) if isinstance(breakdown, Mapping) else 0.0
    return float(usual) if isinstance(usual, (int, float)) else 0.0


def differing_settings(report: Report, baseline: Baseline) -> Iterator[str]:
    """What changes speed and differs from the baseline's, in words: "precision float32 instead of bfloat16"."""
    theirs = baseline.conditions.get("settings")
    if not isinstance(theirs, Mapping):
        return
    ours = speed_settings(report)
    for name, expected in sorted(theirs.items()):
        if name in ours and str(ours[name]) != str(expected):
            yield f"{name} {ours[name]} instead of {expected}"


def speed_settings(report: Report) -> dict[str, object]:
    """The settings that change speed, as they took effect: what "auto" chose instead of "auto"."""
    settings = {name: report.settings[name] for name in SPEED_SETTINGS if name in report.settings}
    settings.update({choice.what: choice.value for choice in report.choices if choice.what in SPEED_SETTINGS})
    if report.device.threads is not None:
        settings["threads"] = report.device.threads
    return settings


def differing_flags(report: Report, target: Target | None) -> Iterator[str]:
    """Flags of torch that the run read back and that differ from the target's."""
    for name, expected in sorted((target.flags if target else {}).items()):
        actual = flag_text(report.flags.get(name))
        if actual is not None and actual != expected:
            yield f"{name} {actual} instead of {expected}"


def flag_text(value: object) -> str | None:
    """A flag as target files write it ("true", "cudnn,flash"); None when it is unknown or could not be read."""
    if value is None or isinstance(value, Mapping):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def differing_packages(report: Report, baseline: Baseline, target: Target | None) -> list[str]:
    """Packages whose version differs from the one the baseline was measured with (or else from the lock's pins)."""
    theirs = baseline.conditions.get("versions")
    expected = dict(theirs) if isinstance(theirs, Mapping) else {}
    if not expected and target is not None and target.choice is not None:
        expected = {pin.name: pin.version for pin in target.choice.pins}
    ours = {name.replace("_", "-").lower(): version for name, version in report.versions.items()}
    different = [
        f"{name} {ours[name]} instead of {version}"
        for name, version in expected.items()
        if name in SPEED_PACKAGES and ours.get(name) is not None and ours[name] != version
    ]
    return sorted(different, key=lambda text: SPEED_PACKAGES.index(text.partition(" ")[0]))
