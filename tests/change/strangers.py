"""What others wrote and we read, and names that we are given: refused in words or judged, never trusted or waited for.

Each row says beforehand what must come of it; the bench, and what is bad everywhere, are those of `hardships`.
"""

from __future__ import annotations

import random
import sys

from tests.change import bench
from tests.change.attacks import Told
from tests.change.conftest import World
from tests.change.strange import assistants, documents, places

ATTACKS = {**documents.ATTACKS, **assistants.ATTACKS, **places.ATTACKS}


def trial(world: World, chance: random.Random, told: Told, number: int) -> None:
    """One attack, for the series of SAFETY.md."""
    bench.trial_of(ATTACKS, world, chance, told, number)


if __name__ == "__main__":
    sys.exit(bench.main(ATTACKS, sys.argv[1:]))
