"""What pip and uv say while they install: which Python they serve, what is there, and what they did not find."""

from __future__ import annotations

import re

from envdoctor.facts.model import IN_OTHER_WORDS
from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import INFERRED, LISTED, Draft
from envdoctor.facts.pasted.formats.wheel_names import is_refused, refusals
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

FORMAT = "install-log"
_NAME = r"[A-Za-z0-9](?:[\w.-]{0,78}[A-Za-z0-9])?"
_DONE = Pattern(r"Successfully installed ((?:\S{3,120} ?){1,400})")
_ONE = Pattern(rf"({_NAME})-({words.VERSION})")
_THERE = Pattern(rf"Requirement already satisfied: ({_NAME})\S{{0,80}} in .{{1,300}}\(({words.VERSION})\)$")
_BEFORE = Pattern(rf"Found existing installation: ({_NAME}) ({words.VERSION})")
_GONE = Pattern(rf"Successfully uninstalled ({_NAME})-({words.VERSION})")
_PYTHON = Pattern(
    r"Using (?:CPython|Python) (3\.\d{1,2}\.\d{1,2})|installed Python version: (3\.\d{1,2}\.\d{1,2})"
    r"|[Ff]ound [`'\"]?cpython-(3\.\d{1,2}\.\d{1,2})"
)
_SYSTEM = Pattern(r"cpython-3\.[\d.]{1,8}-(?P<system>windows|linux|macos)-(?P<machine>x86_64|aarch64)")
_WHEEL = Pattern(
    r"-cp3(?P<minor>\d{1,2})-\w{1,20}-(?P<tag>win_amd64|win_arm64|manylinux\S{1,60}?|linux_\w{1,20}|macosx\w{1,40})\.whl"
)
_WANTED = Pattern(rf"(?:direct dependency: |\s)({_NAME})(?:>=|==)({words.VERSION})(?:, <\S{{1,40}})?(?=\s|$)")
_ABSENT = Pattern(rf"No compatible version found for:? ({_NAME})")
_LOG = Pattern(
    r"(?:Collecting (?!environment|package metadata)|Requirement already satisfied: |Successfully installed "
    r"|Looking in (?:indexes|links): |Installing collected packages: |Building wheels? for |Resolved \d|Prepared \d"
    r"|Downloading \S{1,200}\.whl|DEBUG uv |Attempting uninstall: |Using cached \S{1,200}\.whl).*"
)

_OLDER_GLIBC = Pattern(r"matching platform tag \(e\.g\., ['`]?manylinux_2_(?P<minor>\d{1,2})_")
"""uv names the newest tag that this system takes."""
_NOTICE = Pattern(r"dependency resolver does not currently|source of the following dependency conflicts")
"""What pip says of demands that it broke, once it has installed what it was asked for."""
_SOURCES = Pattern(rf"(?:Downloading|Using cached) (?:\S{{0,300}}/)?({_NAME})-({words.VERSION})\.(?:tar\.gz|zip)\b")
_UNPACKED = Pattern(r"pip-install-\w{1,20}[\\/]{1,2}([A-Za-z0-9][\w.-]{0,60}?)_[0-9a-f]{32}")
_STOPPED = Pattern(
    r"\W{0,6}(?:error: subprocess-exited-with-error|ERROR: Exception|error: metadata-generation-failed"
    r"|\S.{0,60} did not run successfully)"
)


_BUILT_IN = Pattern(
    r"\bbuild[\\/](?:lib|temp)\.(?P<system>linux|win|macosx)(?:-[\d.]{1,8})?-?(?P<machine>32|amd64|arm64|x86_64|aarch64"
    r"|i[36]86|armv7l|universal2)-(?:cpython-(?P<tag>3\d{1,2})|(?P<version>3\.\d{1,2}))(?:[\\/](?P<name>[\w.-]{1,60}))?"
)
"""The folder that setuptools builds in tells for which system and Python."""
_BITS_32 = frozenset({"32", "i386", "i686", "armv7l"})

_COLLECTING = Pattern(rf"Collecting ({_NAME})(?:[=<>!~\[; @(].*)?")
"""The one whose metadata is prepared next, in the same line of work."""


_BUILDS = Pattern(r"Building wheels? for collected packages: \S.{0,400}")
_BUILT_OR_NOT = Pattern(
    r"Successfully built|Successfully installed|Failed (?:building|to build)|\berror\b", re.IGNORECASE
)


def _note_endless_build(page: Page, draft: Draft) -> None:
    """A log that ends while something is built."""
    last = next((text for text in page.lines if _BUILDS.fullmatch(text.strip())), None)
    if last is not None and not any(map(_BUILT_OR_NOT.search, page.lines)):
        draft.message(last.strip())


_BROKEN = Pattern(
    r".{0,80}?(?P<said>(?:Cannot install \S(?!.* because ).*"
    r"|Could not find a version that satisfies the requirement (?!.*\(from versions).*))"
)
"""The first line of a sentence of pip that a launcher's log broke into several."""
_ENDS = Pattern(r"dependencies\W{0,3}$|\(from versions?: [^)]*\)")
_ANOTHER = Pattern(r"(?:ERROR|WARNING|Traceback|No matching|Collecting)\b.*")


def _join_broken(page: Page, draft: Draft) -> None:
    for number, text in page.left():
        if (first := _BROKEN.fullmatch(text)) is None:
            continue
        parts = [first["said"]]
        for _, line in page.after(number):
            if not line or len(parts) > 12 or _ANOTHER.fullmatch(line):
                break
            parts.append(line)
            if _ENDS.search(line):
                draft.message(" ".join(parts))
                break


def read(page: Page, draft: Draft) -> None:
    _join_broken(page, draft)
    _note_endless_build(page, draft)
    wanted: dict[str, str] = {}
    sources = ""
    stopped: set[str] = set()
    nested = False
    new: list[str] = []
    refused = refusals(page)
    gone = {(found[1].lower(), found[2]) for _, text in page.left() if (found := _GONE.search(text))}
    for number, text in page.left():
        if collecting := _COLLECTING.fullmatch(text):
            sources = collecting[1]
        if taken := _SOURCES.search(text):
            sources = f"{taken[1]} [sources of {taken[1]}-{taken[2]}]"
        elif unpacked := _UNPACKED.search(text):
            sources = unpacked[1]
            draft.message(f"Failed building wheel for {sources}")  # only what failed shows its folder
        elif sources and _STOPPED.match(text) and sources not in stopped:
            stopped.add(sources)
            draft.message(f"Failed building wheel for {sources} [{IN_OTHER_WORDS}{text}]")
        if _LOG.match(text):
            draft.format(FORMAT)
        nested = nested or "to install build dependencies did not run" in text
        if "wheel_stub" in text:
            draft.message("wheel_stub/wheel.py stopped")  # its frames are all that a cut report shows of it
        if folder := _BUILT_IN.search(text):
            tag = folder["tag"]
            draft.claim("interpreter.version", folder["version"] or f"3.{tag[1:]}", INFERRED)
            if folder["machine"] in _BITS_32:
                draft.message(f"Python of 32 bits builds {folder['name'] or 'a package'}")
        for found in _WANTED.finditer(text) if "==" in text or "direct dependency" in text else ():
            wanted[found[1].lower()] = found[2]
        if done := _DONE.match(text):
            for part in done[1].split():
                if one := _ONE.fullmatch(part):
                    draft.package(one[1], one[2], LISTED)
                    new.append(one[1].lower().replace("_", "-"))
            page.take(number)
        elif (there := _THERE.match(text)) or (there := _BEFORE.match(text)):
            if (there[1].lower(), there[2]) not in gone:  # another release takes its place
                draft.package(there[1], there[2], INFERRED)
            page.take(number)
        elif python := _PYTHON.search(text):
            draft.claim("interpreter.version", python[1] or python[2] or python[3], INFERRED)
        elif (absent := _ABSENT.search(text)) and (version := wanted.get(absent[1].lower())):
            draft.message(f"No matching distribution found for {absent[1]}=={version}")
        if tag := _OLDER_GLIBC.search(text):
            draft.claim("interpreter.libc", f"glibc 2.{tag['minor']}", LISTED)
        if system := _SYSTEM.search(text):
            names = {"windows": "Windows", "linux": "Linux", "macos": "Darwin"}
            draft.claim("host.system", names[system["system"]], INFERRED)
            draft.claim("host.machine", system["machine"], INFERRED)
        elif (wheel := _WHEEL.search(text)) and not is_refused(text, refused):
            draft.claim("interpreter.version", f"3.{wheel['minor']}", INFERRED)
            tag = wheel["tag"]
            draft.claim(
                "host.system", "Windows" if tag[:3] == "win" else "Darwin" if tag[:3] == "mac" else "Linux", INFERRED
            )
    if any(map(_NOTICE.search, page.lines)):
        if new:
            draft.remark("just installed", " ".join(new))
        first = next((text.strip() for text in page.lines if text.strip()), "")
        if not (_LOG.match(first) or _NOTICE.search(first)):
            draft.remark("heading of an install log", first[:300])
    if nested and "[sources of" in sources:
        draft.message(f"Failed building wheel for {sources}")
