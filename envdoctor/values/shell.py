"""Words of commands that are shown to be pasted: the one place where they are quoted.

What stands in them often came from outside: names and versions from metadata that anybody may write, paths, lines of a
pasted report. Whatever it is, a shell must read it as one word; and what cannot be the name of a distribution does not
get into a command at all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from envdoctor.values.pattern import Pattern

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_CLAUSE = r"(?:===?|[<>!~]=|[<>])\s?[A-Za-z0-9][A-Za-z0-9.*+!_-]{0,98}"
_DISTRIBUTION = Pattern(_NAME)
_REQUIREMENT = Pattern(rf"({_NAME})(?:\[{_NAME}(?:,\s?{_NAME}){{0,9}}\])?(?:\s?{_CLAUSE}(?:\s?,\s?{_CLAUSE}){{0,9}})?")
"""PEP 508: a name, extras and versions; no address and no marker, which nobody needs to be told to type."""


def word(text: str) -> str:
    """One word for a POSIX shell. The ``~`` of a shortened home stays outside the quotes, where the shell reads it."""
    if text == "~":
        return text
    return f"~/{shlex.quote(text[2:])}" if text.startswith("~/") and text != "~/" else shlex.quote(text)


def is_name(text: str) -> bool:
    """Can this be the name of a distribution (PEP 508)?"""
    return _DISTRIBUTION.fullmatch(text) is not None


def with_names(command: str, *names: str) -> str:
    """The command with these distributions; "" (no command) when one of the names is none."""
    return " ".join((command, *names)) if names and all(map(is_name, names)) else ""


def with_requirements(command: str, *requirements: str) -> str:
    """The command with these requirements, each in quotes; "" (no command) when one of them is none (PEP 508)."""
    if not requirements or not all(_REQUIREMENT.fullmatch(text) for text in requirements):
        return ""
    quoted = (shlex.quote(text) for text in requirements)  # which leaves simple ones bare; ours always stand in quotes
    return " ".join((command, *(text if text.startswith("'") else f"'{text}'" for text in quoted)))


_NEW = Pattern(r"uv venv (?!.*--seed)(?:\S+ )*(?P<place>[\w./-]+)")
_PIP = "python -m pip install "


def in_the_new_environment(commands: Sequence[str]) -> tuple[str, ...]:
    """The commands, with what is installed after a new environment was made installed into that: the one that is
    active stays so, and the new one has no pip."""
    made: list[str] = []
    place = ""
    for command in commands:
        if found := _NEW.fullmatch(command):
            place = found["place"]
        into = f"uv pip install --python {place} " if place else _PIP
        made.append(command.replace(_PIP, into, 1) if command.startswith(_PIP) else command)
    return tuple(made)


_POSIX_ONLY = Pattern(
    r"(?:sudo|apt-get|env|ldconfig|ulimit|mount|dmesg|ls|lspci|systemctl|journalctl|dpkg|echo|grep|curl|sysctl|modprobe|chmod"
    r"|chown|docker run|rm|sed|patchelf|brew|xcode-select|[A-Z_]+=)\b|.*[|<>&] ?\w"
)
_BARE = Pattern(r"'([^']*)'")
_SETTING = Pattern(r"(?:export ([A-Za-z_]\w*)=(.*)|unset ([A-Za-z_]\w*))")


def for_windows(command: str, python: str = "python") -> str:
    """The command as cmd.exe reads it, for this interpreter; "" where Windows has nothing like it."""
    if setting := _SETTING.fullmatch(command):
        if setting[1] and ("$" in command or len(shlex.split(command)) > 2):
            return _settings(command)
        bare = _BARE.fullmatch(setting[2] or "")  # set would take the quotes into the value
        return f"set {setting[1]}={bare[1] if bare else setting[2]}" if setting[1] else f"set {setting[3]}="
    quoted = _IN_QUOTES.sub(_in_double_quotes, command)
    if _POSIX_ONLY.match(re.sub(r'"[^"]*"', "", quoted)):
        return ""
    if python != "python":
        quoted = re.sub(r"^python(?= )", lambda _: python, quoted)
        quoted = re.sub(r"^uv pip (\w+)", lambda found: f"uv pip {found[1]} --python {python}", quoted)
    return quoted


_IN_QUOTES = Pattern(r"\"[^\"]*\"|'(?P<inside>[^']*)'")


def _in_double_quotes(found: re.Match[str]) -> str:
    """cmd.exe knows double quotes alone; what stands in them is Python's, which takes either for a string."""
    inside = found["inside"]
    return found[0] if inside is None else '"' + inside.replace('"', "'") + '"'


def _settings(command: str) -> str:
    """Several variables in one ``export``; "" where a value is asked of another command or variable."""
    return "" if "$" in command else " && ".join(f'set "{one}"' for one in shlex.split(command)[1:])


def harmless(command: str) -> bool:
    """Is it one line that is not empty? A line break in a command that is pasted runs what stands before it."""
    return bool(command) and command.isprintable()
