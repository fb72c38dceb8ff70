"""Slows the bundled trainer down by a known amount; Python imports this file by itself from PYTHONPATH.

SLOWED_STEP=0.05 makes each step 5 % longer (asleep, after the optimizer); SLOWED_DATA=0.05 waits 50 ms for each batch.
"""

import importlib.machinery
import os
import sys
import time
from typing import Any


class AfterImport:
    """Calls `change(module)` once the module of this name has been imported."""

    def __init__(self, name: str, change: Any) -> None:
        self.name, self.change = name, change

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            self.change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


WAITED = [0.0]  # seconds of another run's turns so far


def slow_steps(share: float) -> Any:
    def change(module: Any) -> None:
        real, last = module.Stepper.step, [0.0]

        def step(self: Any, rate: float) -> Any:
            result = real(self, rate)
            own = time.perf_counter() - WAITED[0]
            if last[0]:
                time.sleep(share * (own - last[0]))
            last[0] = time.perf_counter() - WAITED[0]
            return result

        module.Stepper.step = step

    return change


def count_waiting(module: Any) -> None:
    real = module.Turns._wait

    def wait(self: Any) -> None:
        begun = time.perf_counter()
        real(self)
        WAITED[0] += time.perf_counter() - begun

    module.Turns._wait = wait


def slow_data(seconds: float) -> Any:
    def change(module: Any) -> None:
        real = module.steps

        def steps(*arguments: Any, **named: Any) -> Any:
            for item in real(*arguments, **named):
                time.sleep(seconds)
                yield item

        module.steps = steps

    return change


if os.environ.get("SLOWED_STEP"):
    sys.meta_path.insert(0, AfterImport("trainer.measure.turns", count_waiting))
    sys.meta_path.insert(0, AfterImport("trainer.compute.optimizer", slow_steps(float(os.environ["SLOWED_STEP"]))))
if os.environ.get("SLOWED_DATA"):
    sys.meta_path.insert(0, AfterImport("trainer.data.feed", slow_data(float(os.environ["SLOWED_DATA"]))))
