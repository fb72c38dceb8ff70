"""Which target is meant, and which of its stacks this machine can run. Both answers come with their reason."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envdoctor import stack as stacks_of
from envdoctor.compat import pci
from envdoctor.compat.gpus import capability_of, identify
from envdoctor.compat.installed_torch import torch_cuda
from envdoctor.compat.interpreter import interpreter_of
from envdoctor.compat.machine import bus_is_ours, capabilities, gpu_names, machine_of
from envdoctor.compat.numbers import capability, numbers
from envdoctor.compat.solver import Machine, best_build, fits
from envdoctor.compat.torch_builds import build_of
from envdoctor.errors import Trouble
from envdoctor.facts import Driver, Facts, Interpreter, Unavailable
from envdoctor.rule import known
from envdoctor.stack import Locked, Stack
from envdoctor.target import Choice, Target, load, no_target

UNLISTED = "unlisted"
"""Name of the target made up for a GPU that no target file names; asking for it is asking for the GPU found."""


def choose_target(name: str, facts: Facts, targets: Mapping[str, Target]) -> tuple[Target, str]:
    """The target that ``name`` means and why: a name, a path to a target file, or "auto" for the GPU found.

    Raises `Trouble` for a name that no target has, with the nearest ones.
    """
    if name in ("auto", UNLISTED):
        return _found(facts, targets)
    if name.endswith(".toml") or os.sep in name:
        return load(Path(name)), f"the target file {name}"
    wanted = _plain(name)
    if name in targets:  # and no other needs to be read
        return targets[name], "asked for by name"
    for key, target in targets.items():
        if wanted in (_plain(key), *map(_plain, target.gpu_names)):
            return target, "asked for by name"
    known_names = sorted(targets)
    import difflib  # for a mistake only: it takes a millisecond

    near = difflib.get_close_matches(wanted, known_names, n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    raise Trouble(
        f"there is no target {name!r}",
        remedy=f"{hint}Known: {', '.join(known_names)}; or give the path of a target file.",
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("nvidia", "").replace("geforce", ""))


@dataclass(frozen=True, slots=True)
class _Gpu:
    name: str
    capability: str | None


def _found(facts: Facts, targets: Mapping[str, Target]) -> tuple[Target, str]:
    found = _gpus(facts)
    if not found:
        return _without_gpu(facts, targets)
    models = list(dict.fromkeys(found))
    if len(models) == 1:
        return _for_gpu(models[0], targets)
    weakest = min(models, key=lambda gpu: (capability(gpu.capability) or (99, 0), gpu.name))
    target, reason = _for_gpu(weakest, targets)
    names = ", ".join(gpu.name for gpu in models)
    return target, f"of the different GPUs here ({names}) the weakest decides; {reason}"


def _gpus(facts: Facts) -> tuple[_Gpu, ...]:
    gpus = known(facts.gpus)
    if gpus is not None and gpus.devices:
        return tuple(_Gpu(gpu.name, gpu.capability or capability_of(gpu.name)) for gpu in gpus.devices)
    named = gpu_names(facts)
    if named:
        return tuple(_Gpu(name, capability_of(name)) for name in named)
    return tuple(_Gpu(f"a GPU of capability {number}", number) for number in capabilities(facts))


def _without_gpu(facts: Facts, targets: Mapping[str, Target]) -> tuple[Target, str]:
    driver = known(facts.driver)
    if driver is not None and (driver.devices or (driver.pci and bus_is_ours(facts))):
        title = "NVIDIA GPU that could not be named"
        return no_target("unknown-gpu", title), "an NVIDIA GPU is here, but neither NVML nor the PCI bus names it"
    if facts.origin.kind == "pasted":
        return no_target(), "the report names no GPU"
    hosts = pci.names(driver.pci) if driver else ()
    if hosts and torch_cuda(facts):
        # A CUDA build says what was meant; `driver/devices` says what is missing.
        target, _ = _for_gpu(_Gpu(hosts[0], capability_of(hosts[0])), targets)
        return target, f"the host has {hosts[0]} and torch is a CUDA build, but this container was given no GPU"
    cpu = next((target for target in targets.values() if target.is_cpu), None)
    if cpu is None:
        return no_target("cpu", "CPU"), "no NVIDIA GPU was found"
    return cpu, "no NVIDIA GPU was found"


def _for_gpu(gpu: _Gpu, targets: Mapping[str, Target]) -> tuple[Target, str]:
    for same in (_same_name, _same_model):
        for target in targets.values():
            if any(same(gpu.name, name) for name in target.gpu_names):
                return target, f"{gpu.name} was found"
    alike = [target for target in targets.values() if target.capability and target.capability == gpu.capability]
    if alike:
        # Flags and stacks follow from the architecture; speeds belong to the very model and are left behind.
        nearest = replace(alike[0], baselines=())
        reason = (
            f"{gpu.name} was found; no target names it, {nearest.name} has the same compute capability "
            f"{gpu.capability} (its speeds do not apply)"
        )
        return nearest, reason
    unlisted = Target(name=UNLISTED, title=f"{gpu.name} (no target)", gpu_names=(gpu.name,), capability=gpu.capability)
    return unlisted, f"{gpu.name} was found; no target names it or its compute capability"


def _same_name(found: str, listed: str) -> bool:
    return _plain(found) == _plain(listed)


def _same_model(found: str, listed: str) -> bool:
    """Do two names mean one model? By the table of models where both are known, else by containment."""
    ours, theirs = identify(found), identify(listed)
    if ours is not None and theirs is not None:
        return ours == theirs
    return bool(_plain(listed)) and _plain(listed) in _plain(found)


def choose_stack(target: Target, stacks: Mapping[str, Stack], facts: Facts, override: str | None = None) -> Target:
    """The target with ``choice`` filled in, or ``no_choice`` saying why no stack of it runs here.

    The first stack in the target's order whose torch the driver, all GPUs and the Python can run is taken. Where the
    target's GPU is absent (a lock prepared elsewhere) only the Python and the architecture are checked, and the reason
    says so. ``override`` names the stack instead. Raises `Trouble` when that stack does not exist.
    """
    if override is not None and override.endswith(".toml"):
        override = Path(override).name.split(".")[1]  # pylock.<name>.toml, already read under its name
    if override is not None and override not in stacks:
        import difflib

        near = difflib.get_close_matches(override, list(stacks), n=3, cutoff=0.4)
        raise Trouble(
            f"there is no stack {override!r}",
            remedy=f"Known: {', '.join(sorted(stacks))}." + (f" Nearest: {', '.join(near)}." if near else ""),
        )
    order = [override] if override is not None else _order(target, stacks)
    if not order:
        return replace(target, choice=None, no_choice=f"target {target.name} lists no stacks")
    machine, unchecked = _machine(target, facts)
    interpreter = interpreter_of(facts)
    refused: list[str] = []
    for name in order:
        stack = stacks.get(name)
        if stack is None:
            refused.append(f"{name} is not among the lockfiles")
            continue
        problems = _problems(stack, machine)
        pins = _pins(stack, interpreter)
        if isinstance(pins, str):
            refused.append(f"{name}: {pins}")
        elif problems and override is None:
            refused.append(f"{name}: {problems}")
        else:
            reason = _reason(stack, target, refused, problems, unchecked, machine, override)
            choice = Choice(
                stack=name, reason=reason, pins=pins, cuda=stack.cuda, digest=stacks_of.digest(pins) if pins else None
            )
            return replace(target, choice=choice, no_choice=None)
    return replace(target, choice=None, no_choice=_none(refused, target, machine))


def _order(target: Target, stacks: Mapping[str, Stack]) -> list[str]:
    """The target's own order; for a GPU that no target names, every CUDA stack, newest line first."""
    if target.stacks or target.is_cpu:
        return list(target.stacks)
    cuda = [stack for stack in stacks.values() if stack.cuda]
    return [stack.name for stack in sorted(cuda, key=lambda stack: numbers(stack.cuda), reverse=True)]


def _machine(target: Target, facts: Facts) -> tuple[Machine, str]:
    """The machine to judge for, and what could not be checked ("" when everything could)."""
    machine = machine_of(facts)
    if target.is_cpu:
        return replace(machine, driver=None, driver_cuda=None, capabilities=()), ""
    here = target.capability is None or target.capability in machine.capabilities
    if here and machine.capabilities:
        return machine, "" if machine.driver or machine.driver_cuda else "the driver's version is not known"
    wanted = () if target.capability is None else (target.capability,)
    elsewhere = replace(machine, driver=None, driver_cuda=None, capabilities=wanted)
    driver = known(facts.driver)
    no_gpu = driver is None or not isinstance(driver, Driver) or not driver.nvidia_present
    seen = "there is no NVIDIA GPU here" if no_gpu else f"the GPU here is not the {target.title}"
    return elsewhere, f"{seen}, so the driver could not be checked"


def _problems(stack: Stack, machine: Machine) -> str:
    """Why this stack's torch cannot run on the machine, "" when nothing speaks against it."""
    if stack.torch is None:
        return ""
    build = build_of(stack.torch, stack.cuda, machine=machine.machine, windows=machine.windows)
    # Which Pythons and C libraries a stack serves its own wheels say; the tables would only repeat it.
    fit = fits(replace(build, python=None, glibc=None), machine)
    return "; ".join(obstacle.message for obstacle in fit.obstacles)


def _pins(stack: Stack, interpreter: Interpreter | None) -> tuple[Locked, ...] | str:
    if interpreter is None:
        return "the Python version is not known"
    pins = stacks_of.select(stack, interpreter)
    return pins.reason if isinstance(pins, Unavailable) else pins


def _reason(
    stack: Stack,
    target: Target,
    refused: Sequence[str],
    problems: str,
    unchecked: str,
    machine: Machine,
    override: str | None,
) -> str:
    """One sentence."""
    if override is not None:
        doubt = problems and f"; it will not run here: {problems}"
        return f"{stack.name} was asked for{doubt}" + (f"; {unchecked}" if unchecked and not problems else "")
    if not stack.cuda:
        reason = f"{stack.name} is the target's stack for this Python"
    elif unchecked:
        reason = f"{stack.name} is the first of {target.name} that Python {machine.python} can use; {unchecked}"
    else:
        driver = f"driver {machine.driver}" if machine.driver else f"a driver for CUDA {machine.driver_cuda}"
        devices = " and ".join(dict.fromkeys(machine.capabilities))
        reason = f"{stack.name} runs with {driver} on compute capability {devices} under Python {machine.python}"
    return f"{reason} (passed over: {'; '.join(refused)})" if refused else reason


def _none(refused: Sequence[str], target: Target, machine: Machine) -> str:
    reason = "; ".join(refused)
    if target.is_cpu or not machine.capabilities:
        return f"no stack fits: {reason}"
    best = best_build(machine)
    advice = f"{best.reason}, but no lockfile has it" if best.build else best.reason
    return f"no stack fits: {reason}. {advice[0].upper()}{advice[1:]}."
