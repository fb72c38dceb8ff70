import re

from envdoctor.knowledge.questions import normal, pairs, versions
from envdoctor.knowledge.requirements import Wanted, read
from envdoctor.rules.finding import NOTE, WARNING, Severity, finding
from envdoctor.rules.packages._unmet import LINES
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Target, known, remedies, rule

_KEPT = Pattern(r"but you have torch (?P<version>\d[\w.+]{1,40})")
_HAVE = Pattern(r"but you(?:'ll)? have \S{1,80} v?(?P<version>\d[\w.+]{0,40})")
_USER = Pattern(
    r"\bThe user requested (?:\(constraint\) )?(?P<wanted>[A-Za-z][\w.-]{0,80} ?[<>=!~]=?[^ ,]{1,80}"
    r"(?:(?:, ?| and )[<>=!~]=?[^ ;,]{1,60}){0,8})"
)
_DEPENDS = Pattern(
    r"(?<![\w.+-])(?P<one>[A-Za-z][\w.-]{0,80}?)(?:\[[\w,-]{1,80}\])? (?P<version>\d[\w.+!-]{0,60}) depends on "
    r"(?P<wanted>[A-Za-z][\w.-]{0,80}(?:\[[\w,-]{1,80}\])? ?[<>=!~]=?[^ ;,]{1,60}"
    r"(?:(?:, ?| and )[<>=!~]=?[^ ;,]{1,60}){0,8})"
)


@rule(ERROR, kind="package-conflict")
def reported_conflicts(facts: Facts, target: Target) -> Findings:
    """An installer or a library said that versions do not fit together.

    Why: pip installs what it was asked for and only then prints which demands it broke; libraries that check
    their own demands stop at import. The line names the pair.
    Fix: a version that all of them accept; where two demands exclude each other, separate environments.
    Source: https://pip.pypa.io/en/stable/topics/dependency-resolution/
    https://github.com/huggingface/transformers/blob/main/src/transformers/utils/versions.py
    """
    packages = known(facts.packages)
    in_vain = tuple(_asked_in_vain(facts)) or tuple(_exclude_each_other(facts))
    yield from in_vain
    asked = bool(in_vain) or any(_USER.search(line) for line in facts.messages)
    listed = any("The conflict is caused by" in text or "ResolutionImpossible" in text for text in facts.messages)
    told: set[tuple[str, str]] = set()
    for line in facts.messages:
        if line.startswith("the solver's conflict"):
            continue  # conda's: pip installs none of it, and packages/known-errors has a row for it
        if (asked or listed) and _DEPENDS.search(line.strip(" -")):
            continue  # one of pip's list of who asks for what: judged together, above; who agree do not conflict
        match = next((m for pattern in LINES if (m := pattern.search(line))), None)
        if match is None:
            continue
        requirement = match["wanted"].rstrip(").,;")
        wanted = read(requirement)
        if wanted is None or wanted.name == "python" or not wanted.specifier:
            continue
        version = packages.version(wanted.name) if packages else None
        if version is not None and versions.within(version, wanted.specifier):
            continue  # what was reported has been repaired since, or the other side of a pair is the violated one
        one = match.groupdict().get("one") or "a package"
        if (one, wanted.name) in told:
            continue
        told.add((one, wanted.name))
        locked = remedies.locked_pins(target, packages, wanted.name)
        mates = normal(one) in ("torchvision", "torchaudio") and wanted.name == "torch"
        kept = _KEPT.search(line) if mates else None
        by_hand = pairs.together(normal(one), kept["version"]) if kept else None
        new = _came_with(facts) if mates else ""
        beside = f"xformers=={last}" if "xformers" in new and (last := _xformers_for(wanted)) else ""
        if (
            not (mates or locked or wanted.name in _STACK)
            and (_HAVE.search(line) or _ABSENT.search(line))
            and any(_NOTICE.search(text) for text in facts.messages)
        ):
            severity = WARNING if _in_question(facts, one, wanted.name) else NOTE
            yield from _notice(one, wanted.name, requirement, line, severity)
            continue
        other_torch = pairs.torch_for_triton(version) if version and (one, wanted.name) == ("torch", "triton") else None
        yield finding(
            subject=f"{one} {wanted.name}",
            actual=version or ("not installed" if _ABSENT.search(line) else "another version"),
            expected=requirement,
            kind="torch-pair-mismatch" if mates else "",
            message=f"{line.rstrip('.')}.",
            fix=remedies.choose(
                target,
                locked,
                (f"The torch that is there was installed together with {new}. " if new else "")
                + f"Install the {one} made for it, or {requirement}"
                + (f" and {beside}, which is made for it." if beside else ".")
                if by_hand
                else f"Install {requirement} into the Python that runs this, and start that anew (in a notebook "
                "restart the runtime: what was imported before stays as it was); or separate the two."
                + (
                    f" Where another package pins triton {version}, keep it and take torch {other_torch}, which goes "
                    "with it: the present torch runs with it as well, but for torch.compile."
                    if other_torch
                    else ""
                ),
                remedies.install(*by_hand) if by_hand else remedies.install(requirement),
                instead=(remedies.install(requirement, *([beside] if beside else [])),) if by_hand else (),
            ),
            repair=locked,
            explains=("packages/import-mismatch", f"packages/known-symptoms {wanted.name}"),
        )


def _came_with(facts: Facts) -> str:
    """What pip installed together with torch, other than what torch itself brings: one of these asked for it."""
    names = facts.remarks.get("just installed", "").split()
    others = [name for name in names if not name.startswith(_BROUGHT) and name not in _STACK]
    return ", ".join(others) if "torch" in names and 0 < len(others) <= 4 else ""


_BROUGHT = ("nvidia-", "cuda-", "pytorch-triton", "sympy", "mpmath", "networkx", "jinja2", "filelock", "markupsafe")


def _xformers_for(torch: Wanted) -> str | None:
    exact = _exact(torch.specifier)
    return pairs.xformers_for(exact) if exact else None


_NOTICE = Pattern(
    r"dependency resolver does not currently take into account|the source of the following dependency conflicts"
)
"""What pip prints below an installation that went through."""
_NOTED = "pip installed what was asked for, and notes what no longer fits"
_STACK = frozenset({"torch", "torchvision", "torchaudio", "triton"})
"""What was compiled for another one of these does not load: a notice of them is none to pass over."""
_HOLDS = {
    "fsspec": "datasets, as a rule, which takes no newer one; gcsfs and s3fs want the very number of their own",
    "numpy": "numba, tensorflow or another package that sets a limit to numpy",
    "protobuf": "tensorflow, grpc's tools or an older onnx",
    "packaging": "lightning, langchain-core or streamlit",
    "typing-extensions": "tensorflow or an older pydantic",
    "huggingface-hub": "transformers or tokenizers, which set a limit to it",
}


_ABSENT = Pattern(r"which is not installed|but it is not installed")


def _in_question(facts: Facts, one: str, name: str) -> bool:
    """Is the pair what the text is about? Its heading names one of the two; or, where it names none of them, what was
    just installed is what does not fit. The others were at odds before it, or are of no moment to whoever asks."""
    heading = set(re.findall(r"[a-z0-9]{3,}", facts.remarks.get("heading of an install log", "").lower()))
    names = facts.remarks.get("just installed", "").split()
    if heading:
        pairs = [m for line in facts.messages for p in LINES if (m := p.search(line)) and "one" in m.groupdict()]
        spoken = {word for m in pairs for each in (m["one"], m["wanted"]) for word in _parts(each or "")}
        if heading & spoken:
            return bool(heading & ({*_parts(one)} | {*_parts(name)}))
    return not names or normal(name) in names or normal(one) in names


def _parts(name: str) -> list[str]:
    """The words of a distribution's name: people say hydra for hydra-core."""
    plain = re.split(r"[ <>=!~\[(]", name.lower(), maxsplit=1)[0]
    return [plain, *(part for part in re.split(r"[-_.]", plain) if len(part) > 3 and part not in _COMMON)]


_COMMON = frozenset("core python tools utils client server torch nvidia cuda".split())


def _notice(one: str, name: str, requirement: str, line: str, severity: Severity) -> Findings:
    """pip installed all the same, and says which demand of something else is no longer met."""
    if _ABSENT.search(line):
        yield finding(
            subject=f"{one} {name}",
            title=_NOTED,
            actual="not installed",
            expected=requirement,
            severity=severity,
            message=f"pip installed what it was asked for, and notes that {one}, which was there before, wants "
            f"{requirement}, which is not there: {line.rstrip('.')}",
            fix=f"Go on where {one} is not used; else install {requirement} beside it.",
            run=remedies.install(requirement),
        )
        return
    have = _HAVE.search(line)
    there = f"{name} {have['version'].rstrip('.,*')}" if have else "another one"
    holder = f" ({_HOLDS[name]})" if name in _HOLDS else ""
    yield finding(
        subject=f"{one} {name}",
        title=_NOTED,
        actual=there,
        expected=requirement,
        severity=severity,
        message=f"pip installed what it was asked for, and notes that {one}, which was there before or came with it, "
        f"wants {requirement} and finds {there}: {line.rstrip('.')}",
        usually=f"something that was just installed asks for the {name} that is there{holder}, and all that does not "
        f"use {one} runs as it should",
        fix=f"Go on where {one} is not used. Else see who asks for which {name} (pip show names them under "
        f"Required-by) before it is changed: {requirement} may break the other one; take the release of {one} made for "
        f"{there}, or of the other one for {requirement}, or an environment for each.",
        run=("python -m pip check", f"python -m pip show {name}"),
    )


def _asked_in_vain(facts: Facts) -> Findings:
    """pip names who asks for what below "The conflict is caused by": whoever was not pinned on purpose may move."""
    lines = [line.strip(" -") for line in facts.messages]
    asked = [one for line in lines if (found := _USER.search(line)) and (one := _bounds(found["wanted"]))]
    told: set[tuple[str, str]] = set()
    for line in lines:
        found = _DEPENDS.search(line)
        wanted = _bounds(found["wanted"]) if found else None
        if found is None or wanted is None:
            continue
        pin = next((one for one in asked if one.name == wanted.name and _apart(one.specifier, wanted.specifier)), None)
        if pin is None or (found["one"], pin.name) in told:
            continue
        told.add((found["one"], pin.name))
        name, exact = normal(found["one"]), _exact(pin.specifier)
        mates = name in ("torchvision", "torchaudio") and wanted.name == "torch"
        together = pairs.together(name, exact) if mates and exact else None
        asked_for = f"{pin.name}{pin.specifier}"
        use = together or (asked_for, name)
        yield finding(
            subject=f"{name} {wanted.name}",
            actual=f"{name} {found['version']} with {asked_for}",
            expected=f"{wanted.name}{wanted.specifier}",
            kind="torch-pair-mismatch" if mates else "",
            message=f"{name} {found['version']} needs {wanted.name}{wanted.specifier}, and {asked_for} was asked for: "
            "they cannot be installed together.",
            fix=f"Ask for the {name} that goes with {asked_for}: leave its version to the installer; or, where it need "
            f"not be {asked_for}, write {wanted.name}{wanted.specifier} in its place.",
            run=(remedies.install(*use),),
            explains=("packages/known-errors",),
        )


def _exclude_each_other(facts: Facts) -> Findings:
    """Of pip's list: two packages that want releases of a third which no release meets together."""
    demands: list[tuple[str, str, Wanted]] = []
    for line in facts.messages:
        found = _DEPENDS.search(line.strip(" -"))
        wanted = _bounds(found["wanted"]) if found else None
        if found is None or wanted is None:
            continue
        name, version = normal(found["one"]), found["version"]
        against = (each for each in demands if each[0] != name and each[2].name == wanted.name)
        other = next((each for each in against if _apart(each[2].specifier, wanted.specifier)), None)
        demands.append((name, version, wanted))
        if other is None:
            continue
        yield finding(
            subject=f"{other[0]} {name}",
            actual=f"{other[0]} {other[1]} with {name} {version}",
            expected=f"one {wanted.name} for both",
            message=f"{other[0]} {other[1]} needs {wanted.name}{other[2].specifier}, and {name} {version} needs "
            f"{wanted.name}{wanted.specifier}: they cannot be installed together.",
            fix=f"Ask for another release of one of the two: leave the version of {other[0]} or of {name} to the "
            "installer.",
            run=(remedies.install(f"{name}=={version}", other[0]),),
            explains=("packages/known-errors",),
        )
        return


def _bounds(text: str) -> Wanted | None:
    """pip writes the last of several bounds behind "and"."""
    return read(text.rstrip(").,").replace(" and ", ",").replace(", ", ","))


def _exact(specifier: str) -> str | None:
    found = re.fullmatch(r"==(\d[\w.+]*)", specifier)
    return found[1] if found else None


def _apart(asked: str, needed: str) -> bool:
    """Does no release meet both? What both take holds the highest of the lower bounds, or what comes next to it."""
    bounds = [bound.rstrip(".") for bound in re.findall(r"(?<![\w.+])\d[\w.+]*", f"{asked},{needed}")]
    for each in ("0", *bounds, *(f"{bound}.0.0.1" for bound in bounds if "+" not in bound)):
        one, other = versions.within(each, asked), versions.within(each, needed)
        if one is not False and other is not False:
            return False
    return True
