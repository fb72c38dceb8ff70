"""What a stack and a target are worth on systems and boards for which they were not made."""

from __future__ import annotations

import re
from dataclasses import replace

from envdoctor.facts.model import Facts, Interpreter, Unavailable
from envdoctor.facts.need import known
from envdoctor.knowledge.generations import generation
from envdoctor.knowledge.machine import capabilities, platform_of
from envdoctor.locks import platforms
from envdoctor.locks.stack import Locked, Stack, select
from envdoctor.locks.target import Target


def without_unusable(target: Target, facts: Facts) -> Target:
    """The target without a variable that does nothing on this machine, or harm.

    The allocator's expandable segments do not exist on Windows, and on a Jetson the first of them fails ("CUDA driver
    error: out of memory"): https://github.com/pytorch/pytorch/issues/122057
    https://github.com/unslothai/unsloth-zoo/pull/1235, which leaves out WSL as well.
    """
    host, embedded = known(facts.host), [each for text in capabilities(facts) if (each := generation(text)) is not None]
    wsl = host is not None and (host.container or "").startswith("wsl")
    if not (platform_of(facts).startswith("win") or wsl or any(each.embedded for each in embedded)):
        return target
    kept = {name: value for name, value in target.variables.items() if "expandable_segments" not in value}
    return replace(target, variables=kept)


def releases_for_windows(stack: Stack, interpreter: Interpreter) -> tuple[Locked, ...]:
    """On Windows, the releases that a CUDA stack locks for Linux: PyTorch's own index has the same ones for Windows.

    Those of the registry are CPU builds there, so torch's carry the CUDA line in their label, as that index does. What
    exists on Linux only is left out. () where this is no Windows, or the stack is not for this Python.
    """
    if not stack.cuda or interpreter.markers.get("sys_platform") != "win32":
        return ()
    found = select(stack, platforms.interpreter(interpreter.markers["python_version"], "x86_64"))
    if isinstance(found, Unavailable):
        return ()
    label = f"+cu{stack.cuda.replace('.', '')}"
    return tuple(
        replace(pin, version=pin.version + label)
        if pin.name in ("torch", "torchvision") and "+" not in pin.version
        else pin
        for pin in found
        if not re.fullmatch(r"nvidia-.*|cuda-.*|triton|uvloop", pin.name)
    )
