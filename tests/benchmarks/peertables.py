"""What the peers' comparison prints: speeds with spread, ratios, shares of what is achievable, and the goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.benchmarks import figures
from tests.benchmarks.turns import Side

GOALS = {"hf": 8.0, "trl": 2.7, "achievable": 0.50, "overhead": 0.02}
SAME_TOLERANCE = 2e-3  # relative, per step: float32 sums in other orders, over six optimizer steps
CURVE_TOLERANCE = 0.10  # relative, per quarter of the run: other batches from the same data


def sides(measured: Sequence[Side], unit: str = "real") -> dict[str, Any]:
    """Figures and raw slices of the first side (ours) and the others."""
    ours = measured[0]
    found: dict[str, Any] = {"raw": figures.raw(measured), "ratios": {}, "speeds": {}}
    for side in measured:
        found["speeds"][side.name] = {clock: figures.speeds(side, clock, unit) for clock in figures.CLOCKS}
        if side is not ours:
            found["ratios"][side.name] = {
                clock: {
                    "quartiles": figures.ratios(ours, side, clock, unit),
                    "whole": figures.whole(ours, clock, unit) / figures.whole(side, clock, unit),
                }
                for clock in figures.CLOCKS
            }
    if unit == "real":
        until = min(sum(side.facts["tokens"]) for side in measured)
        found["curves"] = {side.name: figures.curve(side, until) for side in measured}
        work, before, after = (ours.facts[key] for key in ("work", "achievable_before", "achievable_after"))
        best = {name: max(before[name], after[name]) for name in before}
        found["achievable"], found["precision"] = best, ours.facts["choices"]["precision"]
        found["share"] = {side.name: figures.flops(side, work) / best[found["precision"]] for side in measured}
    return found


def table(measured: Sequence[Side], found: dict[str, Any], unit: str) -> list[str]:
    """Lines: speed and spread by both clocks, padding, and how many times as fast ours is."""
    lines = ["%-22s %10s %21s %12s %8s  %-24s %s" % (
        "", unit + "/s", "quartiles", "/CPU second", "padding", "ours is (quartiles)", "by CPU time",
    )]  # fmt: skip
    for side in measured:
        low, middle, high = found["speeds"][side.name]["wall"]
        ratio = found["ratios"].get(side.name)
        times = (
            ["%.2fx (%.2f to %.2f)" % _middle_first(ratio[clock]["quartiles"]) for clock in ("wall", "cpu")]
            if ratio
            else ["", ""]
        )
        lines.append("%-22s %10.1f %10.1f to %7.1f %12.1f %6.0f %%  %-24s %s" % (
            side.name, middle, low, high, found["speeds"][side.name]["cpu"][1], 100 * figures.padding(side), *times,
        ))  # fmt: skip
    return lines


def _middle_first(quartiles: Sequence[float]) -> Any:
    low, middle, high = quartiles
    return middle, low, high


def size_text(measured: Sequence[Side], found: dict[str, Any]) -> str:
    """Everything about one size."""
    lines = table(measured, found, "tokens")
    best = found["achievable"]
    lines.append("large matrix products here: %.1f GFLOP/s in float32, %.1f in bfloat16" % (
        best["float32"] / 1e9, best["bfloat16"] / 1e9,
    ))  # fmt: skip
    lines.append("share of the %s figure, useful arithmetic only: %s" % (found["precision"], ", ".join(
        "%s %.0f %%" % (side, 100 * share) for side, share in found["share"].items()
    )))  # fmt: skip
    for side, curve in found["curves"].items():
        lines.append("  loss by quarter, %-20s %s" % (side, "  ".join("%.3f" % loss for loss in curve)))
    ours, *others = found["curves"]
    for side in others:
        far = curve_distance({ours: found["curves"][ours], side: found["curves"][side]})
        word = "equal" if far <= CURVE_TOLERANCE else "NOT EQUAL: not counted"
        lines.append("  farthest from ours: %.1f %% (tolerance %.0f %%), %s: %s" % (
            100 * far, 100 * CURVE_TOLERANCE, side, word,
        ))  # fmt: skip
    if "same_batches" in found:
        for side, losses in found["same_batches"].items():
            lines.append("  loss of the same batches, %-18s %s" % (side, "  ".join("%.5f" % loss for loss in losses)))
        far = same_distance(found["same_batches"])
        lines.append("  farthest from ours: %.1e (tolerance %.0e): %s" % (
            far, SAME_TOLERANCE, "equal" if far <= SAME_TOLERANCE else "NOT EQUAL",
        ))  # fmt: skip
    if "overhead" in found:
        for what in ("own", "over bare"):
            low, middle, high = (100 * part for part in found["overhead"][what])
            lines.append("our loop, %s: %.2f %% of the CPU time (%.2f to %.2f)" % (what, middle, low, high))
    return "\n".join(lines)


def curve_distance(curves: dict[str, list[float]]) -> float:
    """Largest relative distance of another side's curve from the first one's; the first quarter, a fall from random
    weights whose pace hangs on the batches, does not count.
    """
    first, *others = curves.values()
    return max((abs(a - b) / a for other in others for a, b in list(zip(first, other))[1:]), default=0.0)


def same_distance(losses: dict[str, list[float]]) -> float:
    """Largest relative distance of another side's loss from the first one's, over all steps."""
    first, *others = losses.values()
    return max((abs(a - b) / a for other in others for a, b in zip(first, other)), default=0.0)


def goals_text(sizes: dict[str, Any]) -> str:
    """Every goal beside what was measured."""
    lines = ["", "%-52s %10s %10s" % ("goal", "wanted", "measured")]
    for name, found in sizes.items():
        for goal, side in rivals(found["ratios"], found["curves"]):
            what = "%s: times as fast as %s" % (name, side)
            lines.append(_goal(what, GOALS[goal], found["ratios"][side]["wall"]["quartiles"][1], "%.2f", True))
        if name != "5m":
            what = name + ": share of achievable FLOP/s"
            lines.append(_goal(what, GOALS["achievable"], found["share"]["ours"], "%.2f", True))
        if "overhead" in found:
            what = name + ": the loop's own share of CPU time"
            lines.append(_goal(what, GOALS["overhead"], found["overhead"]["own"][1], "%.4f", False))
    return "\n".join(lines)


def rivals(ratios: dict[str, Any], curves: dict[str, list[float]]) -> list[tuple[str, str]]:
    """(goal, side): transformers' Trainer, and the fastest of TRL's variants that learn as ours does, token by token.

    Batches sorted by length are no such variant: their steps begin with four times the tokens and end with a fourth.
    """
    ours = next(iter(curves))
    fair = [
        side for side in ratios if curve_distance({ours: curves[ours], side: curves[side]}) <= CURVE_TOLERANCE
    ]  # fmt: skip
    found = [("hf", side) for side in ratios if side.startswith("HF")]
    fast = sorted((ratios[side]["wall"]["quartiles"][1], side) for side in fair if side.startswith("TRL"))
    return found + [("trl", side) for _, side in fast[:1]]


def _goal(what: str, wanted: float, measured: float, form: str, least: bool) -> str:
    met = measured >= wanted if least else measured <= wanted
    sign = ">=" if least else "<="
    return "%-52s %10s %10s  %s" % (what, sign + " " + form % wanted, form % measured, "met" if met else "missed")
