"""What a run of the series is subjected to: a neighbour on the cores, or a slow-down of known size."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from envdoctor.locks.target import Target
from envdoctor.system import process

SLOWED = Path(__file__).parent / "slowed"
HOG_SECONDS = 180.0  # a hog ends by itself, should the series be killed

# Each takes its deadline from the command line, so that none is ever left behind.
_BUSY = "import sys,time\nend=time.monotonic()+float(sys.argv[1])\nwhile time.monotonic()<end: sum(range(20000))"
_BURSTS = (
    "import sys,time,random\nend=time.monotonic()+float(sys.argv[1])\n"
    "while time.monotonic()<end:\n stop=time.monotonic()+random.uniform(.5,3)\n"
    " while time.monotonic()<stop: sum(range(20000))\n time.sleep(random.uniform(.5,3))"
)
_COPIES = (
    "import sys,time\nend=time.monotonic()+float(sys.argv[1])\n"
    "block=bytearray(64<<20)\nwhile time.monotonic()<end: bytes(block)"
)
NEIGHBOURS: Mapping[str, tuple[str, ...]] = {
    "one core": (_BUSY,),
    "bursts": (_BURSTS,),
    "memory": (_COPIES,),
    "both cores": (_BUSY, _BUSY),
}


@dataclass(frozen=True, kw_only=True)
class Condition:
    """``true``: the slow-down that was put in, as a share of the step time; None where it is not known by design."""

    name: str
    true: float | None = 0.0
    programs: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def target(self, target: Target) -> Target:
        return replace(target, variables={**target.variables, **self.variables})


QUIET = Condition(name="quiet")


def neighbour(number: int) -> Condition:
    """One of the neighbours in turn."""
    name = list(NEIGHBOURS)[number % len(NEIGHBOURS)]
    return Condition(name=f"disturbed: {name}", programs=NEIGHBOURS[name])


def injected(word: str) -> Condition:
    """``5``: each step takes 5 % longer; ``one-thread``, ``data``, ``recompute``, ``old-isa``: a fault of that kind."""
    faults = {
        "one-thread": Condition(name="injected: one thread", true=None, settings={"threads": 1}),
        "recompute": Condition(name="injected: recompute", true=None, settings={"recompute": True}),
        # Kernels for an older processor, as a variable left over in an image asks for.
        "old-isa": Condition(name="injected: AVX2 kernels", true=None, variables={"ONEDNN_MAX_CPU_ISA": "AVX2"}),
        "data": Condition(name="injected: data 40 ms", true=None, variables=slowed(data=0.04)),
    }
    if word in faults:
        return faults[word]
    share = float(word) / 100.0
    return Condition(name=f"injected: {word} %", true=share, variables=slowed(step=share))


def slowed(*, step: float = 0.0, data: float = 0.0) -> dict[str, str]:
    """Variables that make the trainer slower; see slowed/sitecustomize.py, which this program's children find."""
    present = os.environ.get("PYTHONPATH", "")
    if str(SLOWED) not in present.split(os.pathsep):  # no variable of a target: it is read before any hook
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(SLOWED), present)))
    found: dict[str, str] = {}
    if step:
        found["SLOWED_STEP"] = str(step)
    if data:
        found["SLOWED_DATA"] = str(data)
    return found


@contextmanager
def under(condition: Condition) -> Iterator[None]:
    """The condition's neighbours work while the body runs, and are ended after it."""
    children = [
        process.Child([sys.executable, "-c", code, str(HOG_SECONDS)], deadline=HOG_SECONDS + 10)
        for code in condition.programs
    ]
    try:
        yield
    finally:
        for child in children:
            child.kill()
