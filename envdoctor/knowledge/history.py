"""When a library's names came and went, release by release: modules, what they define, members of classes, arguments.

Read from the sources of the first and the last release of each minor series, yanked ones too, and of those between
where the first line has them: a bound is the first of these releases that has the name, or lacks it. One file of lines
for each library:

    = NAME RELEASES   the distribution, and the releases that were read
    m A..B MODULES    there from A on and gone from B on; "" for always and for still
    n MODULE          of this module, in the lines below it, which start with a blank: `` A..B NAMES``, each with
                      ``>MODULE`` where it went to, or ``>MODULE.NAME`` of what does its work; `` .. NAMES`` for those
                      that stayed while a module of the name came or went; ``n MODULE partly`` where other names of it
                      are not told for certain, as of those that a module makes while it runs
    c CLASS BASES     of this class its members
    a CALLABLE        of this function, method or class its arguments

What never changed is not in it, nor what the sources do not tell for certain.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import replace

from envdoctor.knowledge import versions
from envdoctor.knowledge.requirements import normal
from envdoctor.knowledge.table import FOLDER
from envdoctor.values.document import read_text
from envdoctor.values.frozen import frozen

_FOLDER = FOLDER / "history"
_LINES = re.compile(r"(?: .*\n)+")
_DEEPEST = 16
"""Parts of the longest name of a module that is looked for."""
_TOPS = {  # module -> the file that has it, where they are not named alike
    "hydra": "hydra-core",
    "huggingface_hub": "huggingface-hub",
    "langchain_community": "langchain-community",
    "langchain_core": "langchain-core",
    "lightning": "pytorch-lightning",
    "open_clip": "open-clip-torch",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "pytorch_lightning": "pytorch-lightning",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
}


@frozen
class Span:
    """``name`` is in the releases of ``package`` from ``added`` to before ``removed``, "" for no such bound."""

    package: str
    name: str
    added: str
    removed: str
    moved_to: str = ""
    read: tuple[str, ...] = ()

    @property
    def requirement(self) -> str:
        """The releases that have it."""
        bounds = [f">={self.added}"] if self.added else []
        return self.package + ",".join([*bounds, *([f"<{self.removed}"] if self.removed else [])])

    @property
    def source(self) -> str:
        edges = [at for at in (self._before(self.added), self.added, self._before(self.removed), self.removed) if at]
        return f"sources of {self.package} {', '.join(dict.fromkeys(edges))}"

    def _before(self, release: str) -> str:
        """The release that was read before this one: where a series was read from a later patch on, it went before."""
        older = [each for each in self.read if release and versions.below(each, release)]
        return older[-1] if older else ""


@functools.cache
def packages() -> tuple[str, ...]:
    """The libraries that were read."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.txt")))


def reads(module: str) -> tuple[str, ...]:
    """The releases in which this module's names were read; none where it is not among those that changed."""
    module = _known_as(module)
    book = _book_of(module)
    if book is None or f"\nn {module}\n" not in book.text:
        return ()
    whole = book.module(module)
    return () if whole is not None and whole.added else book.read  # with a new module came names of which no row tells


def of_name(module: str, name: str) -> Span | None:
    """When ``from module import name`` worked, where it did not always."""
    module = _known_as(module)
    book = _book_of(module)
    if book is None:
        return None
    found = book.under(f"n {module}", name) or book.module(f"{module}.{name}")
    if found is not None and not (found.added or found.removed):
        return None
    whole = book.module(module)
    if found is not None and whole is not None and not found.removed:
        return replace(found, removed=whole.removed)  # it left with the module
    return found


def of_module(module: str) -> Span | None:
    """When the module was there, or the one above it that is missing."""
    module = _known_as(module)
    book = _book_of(module)
    parts = module.split(".", _DEEPEST)[:_DEEPEST]  # a name from outside may have thousands
    inwards = [".".join(parts[:end]) for end in range(2, len(parts) + 1)]
    found = (book.module(each) for each in reversed(inwards)) if book else ()  # an inner one has the narrower bounds
    return next((span for span in found if span is not None), None)


def in_other_capitals(module: str, name: str) -> Span | None:
    """A name of the module that differs from this one in capitals alone."""
    book = _book_of(module)
    return book.in_other_capitals(f"n {_known_as(module)}", name) if book else None


def is_module(path: str) -> bool:
    """Is this a module that came or went?"""
    path = _known_as(path)
    book = _book_of(path)
    return book is not None and book.module(path) is not None


def of_member(owner: str, member: str) -> Iterator[Span]:
    """When classes of this name had the member, in every library that has one."""
    for package in packages():
        book = _book(package)
        found = book.of_class(owner, member) if book else None
        if found is not None:
            yield found


def of_argument(callee: str, argument: str) -> Iterator[Span]:
    """When callables of this name knew the argument, in every library that has one."""
    callee = callee.removesuffix(".__init__")
    for package in packages():
        book = _book(package)
        found = book.under(f"a {callee}", argument) if book else None
        if found is not None:
            yield found


def of_method(method: str, argument: str) -> Span | None:
    """When the method of this name knew the argument, whosever it is: Python before 3.10 names no class. None where
    methods of several classes differ in it."""
    heading = re.compile(rf"^a \w+\.{re.escape(method)}$", re.MULTILINE)
    found: dict[tuple[str, str, str], Span] = {}
    for package in packages():
        book = _book(package)
        for owner in set(heading.findall(book.text)) if book else ():
            span = book.under(owner, argument) if book else None
            if span is not None:
                found[package, span.added, span.removed] = span
    return next(iter(found.values())) if len(found) == 1 else None


def library_of(module: str) -> str:
    """The library whose module the top of this dotted name is; "" where none of that name was read."""
    book = _book_of(module)
    return book.package if book else ""


def classes_with(package: str, argument: str) -> tuple[str, ...]:
    """The classes of a library whose constructor gained or lost this argument."""
    book = _book(package)
    headings = re.findall(r"^a ([A-Z]\w*)$", book.text, re.MULTILINE) if book else []
    return tuple(name for name in headings if book and book.under(f"a {name}", argument) is not None)


def newest(package: str) -> str:
    """The newest release that was read; "" of a library that was not."""
    book = _book(package)
    return book.read[-1] if book else ""


def knows(package: str, name: str) -> bool:
    """Does a library's file have this very name, of whatever?"""
    book = _book(package)
    return book is not None and re.search(rf"[ .\n]{re.escape(name)}(?![\w])", book.text) is not None


def _known_as(module: str) -> str:
    """Lightning's own package brings the same modules under another name."""
    return f"pytorch_lightning{module[17:]}" if f"{module}.".startswith("lightning.pytorch.") else module


@frozen
class _Book:
    """The lines of one library."""

    package: str
    read: tuple[str, ...]
    text: str

    def under(self, heading: str, name: str) -> Span | None:
        """The line below a heading that names it."""
        for lines in self._below(heading):
            for line in lines:
                bounds, *names = line.split()
                for each in names:
                    plain, _, to = each.partition(">")
                    if plain == name:
                        return self._span(name, bounds, to)
        return None

    def in_other_capitals(self, heading: str, name: str) -> Span | None:
        """The latest name below a heading that is written otherwise in capitals alone."""
        folded, found = name.casefold(), None
        for lines in self._below(heading):
            for line in lines:
                bounds, *names = line.split()
                plain = (each.partition(">")[0] for each in names)
                same = next((each for each in plain if each != name and each.casefold() == folded), None)
                found = self._span(same, bounds) if same else found
        return found

    def _below(self, heading: str) -> Iterator[list[str]]:
        """The lines below each of the headings of this name: found by its letters, as an expression takes ten times
        as long for a file of these lengths, and each library is asked of each error."""
        at = self.text.find(f"\n{heading}")
        while at >= 0:
            after = at + 1 + len(heading)
            if self.text[after : after + 1] in ("\n", " "):
                begin = self.text.find("\n", after) + 1
                found = _LINES.match(self.text, begin) if begin else None
                yield found[0].splitlines() if found else []
            at = self.text.find(f"\n{heading}", after)

    @functools.cached_property
    def _modules(self) -> dict[str, str]:
        """Bounds by module."""
        lines = (line.split() for line in self.text.split("\n") if line.startswith("m "))
        return {name: bounds for _, bounds, *names in lines for name in names}

    def module(self, name: str) -> Span | None:
        bounds = self._modules.get(name)
        return self._span(name, bounds) if bounds else None

    def of_class(self, owner: str, member: str, seen: tuple[str, ...] = ()) -> Span | None:
        """Of the class itself, or of one that it builds on."""
        if (found := self.under(f"c {owner}", member)) is not None:
            return found
        head = re.search(rf"^c {re.escape(owner)} (.+)$", self.text, re.MULTILINE)
        bases = [base for base in head[1].split() if base not in seen] if head else []
        spans = (self.of_class(base, member, (*seen, owner)) for base in bases)
        return next((span for span in spans if span is not None), None)

    def _span(self, name: str, bounds: str, to: str = "") -> Span:
        added, _, removed = bounds.partition("..")
        return Span(package=self.package, name=name, added=added, removed=removed, moved_to=to, read=self.read)


def shown_as(package: str) -> tuple[str, ...]:
    """The names under which a report shows a library: the distribution's, and those of its modules."""
    modules = (normal(module) for module, file in _TOPS.items() if file == package)
    return tuple(dict.fromkeys((package, *modules)))


def _book_of(module: str) -> _Book | None:
    top = module.partition(".")[0]
    return _book(_TOPS.get(top, top))


@functools.cache
def _book(package: str) -> _Book | None:
    if package not in packages():  # the name comes from outside, and becomes no path
        return None
    text = read_text(_FOLDER / f"{package}.txt")
    name, *read = text.partition("\n")[0].removeprefix("= ").split()
    return _Book(package=name, read=tuple(read), text=text)
