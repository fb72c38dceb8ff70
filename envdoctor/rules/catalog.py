"""The rules there are: one per file of `envdoctor.rules`, and those of plugins. A broken one ends nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from types import ModuleType

from envdoctor.facts.model import Facts
from envdoctor.locks.target import Target
from envdoctor.rules.finding import Finding, Severity
from envdoctor.rules.rule import Rule

PLUGINS = "envdoctor.rules"
_RULES = os.path.dirname(__file__)


def load_rules(without: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The rules of `envdoctor.rules`, one per file, and those of plugins, by name; not the families in ``without``.

    A plugin is an entry point of the group ``envdoctor.rules`` that names a `Rule`. A file or plugin that cannot be
    loaded, or does not hold exactly one rule, becomes a rule that crashes when it is run: it is reported, and the
    others go on.
    """
    families = [entry for entry in os.scandir(_RULES) if entry.is_dir() and entry.name not in without]
    files = [(family.name, name) for family in families for name in sorted(os.listdir(family))]
    rules = [_from_file(family, name[:-3]) for family, name in files if name.endswith(".py") and name[0] != "_"]
    return tuple(sorted([*rules, *_plugins()], key=lambda rule: rule.name))


def _from_file(family: str, name: str) -> Rule:
    """The file's one rule; rules that it imports from other files are theirs."""
    expected, file = f"{family}/{name.replace('_', '-')}", f"envdoctor/rules/{family}/{name}.py"
    try:
        own = vars(_module(family, name))
    except Exception as error:  # noqa: BLE001 - one broken file must not end every command
        return _broken_rule(expected, f"{file} cannot be imported: {type(error).__name__}: {error}")
    rules = {label: value for label, value in own.items() if isinstance(value, Rule) and value.name == expected}
    if not rules:
        return _broken_rule(expected, f"{file} holds no rule: it needs one function under @rule(...)")
    if len(rules) > 1:
        return _broken_rule(
            expected, f"{file} holds {len(rules)} rules ({', '.join(rules)}): each needs a file of its own"
        )
    return next(iter(rules.values()))


def _module(family: str, name: str) -> ModuleType:
    """As `importlib.import_module`, for a file whose place is known: looking for each of a hundred along the search
    path took a third of the time of loading them."""
    full = f"{PLUGINS}.{family}.{name}"
    if full in sys.modules:
        return sys.modules[full]
    module = ModuleType(full)
    module.__file__, module.__package__ = os.path.join(_RULES, family, f"{name}.py"), f"{PLUGINS}.{family}"
    sys.modules[full] = module
    try:
        code = SourceFileLoader(full, module.__file__).get_code(full)
        assert code is not None, "a file of source always has some"
        exec(code, vars(module))
    except BaseException:
        del sys.modules[full]
        raise
    return module


def _plugins() -> Iterator[Rule]:
    """Rules of other distributions. `importlib.metadata` takes long to import, so it is asked only if there are any."""
    wanted = f"[{PLUGINS}]".encode()
    if not any(wanted in said for said in _entry_points()):
        return
    from importlib import metadata

    for point in metadata.entry_points(group=PLUGINS):
        name = f"plugin/{point.name}"
        try:
            loaded = point.load()
            if not isinstance(loaded, Rule):
                raise TypeError(f"it is a {type(loaded).__name__}, not a rule made by @rule")
        except Exception as error:  # noqa: BLE001 - somebody else's code: its failure is reported, never ours
            yield _broken_rule(name, f"plugin {point.value} cannot be loaded: {type(error).__name__}: {error}")
        else:
            yield replace(loaded, name=name)


def _entry_points() -> Iterator[bytes]:
    """What each installed distribution says of its entry points."""
    for folder in dict.fromkeys(sys.path):
        if folder and os.path.isdir(folder):
            with os.scandir(folder) as entries:
                found = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
            for path in found:
                if os.path.isfile(file := f"{path}/entry_points.txt"):
                    with open(file, "rb") as stream:
                        yield stream.read()


def _broken_rule(name: str, problem: str) -> Rule:
    def broken(_facts: Facts, _target: Target) -> Iterator[Finding]:
        raise ImportError(problem)

    return Rule(name=name, severity=Severity.ERROR, judge=broken, doc=f"{name} could not be loaded")
