"""Names that packages dropped or brought along: who has to move when one is asked for in vain."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from envdoctor.knowledge import history, versions
from envdoctor.knowledge.requirements import Wanted, read
from envdoctor.knowledge.table import Rows, bundled_table
from envdoctor.values.frozen import frozen


@frozen
class Name:
    """One name of ``package`` (or one ``argument`` of it) that is gone, or there, from ``release`` on."""

    module: str
    package: str
    direction: Literal["removed", "added"]
    release: str
    source: str
    name: str = ""
    argument: str = ""
    moved_to: str = ""
    needed_by: tuple[str, ...] = ()
    cured_in: tuple[str, ...] = ()
    pin: str = ""
    note: str = ""
    since: str = ""  # of a name that is gone: the release that brought it
    read_from: str = ""  # the first release of which the sources were read: of earlier ones nothing is known

    def fits(self, version: str | None) -> bool:
        """Is the name absent from this release of the package? Of an unknown one that is supposed."""
        if version is None:
            return True
        if self.since and versions.below(version, self.since):
            return True
        there = versions.below(version, self.release)
        return there if self.direction == "added" else not there

    def at(self, version: str | None) -> Name:
        """What is known of it for this release: before the first that was read it may not have come yet."""
        if not version or self.since or self.direction == "added" or not versions.below(version, self.read_from or "0"):
            return self
        return replace(self, since=self.read_from, pin=f"{self.package}>={self.read_from},<{self.release}")

    def is_of(self, module: str, name: str) -> bool:
        """Is this about the very module ``module.name``, and not about one above it?"""
        return (self.module, self.name) == (f"{module}.{name}", "")

    def caller(self, installed: dict[str, str], named: str | None) -> Wanted | None:
        """The package that imports it: the one ``named`` in the traceback, else the one that is installed."""
        wanted = [read(line) for line in self.needed_by]
        found = [one for one in wanted if one is not None]
        for one in found:
            if one.name == named:
                return one
        return next((one for one in found if versions.within(installed.get(one.name, ""), one.specifier)), None)

    def cure(self, caller: str) -> str | None:
        """The release of this caller that does without the name."""
        return next((line for line in self.cured_in if (one := read(line)) and one.name == caller), None)


@frozen
class Dropped:
    """``names`` of a ``module`` that are gone from ``release`` on."""

    module: str
    package: str
    release: str
    names: tuple[str, ...]
    source: str

    def row(self, name: str) -> Name:
        return Name(
            module=self.module,
            package=self.package,
            direction="removed",
            release=self.release,
            source=self.source,
            name=name,
            pin=f"{self.package}<{self.release}",
        )


@frozen
class Argument:
    """Arguments of ``owner`` that are gone, or there, from ``release`` on: of a class, a method or a function."""

    owner: str
    package: str
    direction: Literal["removed", "added"]
    release: str
    names: tuple[str, ...]
    source: str

    def row(self, argument: str) -> Name:
        return Name(
            module="",
            package=self.package,
            direction=self.direction,
            release=self.release,
            source=self.source,
            name=self.owner,
            argument=argument,
            pin=f"{self.package}<{self.release}" if self.direction == "removed" else "",
        )


NO_NAMES = (
    "(?:after|again|any|anymore|and|as|at|because|before|but|by|error|for|from|here|if|in|instead|is|of|on|or|since|so"
    "|that|then|to|was|when|which|while|with)"
)
"""Words of a sentence that stand behind "argument" where no name does; of an expression, in small letters."""

_TABLE = bundled_table("names")
ARGUMENTS = Rows(bundled_table("arguments"), "argument", Argument, by="names")
_OWNED = Rows(bundled_table("arguments"), "argument", Argument, by="package")
METHODS = Rows(bundled_table("methods"), "argument", Argument, by="names")
_CALLED = Rows(bundled_table("methods"), "argument", Argument, by="owner")
DROPPED = Rows(bundled_table("dropped"), "dropped", Dropped, by="names")
NAMES = Rows(_TABLE, "name", Name)
_MODULES = Rows(_TABLE, "name", Name, by="module")
_ARGUMENTS = Rows(_TABLE, "name", Name, by="argument")


def is_argument(name: str) -> bool:
    """Is it an argument that some library dropped or brought along?"""
    return any(True for _ in ARGUMENTS.among({name})) or any(True for _ in _ARGUMENTS.among({name}))


@functools.cache
def _homes() -> Mapping[str, str]:
    return {name: package for package, names in _TABLE.head["homes"].items() for name in names}


def home_of(name: str) -> str | None:
    """The distribution that a well-known class or function belongs to."""
    return _homes().get(name)


def distribution_of(module: str) -> str | None:
    """The distribution that brings a module, where it is named otherwise ("cv2")."""
    found = _TABLE.head["imports"].get(module.partition(".")[0])
    return found if isinstance(found, str) else None


def of_name(module: str, name: str) -> Iterator[Name]:
    """Rows about ``from module import name``, those of the very module first; a name is also sought in the package's
    other modules, since it is told of the place where somebody found it."""
    top = module.partition(".")[0]
    found = [row for row in NAMES.among({name}) if not row.argument and row.module.partition(".")[0] == top]
    yield from sorted(found, key=lambda row: row.module != module)
    yield from (gone.row(name) for gone in DROPPED.among({name}) if gone.module == module)
    if (span := history.of_name(module, name)) is not None:
        yield _row(span, module, name)


def of_module(module: str) -> Iterator[Name]:
    """Rows about the module itself, or one above it."""
    parts = module.split(".")
    above = {".".join(parts[:end]) for end in range(2, len(parts) + 1)}
    yield from (row for row in _MODULES.among(above) if not row.name and not row.argument)
    if (span := history.of_module(module)) is not None:
        yield _row(span, span.name)


def shown_as(package: str) -> tuple[str, ...]:
    """The names under which a report shows a library."""
    return history.shown_as(package)


def libraries_read() -> tuple[str, ...]:
    """The libraries whose releases were read."""
    return history.packages()


def newest_read(package: str) -> str:
    """The newest release of a library whose releases were read; "" of any other."""
    return history.newest(package)


def library_of(call: str) -> str:
    """The library, of those whose releases were read, with whose module a dotted call begins ("hydra.main")."""
    return history.library_of(call)


def one_class_with(package: str, argument: str, named: Collection[str] = ()) -> str:
    """The class of a library of which an argument came or went: the one that is ``named``, or any of them where it came
    or went with one release for all; "" where there is none, or nobody can tell which."""
    found = history.classes_with(package, argument)
    told = [name for name in found if name in named]
    if len(told) == 1:
        return told[0]
    spans = {(span.added, span.removed) for name in found for span in history.of_argument(name, argument)}
    return found[0] if len(spans) == 1 else ""


def only_library_with(argument: str) -> str:
    """The one library of `libraries_with`; "" where there is none, or more than one."""
    found = libraries_with(argument)
    return found[0] if len(found) == 1 else ""


@functools.lru_cache(maxsize=100)  # asked for one and for several, and each library's file is a search
def libraries_with(argument: str) -> tuple[str, ...]:
    """The libraries that were read of which classes gained or lost an argument of this name, where the name is such
    that no others are likely to have it for different things."""
    if not _METHOD.fullmatch(argument):
        return ()
    return tuple(package for package in history.packages() if history.classes_with(package, argument))


def is_module(path: str) -> bool:
    """Is this a module that came or went, and no name within one?"""
    return history.is_module(path)


def neither_came_nor_went(module: str) -> tuple[str, ...]:
    """Of a module of which every name that came or went is known: the releases that were read for it."""
    return history.reads(module)


def in_other_capitals(module: str, name: str) -> Name | None:
    """The name of the module that differs from this one in capitals alone: LlamaForCausalLM for LLaMAForCausalLM."""
    span = history.in_other_capitals(module, name)
    return _row(span, module, span.name) if span else None


def of_member(owner: str, member: str) -> Iterator[Name]:
    """Rows about a member of classes that are named so, in every library that has one."""
    return (_row(span, owner, f"{owner}.{member}") for span in history.of_member(owner, member))


_METHOD = re.compile(r"(?=.{10,60}$)[a-z]+(?:_[a-z0-9]+)+")
"""A name that no two libraries are likely to have for different things."""


def of_call(callee: str, argument: str) -> Iterator[Name]:
    """Rows about an argument of callables that are named so, in every library that has one."""
    callee = callee.removesuffix(".__init__")
    told = tuple(history.of_argument(callee, argument))
    yield from (_row(span, callee, callee, argument) for span in told)
    read = {span.package for span in told}
    owned = METHODS.among({argument}, lambda block: block.texts("owner") == (callee,))
    rows = tuple(row.row(argument) for row in owned if row.package not in read)
    yield from rows
    if not told and not rows and _METHOD.fullmatch(callee) and (span := history.of_method(callee, argument)):
        yield _row(span, callee, callee, argument)
    if "." in callee and (package := history.library_of(callee)):
        last = callee.rpartition(".")[2]
        of_library = (span for span in history.of_argument(last, argument) if span.package == package)
        yield from (_row(span, callee, callee, argument) for span in of_library)


def _row(span: history.Span, module: str, name: str = "", argument: str = "") -> Name:
    """A span as a row: without an end it was added, else it is gone."""
    return Name(
        module=module,
        package=span.package,
        direction="removed" if span.removed else "added",
        release=span.removed or span.added,
        source=span.source,
        name=name,
        argument=argument,
        moved_to=span.moved_to,
        pin=span.requirement if span.removed else "",
        since=span.added if span.removed else "",
        read_from=span.read[0] if span.read else "",
    )


def of_argument(callee: str, argument: str) -> Iterator[Name]:
    """Rows about an argument of a callable, named as Python names it in a TypeError ("Trainer.__init__")."""
    callee = callee.removesuffix(".__init__")
    names = {callee, callee.rpartition(".")[2], *([".".join(callee.split(".")[-2:])] if "." in callee else [])}
    names.add(callee.replace("Seq2SeqTraining", "Training"))  # which takes all that the plain one takes
    by_hand = tuple(row for row in NAMES.among(names) if row.argument == argument)
    return iter(by_hand or tuple(row.row(argument) for row in ARGUMENTS.among({argument}) if row.owner in names))


def of_unnamed_callable(argument: str, said: str) -> Iterator[Name]:
    """Rows about an argument, where Python before 3.10 says no class ("__init__()"): of those that the text names."""
    words = frozenset(re.findall(r"\w+", said))
    return (row for row in _ARGUMENTS.among({argument}) if row.name.rpartition(".")[2] in words)


def of_a_constructor(package: str, argument: str) -> Iterator[Name]:
    """The row of a class of the package whose constructor gained or lost the argument, where it is one alone, or all of
    them did with one release."""
    found = [
        row for row in ARGUMENTS.among({argument}) if row.package == package and re.fullmatch(r"[A-Z]\w*", row.owner)
    ]
    if len({(row.direction, row.release) for row in found}) == 1:
        yield found[0].row(argument)


_CALLED_BY_TRAINER = frozenset(
    "compute_loss create_optimizer_and_scheduler create_scheduler evaluation_loop get_train_dataloader log "
    "prediction_loop prediction_step save_model training_step".split()
)


def overridden_method(callee: str, argument: str) -> Name | None:
    """The row of a method that somebody overrides ("MyTrainer.compute_loss"), and to which some releases of the package
    pass more than the override knows."""
    owner, _, method = callee.rpartition(".")
    owners = {f"{each}.{method}" for each in ("Trainer", "SFTTrainer", "Accelerator")}
    if method == "log" and owner and not owner.endswith("Trainer"):
        return None  # many have a method of this name
    by_hand = (row for row in NAMES.among(owners) if row.argument == argument and row.direction == "added")
    if (row := next(by_hand, None)) is not None or not owner.endswith("Trainer"):
        return row
    if not (method in _CALLED_BY_TRAINER or re.match("_[a-z]", method)):
        return None
    return next((row for row in of_call(f"Trainer.{method}", argument) if row.package == "transformers"), None)


def is_class_of(package: str, name: str) -> bool:
    """Is a class of this name known to be of the package?"""
    if history.knows(package, name) or any(row.owner == name for row in _OWNED.among({package})):
        return True
    methods = {owner for owner in _CALLED.names() if owner.startswith(f"{name}.")}
    return any(row.package == package for row in _CALLED.among(methods))
