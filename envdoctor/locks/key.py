"""A name for what a target locks: the same locks give the same name, so an environment can be kept under it."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.bundle import lockfiles
from envdoctor.locks.fingerprint import fingerprint
from envdoctor.locks.library import FOUND, named_target, stack_path
from envdoctor.locks.target import Target


def of_target(target: Target, *, bundled: bool = True) -> str:
    """The fingerprint of a target that was read from a file; ``bundled``: with the locks that envdoctor brings."""
    found = (stack_path(stack, target) for stack in target.stacks)
    locks = [path for path in found if path is not None and (bundled or path.parent != lockfiles())]
    own = [target.path] if target.path is not None else []
    return fingerprint(path.read_bytes() for path in (*own, *locks))


def key(name: str, targets: Mapping[str, Target]) -> str:
    """``h100-3f2a9c01d7e4``: the target's name and the beginning of its fingerprint, to keep an environment under.

    For "auto", which names no target before a machine is seen, of all bundled ones. Raises `Trouble` for a target
    that does not exist.
    """
    if name in FOUND:
        paths = [*sorted(lockfiles().glob("pylock.*.toml")), *sorted((lockfiles() / "targets").glob("*.toml"))]
        return f"auto-{fingerprint(path.read_bytes() for path in paths)[:12]}"
    target, _ = named_target(name, targets)
    return f"{target.name}-{of_target(target)[:12]}"
