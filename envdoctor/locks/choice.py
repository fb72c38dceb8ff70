"""Which target is meant, and which of its stacks this machine can run. Both answers come with their reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from envdoctor.errors import Trouble
from envdoctor.facts.model import Driver, Facts, Gpu, Interpreter, Unavailable
from envdoctor.facts.need import known
from envdoctor.knowledge.gpus import GpuModel, on_bus
from envdoctor.knowledge.installed_torch import torch_cuda
from envdoctor.knowledge.interpreter import interpreter_of
from envdoctor.knowledge.machine import bus_is_ours, capabilities, machine_of, model_of, models_on_bus
from envdoctor.knowledge.numbers import numbers
from envdoctor.knowledge.solver import Machine, best_build, fits
from envdoctor.knowledge.torch_builds import build_of
from envdoctor.locks import stack as stacks_of
from envdoctor.locks.comparison import differences
from envdoctor.locks.library import FOUND, UNLISTED, named_target
from envdoctor.locks.nearest import Board, nearest, target_named, weakest
from envdoctor.locks.stack import Locked, Stack
from envdoctor.locks.systems import releases_for_windows, without_unusable
from envdoctor.locks.target import StackChoice, Target, no_target


def choose_target(name: str, facts: Facts, targets: Mapping[str, Target]) -> tuple[Target, str]:
    """The target that ``name`` means and why: a name, a path to a target file, or "auto" for the GPU found.

    Raises `Trouble` for a name that no target has.
    """
    return _find_target(facts, targets) if name in FOUND else named_target(name, targets)


def _find_target(facts: Facts, targets: Mapping[str, Target]) -> tuple[Target, str]:
    boards = _boards(facts)
    if not boards:
        return _without_gpu(facts, targets)
    kinds = {board.name: board for board in reversed(boards)}
    if len(kinds) == 1:
        return _for_board(boards[0], targets)
    target, reason = _for_board(weakest(kinds.values()), targets)
    names = ", ".join(dict.fromkeys(board.name for board in boards))
    return target, f"of the different GPUs here ({names}) the weakest decides; {reason}"


def _boards(facts: Facts) -> tuple[Board, ...]:
    gpus = known(facts.gpus)
    if gpus is not None and gpus.devices:
        return tuple(_board(gpu, model_of(gpu, facts)) for gpu in gpus.devices)
    if models := models_on_bus(facts):
        return tuple(Board(model.printed, model.capability, model) for model in models)
    return tuple(Board(f"a GPU of capability {number}", number) for number in capabilities(facts))


def _board(gpu: Gpu, model: GpuModel | None) -> Board:
    return Board(
        gpu.name,
        gpu.capability or (model.capability if model else None),
        model,
        memory=gpu.memory / 1e9 if gpu.memory else None,
        power=gpu.power_default,
    )


def _without_gpu(facts: Facts, targets: Mapping[str, Target]) -> tuple[Target, str]:
    driver = known(facts.driver)
    if driver is not None and (driver.devices or (driver.pci and bus_is_ours(facts))):
        title = "NVIDIA GPU that could not be named"
        return no_target("unknown-gpu", title), "an NVIDIA GPU is here, but neither NVML nor the PCI bus names it"
    if facts.origin.kind == "pasted":
        return no_target(), "the report names no GPU"
    if facts.origin.kind == "image":
        return no_target(), "no GPU is here, and none was named"
    hosts = on_bus(driver.pci) if driver and driver.pci else ()
    if hosts and torch_cuda(facts):
        # A CUDA build says what was meant; `driver/devices` says what is missing.
        target, _ = _for_board(Board(hosts[0].printed, hosts[0].capability, hosts[0]), targets)
        return target, f"the host has {hosts[0].printed} and torch is a CUDA build, but this container was given no GPU"
    likely = targets.get("cpu")  # before others are read to see what they are
    cpu = likely if likely and likely.is_cpu else next((one for one in targets.values() if one.is_cpu), None)
    if cpu is None:
        return no_target("cpu", "CPU"), "no NVIDIA GPU was found"
    return cpu, "no NVIDIA GPU was found"


def _for_board(board: Board, targets: Mapping[str, Target]) -> tuple[Target, str]:
    if (named := target_named(targets.values(), board.name, board.model)) is not None:
        return named, f"{board.name} was found"
    if (found := nearest(board, targets.values())) is not None:
        target, shared = found
        return target, f"{board.name} was found; no target names it, {target.name} {shared} (its speeds do not apply)"
    unlisted = Target(
        name=UNLISTED, title=f"{board.name} (no target)", gpu_names=(board.name,), capability=board.capability
    )
    return unlisted, f"{board.name} was found; no target names it or its compute capability"


def choose_stack(
    target: Target, stacks: Mapping[str, Stack], facts: Facts, override: str | None = None, extras: Collection[str] = ()
) -> Target:
    """The target with ``choice`` filled in, or ``no_choice`` saying why no stack of it runs here.

    The first stack in the target's order whose torch the driver, all GPUs and the Python can run is taken; a later one
    that runs here as well if that is what is installed, since nobody has timed it to be slower. Where the
    target's GPU is absent (a lock prepared elsewhere) only the Python and the architecture are checked, and the reason
    says so. ``override`` names the stack instead; ``extras`` of it are wanted besides the target's own and those that
    are installed. Raises `Trouble` when that stack does not exist.
    """
    target = without_unusable(target, facts)
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
    first: Target | None = None
    for name in order:
        if first is not None and not _has_torch_of(stacks.get(name), facts):
            continue  # only the stack that is installed is looked for any more
        stack = stacks.get(name)
        if stack is None:
            refused += [] if first else [f"{name} is not among the lockfiles"]
            continue
        problems = _problems(stack, machine)
        pins = _pins(stack, interpreter, target.extras, _in_use(facts, extras))
        twin = releases_for_windows(stack, interpreter) if isinstance(pins, str) and interpreter is not None else ()
        pins = twin or pins
        if isinstance(pins, str):
            refused.append(f"{name}: {pins}")
        elif problems and override is None:
            refused.append(f"{name}: {problems}")
        else:
            reason = _reason(stack, target, refused, problems, unchecked, machine, override)
            choice = StackChoice(
                stack=name,
                reason=f"{reason}; its wheels are for Linux, so its releases are compared only" if twin else reason,
                pins=pins,
                cuda=stack.cuda,
                resolved=stacks_of.resolved_on(stack),
                digest=stacks_of.digest(pins) if pins and not twin else None,
                training_digest=stacks_of.training_digest(pins) if pins and not twin else None,
                only_compared=bool(twin),
            )
            chosen = replace(target, choice=choice, no_choice=None, refused=())
            if override is not None or (_has_torch_of(stack, facts) and _is_installed(choice, facts)):
                return chosen if first is None else _keep_installed(chosen, first)
            first = first or chosen
    if first is not None:
        return first
    return replace(target, choice=None, no_choice=_none(refused, target, machine), refused=tuple(refused))


def _has_torch_of(stack: Stack | None, facts: Facts) -> bool:
    """Is the torch of this stack installed? Asked before the stack is read for this Python, which takes longer."""
    packages = known(facts.packages)
    torch = packages.version("torch") if packages else None
    return stack is not None and stack.torch is not None and torch is not None and torch.startswith(stack.torch)


def _is_installed(choice: StackChoice, facts: Facts) -> bool:
    """Is what this stack locks installed, but for what cannot be slower?"""
    packages = known(facts.packages)
    if packages is None:
        return False
    found = differences(packages, choice.pins, choice.cuda)
    return not any(each.slower and each.relation != "missing" for each in found)


def _keep_installed(installed: Target, first: Target) -> Target:
    """The stack that is installed stands, although another comes before it."""
    assert installed.choice is not None
    assert first.choice is not None
    newer = first.choice.stack
    reason = f"{installed.choice.stack} is what is installed, and runs here ({newer} is newer)"
    return replace(installed, choice=replace(installed.choice, reason=reason, preferred=newer))


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


def _in_use(facts: Facts, asked: Collection[str]) -> frozenset[str]:
    """What is taken where a stack has an extra of that name: what is asked for, and what is installed already."""
    packages = known(facts.packages)
    return frozenset(asked) | frozenset(one.name for one in (packages.distributions if packages else ()))


def _pins(
    stack: Stack, interpreter: Interpreter | None, demanded: Collection[str], in_use: Collection[str]
) -> tuple[Locked, ...] | str:
    if interpreter is None:
        return "the Python version is not known"
    has = stacks_of.extras(stack)
    if missing := sorted(set(demanded) - has):
        return f"it locks no extra {', '.join(missing)}"
    pins = stacks_of.select(stack, interpreter, frozenset(demanded) | (has & frozenset(in_use)))
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
