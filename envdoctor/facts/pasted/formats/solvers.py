"""What conda, mamba and pixi did not find or could not combine: lists and trees, each made one message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.pasted.draft import INFERRED, Draft
from envdoctor.facts.pasted.formats.unsatisfiable import read_conflict
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_NOT_FOUND = Pattern(r"(?:\S{0,40} )?(?P<error>ResolvePackageNotFound|PackagesNotFoundError)\b ?:?(?P<rest>.*)")
_SPEC = Pattern(r"(?P<spec>[A-Za-z_][\w.-]{0,80}(?:(?: ?[=<>!~]{1,2} ?|\[| )[\w.*,<>=!|~+'\"\[\]:/ -]{0,120})?)")
_PINNED = Pattern(r"[A-Za-z_][\w.-]{0,80}(?: ?[=<>!~].*|\[.*)?")
_SAID = Pattern(r"The following packages are not available from current channels:?|\.{2,}|")
_CHANNELS = Pattern(r"Current channels:")
_CHANNEL = Pattern(r"https?://\S{1,200}?/(?P<name>[\w.-]{1,60})(?:/(?:linux|win|osx|noarch)[\w-]{0,20})?/?")

_PLATFORM = Pattern(r"(?:[Pp]latforms? ?:? ['\"]?|/)(?P<system>linux|win|osx)-(?P<machine>64|aarch64|arm64)\b")
_ARCHSPEC = Pattern(r"\b__archspec=\d{1,2}=(?P<machine>aarch64|arm64|ppc64le|x86_64)\b")
"""A virtual package of ``conda info``: what conda takes the machine for."""
_SYSTEMS = {"linux": "Linux", "win": "Windows", "osx": "Darwin"}
_MACHINES = {"64": "x86_64", "aarch64": "aarch64", "arm64": "arm64"}

_LACKS = (
    Pattern(
        r"nothing provides (?:requested )?(?P<spec>[\w.-]{1,80}(?: (?!needed )\S{1,60}){0,2})"
        r"(?: needed by (?P<by>\S{1,120}))?"
    ),
    Pattern(r"(?P<spec>[\w.-]{1,80}(?: \S{1,60}){0,3}?) ?,? (?:which )?does not exist \(perhaps"),
    Pattern(r"(?P<spec>[\w.-]{1,80}(?: \S{1,60}){0,3}?) ?, for which no candidates were found"),
    Pattern(r"(?P<spec>__\w{1,30}(?: \S{1,60}){0,3}?) ?, which is missing on the system"),
    Pattern(r"No candidates were found for (?P<spec>[\w.-]{1,80}(?: \S{1,60}){0,2}?)\."),
    Pattern(r"Virtual package '(?P<spec>__\w{1,30}[^']{0,40})' does not match any"),
)
_CONFLICTS = Pattern(r"conflicts? with any installable|requested and can be installed|found to be incompatible with")
_ASKED = Pattern(
    r"[├└╰][─╮ ]{1,3}(?P<name>[A-Za-z_][\w.-]{0,60}) (?P<spec>={0,2}\d[\w.]{0,30}\*{0,2})(?: [\w.]{1,60})?[ ,]+"
    r"is (?:not )?(?:requested|installable|uninstallable)"
)
_REQUIRES = Pattern(r"(?P<who>[A-Za-z_][\w.-]{0,60} \d[\w.]{0,30}) would require,?")
_WANTED = Pattern(r"(?P<name>[A-Za-z_][\w.-]{0,60}) (?P<release>\d[\w.]{0,30})(?:\b|(?=\*))")
_BRANCHES = re.compile(r"^[\s│├└─╰╭╮┌▶·×|+`-]+")


def read(page: Page, draft: Draft) -> None:
    """The lists below conda's "...NotFound" and what a tree of mamba or pixi calls missing."""
    for number, text in page.left():
        if found := _NOT_FOUND.fullmatch(text):
            _read_list(page, draft, number, found["error"], found["rest"])
    lacking: dict[str, str] = {}
    beside = ""
    for _, text in page.left():
        plain = _BRANCHES.sub("", text)
        if platform := _PLATFORM.search(plain):
            draft.claim("host.system", _SYSTEMS[platform["system"]], INFERRED)
            draft.claim("host.machine", _MACHINES[platform["machine"]], INFERRED)
        if archspec := _ARCHSPEC.search(plain):
            draft.claim("host.machine", archspec["machine"], INFERRED)
        if re.search(r"\b__linux=", plain):
            draft.claim("host.system", "Linux", INFERRED)
        beside = beside or (" beside conflicts" if _CONFLICTS.search(plain) else "")
        for pattern in _LACKS:
            if one := pattern.search(plain):
                lacking.setdefault(one["spec"].strip(), (one.groupdict().get("by") or "").strip())
    if conflict := _conflict_of_pins(page) or read_conflict(page):
        draft.message(conflict)
    if lacking:
        named = ", ".join(f"{spec} for {by}" if by else spec for spec, by in list(lacking.items())[:20])
        draft.message(f"the solver lacks{beside}: {named}")


def _conflict_of_pins(page: Page) -> str:
    """Of a tree: which of the packages that were asked for requires another release of one that was asked for, too."""
    asked: dict[str, str] = {}
    wishes: dict[tuple[str, str], list[str]] = {}  # of each pair the releases that any build of the one would take
    parent = ""
    for _, text in page.left():
        if top := _ASKED.match(text):
            asked.setdefault(top["name"], top["spec"])
    for _, text in page.left():
        plain = _BRANCHES.sub("", text)
        if requiring := _REQUIRES.fullmatch(plain):
            parent = requiring["who"]
        elif parent and (wanted := _WANTED.match(plain)):
            name, release = wanted["name"], wanted["release"]
            release, spec = release.rstrip("."), asked.get(name, "").strip("=*").rstrip(".")
            apart = not f"{release}.".startswith(f"{spec}.") and not f"{spec}.".startswith(f"{release}.")
            if spec and parent.split()[0] != name and apart:
                wishes.setdefault((parent, name), []).append(release)
            parent = ""
    for (who, name), releases in wishes.items():
        either = "|".join(dict.fromkeys(releases))  # as conda writes "or"
        return (
            f"the solver's conflict: {who} requires {name} {either}, and {name} {asked[name].strip('=*')} is asked for"
        )
    return ""


def _channels_of_the_list(page: Page) -> Iterator[str]:
    """Those that an environment's file (or a person) lists below a line of their own, with dashes."""
    within = False
    for text in page.lines:
        if _LIST_OF_CHANNELS.fullmatch(text.strip()):
            within = True
        elif within and (channel := _DASHED.fullmatch(text.strip())):
            yield channel["name"]
        elif text.strip():
            within = False


_LIST_OF_CHANNELS = Pattern(r"(?i)(?:.{0,80}\bthe )?channels\b.{0,60}:")
_DASHED = Pattern(r"(?:- )?(?P<name>[\w-]{2,40})")


def _read_list(page: Page, draft: Draft, number: int, error: str, rest: str) -> None:
    specs = [rest.strip(" -")] if _PINNED.fullmatch(rest.strip(" -")) and "=" in rest else []
    channels: list[str] = []
    names_channels = False
    lines = [number]
    for following, line in page.after(number):
        if names_channels:
            if platform := _PLATFORM.search(line):
                draft.claim("host.system", _SYSTEMS[platform["system"]], INFERRED)
            if channel := _CHANNEL.fullmatch(line):
                channels.append(channel["name"])
            elif line:
                break
        elif _CHANNELS.fullmatch(line):
            names_channels = True
        elif _SPEC.fullmatch(line) and _PINNED.fullmatch(line):
            specs.append(line)
            lines.append(following)
        elif _SAID.fullmatch(line) is None:
            break
    if not specs:
        return
    channels = channels or list(_channels_of_the_list(page))
    asked = f" (channels: {', '.join(dict.fromkeys(channels))})" if channels else ""
    draft.message(f"{error}: not in the channels: {', '.join(specs[:60])}{asked}")
    for line_number in lines:
        page.take(line_number)
