"""The commands of some findings as a person reads them: what only looks stands apart from what changes something, and
what is done in place of something else stands behind an "or"."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from envdoctor.render.looking import only_look
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

LOOKING, FIXING, FOR_OTHERS, OR = "To see what it is:", "You can fix this by running:", "By running:", "or:"
USUAL, TRYING = "What usually helps:", "Where that is the cause, you can fix this by running:"
TRYING_FOR_OTHERS = "Where that is the cause, by running:"
"""Of a cause that is no more than the usual one: before its sentence, and over its commands."""
THERE = "Where this text comes from, try:"
"""Of a cause that a text proves: it tells little of the environment in which the commands are to run."""


def heading(*, yours: bool, likely: bool, told: bool = False) -> str:
    """What stands over the commands that change something: ``yours`` to run, for a cause that is but ``likely``, in an
    environment of which no more is known than what a text ``told``."""
    if not yours:
        return TRYING_FOR_OTHERS if likely else FOR_OTHERS
    if told and not likely:
        return THERE
    return TRYING if likely else FIXING


@frozen
class Effect:
    """What a command leaves behind: ``installs`` are (name, the rest of the requirement)."""

    installs: frozenset[tuple[str, str]] = frozenset()
    removes: frozenset[str] = frozenset()
    sets: frozenset[tuple[str, str]] = frozenset()  # variables; "" for one that is unset

    def joined(self, other: Effect) -> Effect:
        return Effect(
            installs=self.installs | other.installs,
            removes=self.removes | other.removes,
            sets=self.sets | other.sets,
        )


class Block(NamedTuple):
    """A heading and the commands below it."""

    heading: str
    commands: tuple[str, ...]


_INSTALL = Pattern(r"(?:^|\s)(?P<what>install|uninstall)(?=\s)(?P<rest>.*)")
_TAKES_A_WORD = frozenset(
    "-r -c -f -i --index --index-url --extra-index-url --find-links --python --channel --reinstall-package -n -p "
    "--prefix --requirement --constraint".split()
)
_PARTS = Pattern(r"([A-Za-z][\w.-]*)(.*)")


def effect(command: str) -> Effect:
    """What a command installs, removes and sets, as far as its words tell."""
    if found := re.fullmatch(r"(?:export|set) (\w+)=(.*)", command):
        return Effect(sets=frozenset({(found[1], found[2])}))
    if command.startswith("unset "):
        return Effect(sets=frozenset((name, "") for name in command.split()[1:]))
    found = _INSTALL.search(command)
    if found is None:
        return Effect()
    try:
        words = shlex.split(found["rest"])
    except ValueError:  # a quotation that does not end
        return Effect()
    names = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if not word.startswith("-") and before not in _TAKES_A_WORD
    ]
    asked = [
        (part[1].lower().replace("_", "-"), part[2]) for word in names if (part := _PARTS.fullmatch(word)) is not None
    ]
    if found["what"] == "uninstall":
        return Effect(removes=frozenset(name for name, _ in asked))
    return Effect(installs=frozenset(asked))


def undoes(later: Effect, earlier: Effect) -> bool:
    """Would the later one take back, or do otherwise, what the earlier one did?"""
    there, here = dict(earlier.installs), dict(later.installs)
    if later.removes & set(there) or (set(here) & earlier.removes) - set(there):
        return True
    if any(name in there and there[name] != rest for name, rest in here.items()):
        return True
    values = dict(earlier.sets)
    return any(name in values and values[name] != value for name, value in later.sets)


def _is_done(command: str, earlier: Effect) -> bool:
    """Is all that it installs there already, by a command that says as much or more of each?"""
    there, here = dict(earlier.installs), effect(command).installs
    return bool(here) and all(name in there and rest in ("", there[name]) for name, rest in here)


class _Way:
    """Commands that are typed one after the other."""

    def __init__(self) -> None:
        self.commands: dict[str, None] = {}
        self._done = Effect()

    def takes(self, commands: Sequence[str]) -> bool:
        """Go on with these, where they take nothing back; without those whose work is done already."""
        new = [one for one in commands if one not in self.commands and not _is_done(one, self._done)]
        made = Effect()
        for one in new:
            made = made.joined(effect(one))
        if self.commands and undoes(made, self._done):
            return False
        self.commands |= dict.fromkeys(new)
        self._done = self._done.joined(made)
        return True


def blocks(remedies: Iterable[tuple[Sequence[str], Sequence[str]]], heading: str, *, most: int) -> Iterator[Block]:
    """The commands of several remedies under a heading, each with those that do it instead; at most so many commands.

    One after the other they are one sequence, as long as none undoes what an earlier remedy did: two such remedies are
    for two causes, of which one is there.
    """
    looks: dict[str, None] = {}
    ways: list[_Way] = []
    others: list[_Way] = []
    first: str | None = None
    for commands, instead in remedies:
        first = next(iter(commands), None) if first is None else first
        looks |= dict.fromkeys(command for command in (*commands, *instead) if only_look([command]))
        _add(commands, ways)
        _add(instead, others)
    acting = tuple(tuple(way.commands) for way in (*ways, *others))
    yield from _first_blocks(tuple(looks), acting, looks_first=first in looks, heading=heading, most=most)


def _add(commands: Iterable[str], ways: list[_Way]) -> None:
    acts = [command for command in commands if not only_look([command])]
    if acts and not any(way.takes(acts) for way in ways):
        ways.append(_Way())
        ways[-1].takes(acts)


def _first_blocks(
    looks: tuple[str, ...], ways: tuple[tuple[str, ...], ...], *, looks_first: bool, heading: str, most: int
) -> Iterator[Block]:
    seen = Block(LOOKING, looks[:most])
    left = most - len(seen.commands)
    if looks and looks_first:
        yield seen
    for way in dict.fromkeys(ways):
        if left > 0:
            yield Block(heading, way[:left])
            left, heading = left - len(way), OR
    if looks and not looks_first:
        yield seen
