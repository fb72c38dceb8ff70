"""The house in figures: size, rules, names and the four walks, read from the source and nothing else.

    python -m tests.benchmarks.house [--root CHECKOUT] [--names] [--way check|fix|verify|train [--deep N]]

--names lists what is counted only by number; --way prints a walk door by door.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import statistics
from pathlib import Path

from tests.benchmarks.house import counts
from tests.benchmarks.house.source import Source
from tests.benchmarks.house.walks import EVERYTHING, WALKS, follow

ROOT = Path(__file__).resolve().parents[3]
DEPTHS = (1, 2, 4, EVERYTHING)


def size(source: Source) -> list[tuple[str, str]]:
    """Modules and lines, and how they lie."""
    rows = []
    for half in ("envdoctor", "trainer"):
        lines = [module.lines for module in source.modules.values() if module.name.split(".")[0] == half]
        rows.append((f"{half}: modules / lines / median / longest",
                     f"{len(lines)} / {sum(lines)} / {statistics.median(lines):g} / {max(lines)}"))  # fmt: skip
    everything = [module.lines for module in source.modules.values()]
    tests = counts.lines_of(source.root, "tests")
    flat = collections.Counter(str(module.path.parent.relative_to(source.root)) for module in source.modules.values())
    return [
        ("product: modules / lines", f"{len(everything)} / {sum(everything)}"),
        *rows,
        ("tests: modules / lines / over 400", f"{len(tests)} / {sum(tests)} / {sum(one > 400 for one in tests)}"),
        ("files flat: envdoctor / trainer / most elsewhere",
         f"{flat['envdoctor']} / {flat['trainer']} / {flat.most_common(1)[0][1]} in {flat.most_common(1)[0][0]}"),
    ]  # fmt: skip


def rules(source: Source) -> list[tuple[str, str]]:
    """What a rule costs."""
    found = list(counts.rules(source))
    imports, findings = (
        [counts.import_lines(one) for one in found],
        [n for one in found for n in counts.finding_lines(one)],
    )
    least = min(found, key=lambda one: one.lines)
    return [
        ("rules / lines of a rule's file", f"{len(found)} / {statistics.mean(one.lines for one in found):.1f}"),
        ("import lines a rule", f"{statistics.mean(imports):.2f}"),
        ("findings / lines a finding", f"{len(findings)} / {statistics.mean(findings):.2f}"),
        ("smallest rule", f"{least.lines} lines ({least.name})"),
    ]


def names(source: Source) -> list[tuple[str, str]]:
    """Names, types and borders."""
    twice = counts.classes_twice(source)
    rows = [
        ("classes named twice / without the API's mirror", f"{len(twice)} / {len(counts.beside_the_mirror(twice))}"),
        ("bare participles as functions", str(len(counts.bare_participles(source)))),
        ("private functions that only pass on", str(len(counts.only_passing_through(source)))),
        *((f"{half}: Any / type: ignore",
           f"{counts.words(source, half, 'Any')} / {counts.words(source, half, 'type: ignore')}")
          for half in ("envdoctor", "trainer")),
    ]  # fmt: skip
    if source.root == ROOT:
        borders = importlib.import_module("tests.test_boundaries")
        against = {(one, two) for one, two in borders.arrows()
                   if borders.wing(two) not in borders.ALLOWED[str(borders.wing(one))].split()}  # fmt: skip
        rows.append(("import circles / borders crossed", f"{len(list(borders.circles()))} / {len(against)}"))
    return rows


def walks(source: Source) -> list[tuple[str, str]]:
    """Stays / rooms / returns at several depths; empty where the checkout has no such door."""
    rows = []
    for walk in WALKS:
        module, _, name = walk.start.partition(":")
        if source.definition(module, name):
            ways = [follow(source, walk, deep).counts for deep in DEPTHS]
            rows.append((walk.name, "   ".join("/".join(map(str, counted)) for counted in ways)))
    deep = ", ".join("all" if one == EVERYTHING else str(one) for one in DEPTHS)
    return [(f"stays/rooms/returns, doors deep: {deep}", ""), *rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--way", choices=[walk.name.partition(":")[0] for walk in WALKS])
    parser.add_argument("--deep", type=int, default=EVERYTHING)
    given = parser.parse_args()
    source = Source(given.root.resolve())
    if given.way:
        (walk,) = (walk for walk in WALKS if walk.name.startswith(given.way))
        last = ""
        for module, function in follow(source, walk, given.deep).doors:
            print(f"{'  ' if module == last else '* '}{module}:{function}")
            last = module
        return 0
    for part in (size, rules, names, walks):
        for what, value in part(source):
            print(f"{what:58} {value}".rstrip())
    if given.names:
        for name, places in counts.classes_twice(source).items():
            print(f"class {name}: {', '.join(places)}")
        for one in [*counts.bare_participles(source), *counts.only_passing_through(source)]:
            print(one)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
