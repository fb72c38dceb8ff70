from envdoctor.knowledge.questions import installed, normal, pairs, requirements, versions
from envdoctor.rules.packages import _install_log, _own_pins, _unmet
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Target, finding, remedies, rule

_KEPT = Pattern(r"but you have torch (?P<version>\d[\w.+]{1,40})")
_ABSENT = Pattern(r"which is not installed|but it is not installed")


@rule(ERROR, kind="package-conflict")
def reported_conflicts(facts: Facts, target: Target) -> Findings:
    """An installer or a library said that versions do not fit together.

    Why: pip installs what it was asked for and only then prints which demands it broke; libraries that check
    their own demands stop at import. The line names the pair.
    Fix: a version that all of them accept; where two demands exclude each other, separate environments.
    Source: https://pip.pypa.io/en/stable/topics/dependency-resolution/
    https://github.com/huggingface/transformers/blob/main/src/transformers/utils/versions.py
    """
    in_vain = tuple(_asked_in_vain(facts)) or tuple(_exclude_each_other(facts)) or tuple(_held_back(facts))
    yield from in_vain
    yield from _own_pins.apart(facts)
    judged = bool(in_vain) or _unmet.is_of_a_list(facts)
    told: set[tuple[str, str]] = set()
    for line in facts.messages:
        if line.startswith("the solver's conflict"):
            continue  # conda's: pip installs none of it, and packages/known-errors has a row for it
        if judged and _unmet.is_listed(line):
            continue  # one of pip's list of who asks for what: judged together, above; who agree do not conflict
        match = next((m for pattern in _unmet.LINES if (m := pattern.search(line))), None)
        if match is None:
            continue
        requirement = match["wanted"].rstrip(").,;")
        wanted = requirements.read(requirement)
        if wanted is None or wanted.name == "python" or not wanted.specifier:
            continue
        if _unmet.is_without_wheels(facts, wanted.name, line):
            continue  # nothing is installed, and no version is at fault: packages/known-errors speaks of the wheels
        version = installed.version(facts, wanted.name)
        if version is not None and versions.within(version, wanted.specifier):
            continue  # what was reported has been repaired since, or the other side of a pair is the violated one
        one = match.groupdict().get("one") or "a package"
        if (one, wanted.name) in told:
            continue
        told.add((one, wanted.name))
        mates = normal(one) in ("torchvision", "torchaudio") and wanted.name == "torch"
        advice = _of_mates(facts, one, wanted, requirement, line) if mates else None
        advice = advice or _of_any(one, wanted.name, version, requirement)
        fix = remedies.from_lock(facts, target, wanted.name, *advice[:2], instead=advice[2:])
        noted = (_unmet.HAVE.search(line) or _ABSENT.search(line)) and _install_log.notes_only(facts)
        if noted and not (mates or fix.pins or wanted.name in _install_log.STACK):
            yield from _notice(facts, one, wanted.name, requirement, line)
            continue
        yield finding(
            subject=f"{one} {wanted.name}",
            actual=version or ("not installed" if _ABSENT.search(line) else "none that fits"),
            expected=requirement,
            kind="torch-pair-mismatch" if mates else "",
            message=f"{line.rstrip('.')}.",
            fix=fix,
            explains=("packages/import-mismatch", f"packages/known-symptoms {wanted.name}"),
        )


def _of_mates(
    facts: Facts, one: str, torch: requirements.Wanted, requirement: str, line: str
) -> tuple[str, ...] | None:
    """What helps a mate of torch beside the torch that is kept: the one made for that, or else another torch."""
    kept = _KEPT.search(line)
    together = pairs.together(normal(one), kept["version"]) if kept else None
    if together is None:
        return None
    new, exact = _install_log.came_with(facts), _unmet.exact(torch.specifier)
    xformers = pairs.xformers_for(exact) if exact and "xformers" in new else None
    beside = f"xformers=={xformers}" if xformers else ""
    came = f"The torch that is there was installed together with {new}. " if new else ""
    end = f" and {beside}, which is made for it." if beside else "."
    text = f"{came}Install the {one} made for it, or {requirement}{end}"
    return text, remedies.install(*together), remedies.install(requirement, *filter(None, (beside,)))


def _of_any(one: str, name: str, version: str | None, requirement: str) -> tuple[str, ...]:
    torch = pairs.torch_for_triton(version) if version and (one, name) == ("torch", "triton") else None
    text = f"Install {requirement} into the Python that runs this, and start that anew {_SEPARATE}"
    return text + (_TRITON_KEPT.format(version, torch) if torch else ""), remedies.install(requirement)


_SEPARATE = "(in a notebook restart the runtime: what was imported before stays as it was); or separate the two."
_TRITON_KEPT = (
    " Where another package pins triton {}, keep it and take torch {}, which goes with it: the present torch runs with "
    "it as well, but for torch.compile."
)
_NOTED = "pip installed what was asked for, and notes what no longer fits"
_HOLDS = {
    "fsspec": "datasets, as a rule, which takes no newer one; gcsfs and s3fs want the very number of their own",
    "numpy": "numba, tensorflow or another package that sets a limit to numpy",
    "protobuf": "tensorflow, grpc's tools or an older onnx",
    "packaging": "lightning, langchain-core or streamlit",
    "typing-extensions": "tensorflow or an older pydantic",
    "huggingface-hub": "transformers or tokenizers, which set a limit to it",
}


def _notice(facts: Facts, one: str, name: str, requirement: str, line: str) -> Findings:
    """pip installed all the same, and says which demand of something else is no longer met."""
    have, said = _unmet.HAVE.search(line), line.rstrip(".")
    there = f"{name} {have['version'].rstrip('.,*')}" if have else "another one"
    absent = _ABSENT.search(line) is not None
    meaning = f"was there before, wants {requirement}, which is not there"
    if not absent:
        meaning = f"was there before or came with it, wants {requirement} and finds {there}"
    yield finding(
        subject=f"{one} {name}",
        title=_NOTED,
        actual="not installed" if absent else there,
        expected=requirement,
        severity=WARNING if _install_log.is_in_question(facts, one, name) else NOTE,
        message=f"pip installed what it was asked for, and notes that {one}, which {meaning}: {said}",
        usually="" if absent else _USUALLY.format(one, name, f" ({_HOLDS[name]})" if name in _HOLDS else ""),
        fix=_BESIDE.format(one, requirement) if absent else _WHO_ASKS.format(one, name, requirement, there),
        run=remedies.install(requirement) if absent else ("python -m pip check", f"python -m pip show {name}"),
    )


_BESIDE = "Go on where {} is not used; else install {} beside it."
_USUALLY = (
    "something that was just installed asks for the {1} that is there{2}, and all that does not use {0} runs as it "
    "should"
)
_WHO_ASKS = (
    "Go on where {0} is not used. Else see who asks for which {1} (pip show names them under Required-by) before it is "
    "changed: {2} may break the other one; take the release of {0} made for {3}, or of the other one for {2}, or an "
    "environment for each."
)


def _asked_in_vain(facts: Facts) -> Findings:
    """pip names who asks for what below "The conflict is caused by": whoever was not pinned on purpose may move."""
    told: set[tuple[str, str]] = set()
    for one in _unmet.list_of_demands(facts):
        name, wanted = one.name, one.wanted
        same = (pin for pin in _unmet.asked_by_the_user(facts) if pin.name == wanted.name)
        pin = next((pin for pin in same if _unmet.are_apart(pin.specifier, wanted.specifier)), None)
        if pin is None or (name, pin.name) in told:
            continue
        told.add((name, pin.name))
        exact, asked_for = _unmet.exact(pin.specifier), f"{pin.name}{pin.specifier}"
        mates = name in ("torchvision", "torchaudio") and wanted.name == "torch"
        together = pairs.together(name, exact) if mates and exact else None
        yield finding(
            subject=f"{name} {wanted.name}",
            actual=f"{name} {one.version} with {asked_for}",
            expected=one.needs,
            kind="torch-pair-mismatch" if mates else "",
            message=f"{name} {one.version} needs {one.needs}, and {asked_for} was asked for: {_NOT_TOGETHER}.",
            fix=_LEAVE_TO_PIP.format(name, asked_for, one.needs),
            run=remedies.install(*(together or (one.needs, name))),
            explains=("packages/known-errors",),
        )


_NOT_TOGETHER = "they cannot be installed together"
_LEAVE_TO_PIP = (
    "Where it need not be {1}, write {2} in its place. Else leave the version of {0} to the installer, which takes the "
    "release that goes with {1}, where there is one."
)


def _held_back(facts: Facts) -> Findings:
    """Of pip's list: releases of one package alone, each of which sets a limit to another, and nobody else is named."""
    demands = tuple(_unmet.list_of_demands(facts))
    if len(demands) < 2 or len({(one.name, one.wanted.name) for one in demands}) != 1:
        return
    if not all("<" in one.wanted.specifier for one in demands):
        return
    newest = demands[0]  # pip begins with it
    name, other = newest.name, newest.wanted.name
    old = f"an environment with the Python of that time, in which {newest.needs} has wheels"
    yield finding(
        subject=f"{name} {other}",
        actual=f"{name} {newest.version}",
        expected=newest.needs,
        message=f"Each release of {name} that pip lists sets a limit to {other}, {newest.version} by {newest.needs}, "
        f"and pip found no {other} for any of them.",
        usually=f"a later {other} is asked for beside it, or this Python is newer than those releases of {other} have "
        "wheels for",
        fix=f"Take {old}; or a later state of {name} (its repository, a fork), or another package in its place. With "
        f"pip install --no-deps {name} it stands beside a later {other}, and works as far as that changed nothing.",
        explains=("packages/known-errors",),
    )


def _exclude_each_other(facts: Facts) -> Findings:
    """Of pip's list: two packages that want releases of a third which no release meets together."""
    demands: list[_unmet.ListedDemand] = []
    for one in _unmet.list_of_demands(facts):
        wanted, who = one.wanted, f"{one.name} {one.version}"
        against = (each for each in demands if each.name != one.name and each.wanted.name == wanted.name)
        other = next((each for each in against if _unmet.are_apart(each.wanted.specifier, wanted.specifier)), None)
        demands.append(one)
        if other is None:
            continue
        first = f"{other.name} {other.version}"
        leave = f"leave the version of {other.name} or of {one.name} to the installer."
        subject = f"{other.name} {one.name}"
        actual = f"{first} with {who}"
        expected = f"one {wanted.name} for both"
        message = f"{first} needs {other.needs}, and {who} needs {one.needs}: {_NOT_TOGETHER}."
        fix = f"Ask for another release of one of the two: {leave}"
        run = remedies.install(f"{one.name}=={one.version}", other.name)
        explains = ("packages/known-errors",)
        yield finding(
            subject=subject, actual=actual, expected=expected, message=message, fix=fix, run=run, explains=explains
        )
        return
