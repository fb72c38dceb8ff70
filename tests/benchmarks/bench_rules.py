"""How much processor time do all rules together take on an environment with many packages?

    python tests/benchmarks/bench_rules.py [--packages 300] [--rounds 41] [--limit 20]

It makes facts of a healthy H100 with that many packages (each with requirements, tags and a RECORD), runs every rule
in turns, and prints the median of the whole and the dearest rules. Only this process's own time counts
(`time.process_time`), so neighbours disturb less; exit 1 above the limit, in milliseconds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from envdoctor.facts.model import Distribution, Facts, Packages  # noqa: E402
from envdoctor.locks.target import Target  # noqa: E402
from envdoctor.rules.catalog import load_rules  # noqa: E402
from envdoctor.rules.diagnose import diagnose  # noqa: E402
from envdoctor.rules.rule import Rule  # noqa: E402

from tests.rules.machines import H100, H100_TARGET  # noqa: E402


def environment(packages: int) -> Facts:
    """The healthy machine with ``packages`` further distributions that demand each other, as real ones do."""
    assert isinstance(H100.packages, Packages)
    more = tuple(
        Distribution(
            name=f"package-{number}",
            version=f"{number % 7}.{number % 11}.{number % 5}",
            location="/env/lib/python3.12/site-packages",
            installer="uv",
            requires=(
                *(f"package-{number * step % packages}>=0 ; python_version >= '3.9'" for step in (3, 5, 7, 11)),
                f"absent-{number}>=2 ; extra == 'more'",
                f"package-{(number + 1) % packages}<99,!=50.*",
            ),
            requires_python=">=3.9",
            tags=("py3-none-any",) if number % 3 else ("cp312-cp312-manylinux_2_28_x86_64",),
            files=40,
        )
        for number in range(packages)
    )
    whole = replace(H100.packages, distributions=H100.packages.distributions + more, damage_checked="sizes")
    return replace(H100, packages=whole)


def milliseconds(facts: Facts, target: Target, rules: tuple[Rule, ...], rounds: int) -> list[float]:
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        diagnosis = diagnose(facts, target, rules)
        taken.append((time.process_time() - start) * 1e3)
        assert not diagnosis.crashed, diagnosis.crashed
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--packages", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--limit", type=float, default=20.0)
    given = parser.parse_args()
    rules = load_rules()
    facts = environment(given.packages)
    (first,) = milliseconds(facts, H100_TARGET, rules, 1)
    taken = milliseconds(facts, H100_TARGET, rules, given.rounds)
    median = statistics.median(taken)
    low, _, high = statistics.quantiles(taken, n=4)
    print(f"{len(rules)} rules, {given.packages} further packages, {given.rounds} rounds, processor time")
    print(f"  first round {first:8.1f} ms (patterns are compiled, versions parsed)")
    print(f"  median      {median:8.1f} ms   quartiles {low:.1f} and {high:.1f}, limit {given.limit:g}")
    dear = {rule.name: statistics.median(milliseconds(facts, H100_TARGET, (rule,), 5)) for rule in rules}
    for name in sorted(dear, key=lambda name: -dear[name])[:8]:
        print(f"  {dear[name]:8.2f} ms   {name}")
    return 0 if max(median, first) <= given.limit else 1


if __name__ == "__main__":
    raise SystemExit(main())
