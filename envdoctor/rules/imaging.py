"""Image files as facts: with the machine they are for, and the Python and packages by which a stack is chosen."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.facts.model import Driver, Facts, Gpu, Gpus, ImageFile, Interpreter, Origin
from envdoctor.facts.need import known
from envdoctor.locks.target import Target, no_target
from envdoctor.rules.image._contents import as_facts, every
from envdoctor.rules.image._reading import all_recipes

ANY_PYTHON = "3.12"
"""Where no file says it: one that every stack is locked for."""


def facts_of(images: tuple[ImageFile, ...], machine: Facts | None, driver: str | None) -> Facts:
    """The files as facts. ``machine``: where they run, if it has an NVIDIA GPU; ``driver``: the one there."""
    found = Facts(
        origin=Origin(kind="image", environment=", ".join(image.path for image in images)),
        images=images,
        interpreter=Interpreter(version=ANY_PYTHON),
    )
    there = known(machine.driver) if machine is not None else None
    if machine is not None and there is not None and there.nvidia_present:
        found = replace(found, driver=there, gpus=machine.gpus)
    if driver is not None:
        found = replace(found, driver=Driver(kernel_module=driver))
    for _, parsed in all_recipes(found):
        stages = list(every(parsed))
        with_torch = [held for held in stages if held.torch is not None]
        inside = as_facts(found, no_target(), (with_torch or stages)[-1])
        return replace(found, interpreter=inside.interpreter, packages=inside.packages)
    return found


def on_target(facts: Facts, target: Target) -> Facts:
    """The facts with the GPU of a target that was named, where no other one is known: a driver is judged with it."""
    gpus = known(facts.gpus)
    if target.capability is None or (gpus is not None and gpus.devices):
        return facts
    name = target.gpu_names[0] if target.gpu_names else target.title
    return replace(facts, gpus=Gpus(devices=(Gpu(index=0, name=name, capability=target.capability),)))
