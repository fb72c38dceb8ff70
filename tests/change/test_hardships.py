"""Each row of `tests.change.hardships` by itself; ``python -m tests.change.safety hardships 19`` counts them."""

from __future__ import annotations

import os
import random
import sys

import pytest

from tests.change.bench import Bench
from tests.change.conftest import World
from tests.change.hardships import ATTACKS

ROOT_ONLY = {"no_temporary_folder", "other_places"}  # they mount
QUICK = {"closed_streams", "nobody_reads", "small_files", "inherited", "deep", "no_home"}


@pytest.mark.skipif(sys.platform != "linux", reason="limits, mounts and /proc of Linux")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.faults) for name in ATTACKS]
)
def test_a_hardship_ends_as_it_says(name: str, world: World) -> None:
    if name in ROOT_ONLY and os.geteuid() != 0:
        pytest.skip("needs to mount")
    bench = Bench(world)
    ATTACKS[name](bench, random.Random(1))
    if bench.not_tried:
        pytest.skip(bench.not_tried)
    assert bench.bad == []
