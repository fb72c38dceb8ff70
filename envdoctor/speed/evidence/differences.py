"""What a person set up differently from the baseline: settings, flags, versions, data that comes too late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.locks.target import Baseline, Target
from envdoctor.speed.breakdown import DATA_WAIT_LIMIT
from envdoctor.speed.evidence.evidence import Evidence
from envdoctor.speed.evidence.relation import mapping
from envdoctor.speed.evidence.run import Context, TimedRun
from envdoctor.speed.report import Report

# Settings of the trainer that change its speed; the others (names of files, learning rates) do not.
SPEED_SETTINGS = (
    "precision", "attention", "packing", "head", "optimizer", "compile", "recompute", "threads", "prefetch",
    "pretokenize", "sync_every_step", "tokens_per_row", "examples_per_batch", "accumulate",
)  # fmt: skip
SPEED_PACKAGES = ("torch", "triton", "transformers", "accelerate", "flash-attn", "datasets", "peft", "numpy", "python")


def differences(run: TimedRun, baseline: Baseline | None, context: Context) -> Iterator[Evidence]:
    """Data, settings and stack: what a person can change comes before the machine and its neighbours."""
    if not context.comparable or baseline is None:
        return
    first = run.timed[0]
    waits, usual = run.breakdown.shares["data"], usual_wait(baseline)
    if waits > DATA_WAIT_LIMIT and waits - usual > DATA_WAIT_LIMIT / 2:
        text = f"the step waits {waits:.0%} of its time for data (the baseline: {usual:.0%})"
        yield Evidence(cause="data", text=text)
    settings = [*differing_settings(first, baseline), *differing_flags(first, context.target)]
    if settings:
        yield Evidence(cause="settings", text=f"set differently from the baseline: {'; '.join(settings)}")
    packages = differing_packages(first, baseline, context.target)
    if packages:
        yield Evidence(cause="stack", text=f"other versions than the baseline's: {', '.join(packages)}")


def usual_wait(baseline: Baseline) -> float:
    """Share of the baseline's steps that waited for data; 0 where it was not recorded."""
    usual = mapping(baseline.conditions, "breakdown").get("data", 0.0)
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
