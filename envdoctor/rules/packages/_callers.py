"""Whose code raised an error: the reader of a report notes it behind the line, as the traceback has it."""

from envdoctor.knowledge.names import distribution_of, shown_as
from envdoctor.knowledge.questions import normal
from envdoctor.rules.rule import Facts, Pattern, known, messages

_OTHER_NAMES = {"swift": "ms-swift", "flashinfer": "flashinfer-python", "sgl_kernel": "sgl-kernel"}
"""Modules that no table of missing ones has, since their name is a package of somebody else's, too."""
_LAZY = Pattern(r"\bFailed to import (?P<name>[a-z_]\w{1,40})\.[\w.]{1,120} because")
"""transformers, trl and diffusers import their parts when they are asked for, and say of which part they speak."""


def caller_of(line: str) -> str | None:
    """The distribution, as far as its module tells its name."""
    found = messages.RAISED_IN.search(line) or _LAZY.search(line)
    if found is None:
        return None
    return normal(_OTHER_NAMES.get(found["name"], "") or distribution_of(found["name"]) or found["name"])


def asker_of(caller: str | None, line: str) -> str | None:
    """How to call who asks: of a part that could not be imported nobody knows who failed within it."""
    return f"{caller} or what it imports" if caller and messages.RAISED_IN.search(line) is None else caller


def is_seen(package: str, facts: Facts, line: str) -> bool:
    """Does the report show that this library is in use: installed, imported, or in the traceback's paths?"""
    packages = known(facts.packages)
    present = {d.name for d in packages.distributions} if packages else set()
    shown = {key.removeprefix("module ") for key in facts.remarks if key.startswith("module ")}
    modules = {module.replace("_", "-").lower() for module in (*shown, *present, caller_of(line) or "")}
    return any(name in modules for name in shown_as(package))


_EXTRAS = {"vllm": ("trl",)}
"""Who has an extra of this name, which asks for the releases of the package that its own code calls."""


def extra_for(package: str, facts: Facts, line: str) -> str:
    """The caller with its extra ("trl[vllm]") that brings a release of the package which goes with it; "" for none."""
    callers = (name for name in _EXTRAS.get(package, ()) if is_seen(name, facts, line))
    return next((f"{name}[{package}]" for name in callers), "")
