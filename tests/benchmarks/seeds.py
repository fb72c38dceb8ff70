"""The five write-ups in one table: claim, before, after, the ratio here, and what each of their steps is worth.

    python -m tests.benchmarks.seeds [--seeds 000 001 002 003 004] [--output seeds.json] [--compile]

Every run is this trainer on the bundled data (chat-5m unless --workload says otherwise); the runs of a seed are
processes that take turns. "Before" is the preset for that write-up's starting point, "after" our defaults. A step's
worth is the speed with it over the speed without it, all else equal: below 1 it costs time. "Nothing" is our defaults
over our defaults: as far as it is from 1 the table cannot see. Two processes of one program differ, so all of it is
done again with fresh ones (--repeats). --compile adds torch.compile, which needs half a minute of warming up in each.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from trainer.data import workloads

from tests.benchmarks import corpora, figures
from tests.benchmarks.seedtable import COMPILE, RFT, SEEDS, Seed, Step, Values
from tests.benchmarks.turns import Side, Slice, interleave

SAMPLING = {  # the first half of rejection fine-tuning: one answer after the other is how it is written by hand
    "before": (1, True), "after": (16, True), "no cache": (16, False),
}  # fmt: skip

AGAIN = "after, again"
LIVE = 5  # processes that live side by side: fifteen of them need more memory than a small machine has
Pair = tuple[str, str]  # names of the runs to compare: the first over the second


def runs_of(seed: Seed, steps: list[Step]) -> dict[str, tuple[str, Values]]:
    """Preset and settings of every different run: what several steps share is one run."""
    wanted: dict[str, tuple[str, Values]] = {
        "before": (seed.preset, seed.before), "after": ("default", {}), AGAIN: ("default", {}),
    }  # fmt: skip
    wanted.update({key(values): ("default", values) for step in steps for values in (step.on, step.off) if values})
    return wanted


def groups_of(pairs: list[Pair]) -> list[list[Pair]]:
    """The comparisons in groups of at most `LIVE` runs, each whole within its group."""
    groups: list[list[Pair]] = []
    for pair in pairs:
        for group in groups:
            if len({name for one in [*group, pair] for name in one}) <= LIVE:
                group.append(pair)
                break
        else:
            groups.append([pair])
    return groups


def sides_of(
    seed: Seed, names: list[str], runs: dict[str, tuple[str, Values]], given: argparse.Namespace, folder: Path
) -> dict[str, Side]:
    """One process for each of these runs."""
    return {name: _side(seed, name, *runs[name], given, folder / str(number)) for number, name in enumerate(names)}


def key(values: Values) -> str:
    """A run's name: its settings; our defaults are "after"."""
    return json.dumps(values, sort_keys=True) if values else "after"


def _side(seed: Seed, name: str, preset: str, values: Values, given: argparse.Namespace, folder: Path) -> Side:
    folder.mkdir(parents=True)
    workload = workloads.find(given.workload)
    values = {**seed.both, **values}
    flags = values.pop("flags", {})
    in_loop = preset != "default" or values.get("pretokenize") is False
    data = corpora.data_of(seed.task, workload, "before" if in_loop else "default", folder)
    if seed.lines:
        lines = workload.data.read_text(encoding="utf-8").splitlines()[: seed.lines]
        few = folder / "few.jsonl"
        few.write_text("\n".join(lines) + "\n", encoding="utf-8")
        data = [str(few)]
    settings = {
        "workload": workload.name, "data": data, "output": str(folder / "run"), "cache": str(folder.parent / "cache"),
        "threads": given.threads, "model_config": given.model_config, **values,
    }  # fmt: skip
    order = {
        "task": seed.task, "preset": preset, "settings": settings, "flags": flags, "seconds": given.seconds,
        "warmup_steps": 40 if values.get("compile") else 2,
    }  # fmt: skip
    return Side(name, sys.executable, "tests.benchmarks.side_ours", order, folder)


def sampling_sides(given: argparse.Namespace, folder: Path) -> dict[str, Side]:
    """Answers one by one, together, and together without the cache of keys and values."""
    found: dict[str, Side] = {}
    for number, (name, (batch, cache)) in enumerate(SAMPLING.items()):
        settings = {
            "workload": given.workload, "max_new_tokens": 32, "samples_per_prompt": 1, "sample_batch": batch,
            "threads": given.threads, "output": str(folder / "run"), "model_config": given.model_config,
        }  # fmt: skip
        order = {"settings": settings, "cache": cache, "prompts": 16, "seconds": given.seconds, "warmup_steps": 1}
        found[name] = Side(name, sys.executable, "tests.benchmarks.side_sampling", order, folder / str(number))
    return found


def ratio(first: Side, second: Side, unit: str) -> dict[str, figures.Spread]:
    """By both clocks."""
    return {clock: figures.ratios(first, second, clock, unit) for clock in figures.CLOCKS}


def measured(seed: Seed, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Before, after, ratio and the worth of each step of one seed."""
    steps = [step for step in seed.steps if given.compile or step is not COMPILE]
    runs, unit = runs_of(seed, steps), corpora.UNIT[seed.task]
    whole: Pair = ("after", "before")
    worth: list[Pair] = [(key(step.on), key(step.off)) for step in steps]
    ratios: dict[Pair, dict[str, figures.Spread]] = {}
    main: dict[str, Side] = {}
    raw: list[dict[str, Any]] = []
    for number, group in enumerate(groups_of([whole, (AGAIN, "after"), *worth])):
        names = list(dict.fromkeys(name for pair in group for name in pair))
        sides = _repeated(partial(sides_of, seed, names, runs, given), given, folder / "training" / str(number))
        ratios.update({pair: ratio(sides[pair[0]], sides[pair[1]], unit) for pair in group})
        main = main or sides
        raw.append(figures.raw(list(sides.values())))
    found: dict[str, Any] = {
        "seed": seed.number, "title": seed.title, "claim": seed.claim, "unit": unit,
        "before": figures.speeds(main["before"], "wall", unit), "after": figures.speeds(main["after"], "wall", unit),
        "ratio": ratios[whole], "nothing": ratios[AGAIN, "after"],
        "steps": [{"name": s.name, "claim": s.claim, **ratios[pair]} for s, pair in zip(steps, worth)],
        "raw": raw, "not_here": seed.not_here,
    }  # fmt: skip
    if seed is RFT:
        found["sampling"] = _sampling(given, folder / "sampling", main)
    return found


def _repeated(make: Callable[[Path], dict[str, Side]], given: argparse.Namespace, folder: Path) -> dict[str, Side]:
    """The sides after their turns; with the slices of the fresh processes that did the same again."""
    found: dict[str, Side] = {}
    for number in range(given.repeats):
        fresh = make(folder / str(number))
        interleave(list(fresh.values()), given.rounds, _say)
        for name, side in fresh.items():
            if name in found:
                found[name].slices += side.slices
            else:
                found[name] = side
    return found


def _sampling(given: argparse.Namespace, folder: Path, training: dict[str, Side]) -> dict[str, Any]:
    sides = _repeated(partial(sampling_sides, given), given, folder)
    together, alone = sides["after"], sides["before"]
    whole = {
        clock: _seconds(alone, training["before"], clock) / _seconds(together, training["after"], clock)
        for clock in figures.CLOCKS
    }
    return {
        "before": figures.speeds(alone, "wall", "tokens"), "after": figures.speeds(together, "wall", "tokens"),
        "ratio": ratio(together, alone, "tokens"), "cache": ratio(together, sides["no cache"], "tokens"),
        "whole": whole, "raw": figures.raw(list(sides.values())),
    }  # fmt: skip


def _seconds(sampling: Side, training: Side, clock: str) -> float:
    """Of a round per accepted token: 4 answers sampled, one accepted, 3 epochs over it (and no prompt)."""
    return 4 / figures.whole(sampling, clock, "tokens") + 3 / figures.whole(training, clock, "trained")


def _say(number: int, side: Side, piece: Slice) -> None:
    print(".", end="", flush=True)


LINE = "%-4s %-48s %-22s %9s %9s  %-22s %s"


def text(found: dict[str, Any]) -> str:
    """One seed's lines of the table."""
    lines = [_line(found["seed"], found["title"], found["claim"], found, found["ratio"])]
    lines += [_line("", "  " + step["name"], step["claim"], None, step) for step in found["steps"]]
    lines.append(_line("", "  nothing (the same settings twice)", "-", None, found["nothing"]))
    if "sampling" in found:
        part = found["sampling"]
        lines.append(_line("", "answers sampled together (before: one by one)", "-", part, part["ratio"]))
        lines.append(_line("", "  keys and values kept", "-", None, part["cache"]))
        lines.append(LINE % ("", "both halves: 4 answers for 1 accepted, 3 epochs", "1.7-2.2x", "", "",
                             "%.2fx" % part["whole"]["wall"], "%.2fx" % part["whole"]["cpu"]))  # fmt: skip
    return "\n".join(lines + (["     not measured here: " + found["not_here"]] if found["not_here"] else []))


def _line(number: str, title: str, claim: str, speeds: Any, ratios: dict[str, Any]) -> str:
    before, after = ("%.0f" % speeds[part][1] if speeds else "" for part in ("before", "after"))
    worth = ["%.2fx (%.2f-%.2f)" % (ratios[c][1], ratios[c][0], ratios[c][2]) for c in figures.CLOCKS]
    return LINE % (number, title, claim, before, after, *worth)


def main() -> None:
    """Measure, print the table, and write the raw JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [seed.number for seed in SEEDS]
    parser.add_argument("--seeds", nargs="*", default=names, choices=names)
    parser.add_argument("--workload", default="chat-5m")
    parser.add_argument("--model-config", help="JSON file of another model for the workload's data and tokenizer")
    parser.add_argument("--rounds", type=int, default=3, help="slices of each process")
    parser.add_argument("--repeats", type=int, default=2, help="how often all of it is done, in fresh processes")
    parser.add_argument("--seconds", type=float, default=1.0, help="least length of a slice")
    parser.add_argument("--threads", type=int, default=0, help="of every run; 0: all cores")
    parser.add_argument("--compile", action="store_true", help="measure torch.compile as well")
    parser.add_argument("--output", type=Path, help="everything measured, as JSON")
    given = parser.parse_args()
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        for seed in SEEDS:
            if seed.number in given.seeds:
                results.append(measured(seed, given, Path(name) / seed.number))
                if given.output:  # after each: a later failure costs none of it
                    given.output.write_text(json.dumps({"schema": 1, "seeds": results}, indent=1), encoding="utf-8")
                print("\n" + text(results[-1]), flush=True)
    print("\n" + LINE % ("seed", "what (steps: with it over without it)", "claimed", "before/s", "after/s",
                         "ratio here (quartiles)", "by CPU time"))  # fmt: skip
    print("\n".join(text(found) for found in results))


if __name__ == "__main__":
    main()
