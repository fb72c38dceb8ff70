from envdoctor.knowledge.questions import release_before, release_of
from envdoctor.rules.packages import _never_built, _offered
from envdoctor.rules.rule import ERROR, Facts, Findings, error_lines, finding, known, remedies, rule, versions

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
    if (never := _never_built.finding_of(facts)) is not None:
        yield never
        return
    error_lines(facts)
    if (offer := _offered.in_place_of_a_range(facts)) is not None:
        yield from _all_too_new(facts, offer)
    offer = _offered.in_place_of_one(facts)
    if offer is None or (not offer.kin and not offer.whole):
        return
    if not offer.kin and not offer.older and offer.is_of_wheels_alone:
        return  # interpreter/unsupported
    name = offer.name
    meaning, usually, fix, take = _reading(offer)
    command = remedies.install(f"{name}=={take}") if offer.newer or offer.kin else ""
    if not offer.kin and not offer.newer and _is_of_newer_pythons(facts, offer):
        command = "uv venv --python 3.12 .venv"
    yield finding(
        subject=name,
        actual=offer.wanted,
        expected=take,
        kind="package-conflict" if offer.kin or (offer.older and offer.newer) else "python-unsupported",
        message=f"{meaning}: {offer.said}",
        usually=usually,
        fix=fix,
        run=command,
        explains=(f"packages/known-errors {name}", "packages/known-errors torch", *_EXPLAINED),
    )


_EXPLAINED = ("packages/known-errors a wheel", "interpreter/unsupported")


def _reading(offer: _offered.OnOffer) -> tuple[str, str, str, str]:
    """What the list proves, what lies behind it as a rule, what helps, and which release that is."""
    name, asked, releases = offer.name, offer.asked, offer.releases
    first, last = releases[0], releases[-1]
    if offer.kin:
        why = f"This Python, system and index offer no {name} {asked}, but {', '.join(map(str, offer.kin[-3:]))}"
        usually = "the release bears the longer number alone, or the plain one was withdrawn"
        return why, usually, f"Ask for {offer.kin[-1]}.", str(offer.kin[-1])
    if not offer.older:
        why = f"The oldest {name} that this Python, system and index offer is {first}"
        usually = f"{asked} was made for older Pythons or other systems, it was withdrawn, or the number does not exist"
        return why, usually, f"Use a Python of the time of {name} {asked}, or take {first} or later.", str(first)
    if not offer.newer:
        why = f"The newest {name} that this Python, system and index offer is {last}"
        fix = f"Take a Python and an index that have {name} {asked}, or {last}, which this one has."
        if name == "torch" and last.release[:3] == (2, 2, 2):
            fix = _ON_A_MAC.format(last)
        return why, _why_no_newer(name, last.release), fix, str(last)
    near = f"{offer.older[-1]} and {offer.newer[0]}"
    why = f"This Python, system and index offer {name} {near}, and no {asked} between them"
    return why, _BETWEEN, f"Ask for one of those that are listed ({near} are nearest).", str(offer.nearest)


_BETWEEN = "it does not exist, was withdrawn, has no file for this Python and system, or the index (a mirror) lacks it"
_ON_A_MAC = (
    "On a Mac with Apple's processor this Python is one for Intel's (platform.machine() says x86_64): make the "
    "environment anew with one for arm64. On an Intel Mac {} is the last."
)


def _is_of_newer_pythons(facts: Facts, offer: _offered.OnOffer) -> bool:
    here = known(facts.interpreter)
    return bool(offer.first_python) and here is not None and versions.below(here.version, offer.first_python)


def _why_no_newer(name: str, last: tuple[int, ...]) -> str:
    ended = _LAST_OF.get(".".join(map(str, last[:3]))) if name == "torch" else None
    return f"torch's wheels ended with it for {ended}; else the index is a mirror that lags" if ended else _NOT_HERE


_NOT_HERE = (
    "later ones are for other Pythons or systems, the number does not exist, the index (a mirror) lags, or its project "
    "has an index of its own"
)


def _all_too_new(facts: Facts, offer: _offered.OnOffer) -> Findings:
    name, here = offer.name, known(facts.interpreter)
    before, (first, *_) = offer.older, [one for one in offer.releases if one >= offer.asked]
    older = here is None or not versions.below(here.version, "3.12")
    meaning = f"All {name} that this Python and system are offered are too new for what is asked for"
    python = f"this Python ({here.version})" if here else "this Python"
    seen = f"{first} and later are offered"
    if before:
        meaning = f"Of {name} this Python and system are offered none that is asked for: {before[-1]} and before, and "
        meaning += "then later ones"
        seen = f"{before[-1]} and {first}, none between them"
    want = offer.wanted
    text = f"{meaning}; the first is {first}: {offer.said}"
    usually = f"{python} is newer than the releases below {offer.asked} have wheels for"
    usually += ", or what is asked for was withdrawn or never released" if before else ""
    fix = (
        f"Make the environment with a Python of the time of {name} {offer.asked}; or take a later release of what "
        "asks for it, which allows newer ones."
    )
    run = "uv venv --python 3.11 .venv" if older else ""
    end = str(offer.asked)
    with_end = release_of(end) if f"<={end}" in offer.wanted else None
    last = with_end or release_before(end) if name == "torch" else None
    if here and last and versions.below(f"{last.python[1]}.99", here.version):
        oldest, newest = last.python
        text = f"torch {last.name}, the newest of {want}, has wheels for Python {oldest} to {newest}, and this is "
        text += f"Python {here.version}"
        fix = f"Make the environment with Python {newest} ({oldest} to {newest} have wheels of torch {last.name}); or "
        fix += f"take a later release of what asks for {want}, which allows torch {first}."
        usually, run = "", f"uv venv --python {newest} .venv"
    explains = (f"packages/known-errors {name}", *_EXPLAINED)
    yield finding(
        subject=name, actual=seen, expected=want, message=text, usually=usually, fix=fix, run=run, explains=explains
    )
