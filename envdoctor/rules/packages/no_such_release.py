from re import Match

from packaging.version import Version

from envdoctor.facts.model import Interpreter
from envdoctor.knowledge.questions import messages, normal, release_of, versions
from envdoctor.rules.packages._callers import CALLER
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Skip, finding, known, remedies, rule

_OFFERED = Pattern(
    r"(?:Could not find a version that satisfies the requirement|No matching distribution found for) "
    r"(?P<name>[A-Za-z][\w.-]{0,80}?)(?:\[[\w, -]{1,80}\])? ?={2,3} ?(?P<wanted>\d[\w.!+-]{0,40})(?=[ (;,]|$).{0,300}?"
    r"\(from versions?: (?P<offered>(?!none)[^)]{1,4000})(?P<end>\)?)",
)
_OFFERED_TO_A_RANGE = Pattern(
    r"Could not find a version that satisfies the requirement (?P<name>[A-Za-z][\w.-]{0,80}?)(?:\[[\w, -]{1,80}\])?"
    r"(?P<asked> ?(?:[<>!=~]{1,2}[\w.*]{1,30},){0,4}<=?(?P<end_of_range>\d[\w.]{0,30})"
    r"(?:,[<>!=~]{1,2}[\w.*]{1,30}){0,4})"
    r".{0,300}?\(from versions?: (?P<offered>(?!none)[^)]{1,4000})\)",
)
_WHEELS_ONLY = frozenset({"torch", "torchvision", "torchaudio", "triton"})
_NVIDIA = Pattern(r"nvidia-[a-z-]{3,24}-cu1[1-3]")  # of which packages/known-errors knows more
_LAST_OF = {
    "1.13.1": "Python 3.7",
    "2.2.2": "Macs with an Intel processor",
    "2.4.1": "Python 3.8",
    "2.8.0": "Python 3.9",
}
"""Where torch's wheels ended with a release: https://github.com/pytorch/pytorch/blob/main/RELEASE.md"""


@rule(ERROR, kind="python-unsupported")
def no_such_release(facts: Facts) -> Findings:
    """pip names the releases that this Python and system could take, and the one that was asked for is none of them.

    Why: pip lists what the index offers for this Python and this system. Where the same number with a further part is
    listed (1.2.0.post2 for 1.2.0), the plain one was never released; where all listed ones are newer, or all older,
    this Python, this system or the index (a mirror that lags) is another than the release was made for.
    Fix: one of the releases that are listed, or another Python.
    Source: https://pip.pypa.io/en/stable/cli/pip_install/#finding-packages
    """
    if not facts.messages:
        raise Skip("the report has no error lines")
    found = messages.in_report(facts, _OFFERED)
    if found is None:
        ranged = messages.in_report(facts, _OFFERED_TO_A_RANGE)
        if ranged is not None:
            yield from _all_newer(facts, ranged)
        return
    name, wanted = normal(found["name"]), found["wanted"].rstrip(".-")
    offered = _offered(found)
    if name in _WHEELS_ONLY:
        offered = [one for one in offered if one.release > (0, 1, 2)]  # empty shells
    asked = versions.parse(wanted)
    if asked is None or not offered or asked in offered or "+" in wanted or _NVIDIA.fullmatch(name):
        return
    kin = [one for one in offered if str(one).startswith(f"{asked}.")]
    older, newer = [one for one in offered if one < asked], [one for one in offered if one > asked]
    where = "this Python, system and index"
    first: tuple[str, ...] = ()
    usually = ""
    if kin:
        why = f"{where[0].upper()}{where[1:]} offer no {name} {asked}, but {', '.join(map(str, kin[-3:]))}"
        usually = "the release bears the longer number alone, or the plain one was withdrawn"
        fix, take = f"Ask for {kin[-1]}.", str(kin[-1])
    elif not found["end"]:
        return  # the list is cut off
    elif not older:
        if name in _WHEELS_ONLY:
            return  # interpreter/unsupported
        why = f"The oldest {name} that {where} offer is {offered[0]}"
        usually = f"{asked} was made for older Pythons or other systems, it was withdrawn, or the number does not exist"
        fix, take = f"Use a Python of the time of {name} {asked}, or take {offered[0]} or later.", str(offered[0])
    elif not newer:
        why = f"The newest {name} that {where} offer is {offered[-1]}"
        usually = _why_no_newer(name, offered[-1].release)
        fix = f"Take a Python and an index that have {name} {asked}, or {offered[-1]}, which this one has."
        if name == "torch" and offered[-1].release[:3] == (2, 2, 2):
            fix = (
                "On a Mac with Apple's processor this Python is one for Intel's (platform.machine() says x86_64): make "
                f"the environment anew with one for arm64. On an Intel Mac {offered[-1]} is the last."
            )
        take = str(offered[-1])
        first = ("uv venv --python 3.12 .venv",) if _too_old(known(facts.interpreter), name, wanted) else ()
    else:
        near = f"{older[-1]} and {newer[0]}"
        why = f"{where[0].upper()}{where[1:]} offer {name} {near}, and no {asked} between them"
        usually = (
            "it does not exist, was withdrawn, has no file for this Python and system, or the index (a mirror) lacks it"
        )
        fix, take = (
            f"Ask for one of those that are listed ({near} are nearest).",
            str(_nearest(older[-1], newer[0], asked)),
        )
    yield finding(
        subject=name,
        actual=found["wanted"],
        expected=take,
        kind="package-conflict" if kin or (older and newer) else "python-unsupported",
        message=f"{why}: {CALLER.sub('', found.string)[:500]}",
        usually=usually,
        fix=fix,
        run=first or (remedies.install(f"{name}=={take}") if newer or kin else ""),
        explains=(
            f"packages/known-errors {name}",
            "packages/known-errors torch",
            "packages/known-errors a wheel",
            "interpreter/unsupported",
        ),
    )


def _offered(found: Match[str]) -> list[Version]:
    """The releases that pip lists, oldest first."""
    return sorted(one for text in found["offered"].split(",") if (one := versions.parse(text.strip())))


def _all_newer(facts: Facts, found: Match[str]) -> Findings:
    """A range that ends before the first release that is offered: what is in it was made for older Pythons."""
    name, end = normal(found["name"]), versions.parse(found["end_of_range"])
    offered = [one for one in _offered(found) if one.release > (0, 1, 2)]
    if end is None or not offered or offered[0] < end:
        return
    here = known(facts.interpreter)
    python = f"this Python ({here.version})" if here else "this Python"
    yield finding(
        subject=name,
        actual=f"{offered[0]} and later are offered",
        expected=f"{name}{found['asked']}",
        message=f"All {name} that this Python and system are offered are too new for what is asked for; the first is "
        f"{offered[0]}: {CALLER.sub('', found.string)[:500]}",
        usually=f"{python} is newer than the releases below {end} have wheels for",
        fix=f"Make the environment with a Python of the time of {name} {end}; or take a later release of what asks for "
        "it, which allows newer ones.",
        run="uv venv --python 3.11 .venv" if here is None or not versions.below(here.version, "3.12") else "",
        explains=(f"packages/known-errors {name}", "packages/known-errors a wheel", "interpreter/unsupported"),
    )


def _nearest(older: Version, newer: Version, asked: Version) -> Version:
    return older if older.release == asked.release else newer


def _too_old(interpreter: Interpreter | None, name: str, wanted: str) -> bool:
    release = release_of(wanted) if name == "torch" else None
    if release is None or interpreter is None:
        return False
    return versions.below(interpreter.version, release.python[0])


def _why_no_newer(name: str, last: tuple[int, ...]) -> str:
    ended = _LAST_OF.get(".".join(map(str, last[:3]))) if name == "torch" else None
    if ended is not None:
        return f"torch's wheels ended with it for {ended}; else the index is a mirror that lags"
    return (
        "later ones are for other Pythons or systems, the number does not exist, the index (a mirror) lags, or its "
        "project has an index of its own"
    )
