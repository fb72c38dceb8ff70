from envdoctor.knowledge.questions import circumstances, errors_in, newest_python, versions
from envdoctor.knowledge.torch_builds import label_of, lines_beside, release_of
from envdoctor.rules.finding import ERROR, NOTE, WARNING, Finding, Findings, Remedy, Severity, finding
from envdoctor.rules.interpreter._pips_python import of_another_python, offered_releases
from envdoctor.rules.packages._install_log import ISOLATED
from envdoctor.rules.rule import Facts, Interpreter, Match, Pattern, Skip, Target, known, messages, need, rule, shell

_SAYS = (
    Pattern(r"(?i)(?:needs|requires|requires a different) (?:another |a different )?python(?:: | ?[<>=!~]| \d)"),
    Pattern(r"not in '?[<>=!~][\d.<>=, ]+'?"),
    Pattern(r"Requires-Python [<>=!~]"),
    Pattern(r"does not satisfy [<>=!~]=?\s*\d"),
    Pattern(r"(?i)\bpython (?:version )?v?[\d.x]{0,10} ?(?:is |are )?not supported"),
    Pattern(r"(?i)(?:is |are )?not (?:yet )?supported (?:on|for|with|under|by) Python"),
    Pattern(r"(?i)Python 3\.\d+\+? (?:is )?not (?:yet )?supported"),
    Pattern(r"(?i)requires?[- ]python\s*(?:[:=]\s*)?(?:[<>!~]|==)"),
)
_SINCE = (
    (Pattern(r"No module named '?(?:distutils|imp|asynchat|asyncore)\b"), ">=3.12"),
    (Pattern(r"module '?pkgutil'? has no attribute '?ImpImporter"), ">=3.12"),
    (Pattern(r"(?:Mapping|MutableMapping|Iterable|Callable|Sequence)'? from '?collections\b"), ">=3.10"),
    (Pattern(r"'?collections'? has no attribute '?(?:\w*Mapping|Iterable|Callable|Sequence)"), ">=3.10"),
    (Pattern(r"unsupported operand type\(s\) for \|: '(?:type|_GenericAlias)' and"), "<3.10"),
    (Pattern(r"No module named '?tomllib\b"), "<3.11"),
    (Pattern(r"'(?:type|ABCMeta)' object is not subscriptable"), "<3.9"),
)
"""Errors that mean this Python is too new or too old for the code, on the Pythons for which they mean it."""
_DEMAND = Pattern(
    r"(?i)python[ :='\"]{0,6}(?P<wanted>(?:[<>=!~]=?|≥)[ \d.<>=!~*,]{1,60})"
    r"|python (?P<least>\d\.\d{1,2})(?:\.\d{1,3})?(?:\+| (?:or|and) (?:later|newer|higher|above|up))",
)
_FAILED = Pattern(
    r"(?i)error|fail|ignored|cannot|can't|could not|not (?:in|a|been|support|satisf|compatible|available)|different"
    r"|unsatisf|conflict|no (?:matching|wheels?|version|solution)|n't support",
)
"""That something was refused: a page that says what a package asks for is no error of this machine."""
_TELLING = frozenset({">=3.12"})
"""Errors of this row are of no other Python, so that it need not be known."""
_NOT_FOUND = Pattern(
    r"(?i)(?:Could not find a version that satisfies the requirement|No matching distribution found for) "
    r"(?P<name>[A-Za-z][\w.-]*)(?P<wanted>[<>=!~]=?[^\s(,]+)?",
)
_NOT_INSTALLED = Pattern(r"(?i)Couldn't install torch|Failed to install torch")
_COMMAND = Pattern(r"(?i)pip install\b.{0,200}?[ '\"](?P<name>torch)(?P<wanted>==\d[\w.+]{1,30})")
_ANOTHER_PIP = "pip belongs to another Python than the {version} that is named (python -m pip --version tells)"
_OPEN = "no wheel of {name} was found that fits this Python and this system"
_ANOTHER = "Another Python is asked for than the one that is here"
_LACKS = "The code asks for what this Python does not have"
_NONE_FITS = "No wheel fits this Python and this system"
_REASONS = (
    "this Python is too new or too old for the release that is asked for, it is one of 32 bits, or the release has no "
    "wheels for this system or on the index that was asked"
)
_RELEASE = Pattern(r"(?i)\b(?P<name>numpy|numba)(?:==|-| )(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)")
_OF_DYNAMO = Pattern(r"Dynamo (?:is )?not supported on Python")
"""torch.compile's own word: a newer torch knows the Python, packages/known-errors has a row for it."""
_BELOW = Pattern(r"<(?P<too>=?) ?3\.(?P<minor>[6-9]|\d\d)\b")
_LEAST = Pattern(r"Requires-Python >=? ?3\.(?P<minor>[6-9]|\d\d)\b")
"""The Pythons that a release leaves out: the newest before the bound, or the first from it on."""
_UNNAMED = "of unknown version"
_NUMBERED = Pattern(r"(?i)python|\d\.\d+\.\d+")
_WHEELS_ONLY = frozenset({"torch", "torchvision", "torchaudio"})  # triton has wheels for one system alone
_OFFLINE = Pattern(r"(?i)connection|network|proxy|SSL|timed out|resolve")
_NEWEST_WHEELS, _OLDEST_WHEELS = (3, 14), (3, 10)
"""Compiled packages of this field have wheels for these Pythons (their release notes, autumn 2026); for newer ones they
come months later, for older ones the last releases are years old."""


@rule(ERROR, kind="python-unsupported", subject="python")
def unsupported(facts: Facts, target: Target) -> Findings:
    """This Python is not supported by what is installed, or by torch.

    Why: torch's wheels exist for some Python versions only, and packages say which ones they run on. On another
    one pip silently takes an old release, or nothing at all; a package that is there anyway may fail anywhere.
    Fix: an environment with a Python that the target's stack supports.
    Source: https://github.com/pytorch/pytorch/blob/main/RELEASE.md#release-compatibility-matrix
    https://packaging.python.org/en/latest/specifications/core-metadata/#requires-python
    """
    packages, torch = known(facts.packages), known(facts.torch)
    said = messages.in_report(facts, *_SAYS)
    if said is not None and (_OF_DYNAMO.search(said.string) or not _judges(said.string, known(facts.interpreter))):
        said = None
    missing = messages.in_report(facts, _NOT_FOUND)
    if missing is not None and _of_another_system(facts, missing.string):
        missing = None
    if said is not None and missing is not None and _is_of_others(said.string, missing["wanted"] or ""):
        said = None
    told = said is not None and "python" in said.string.lower()
    telling = [pattern for pattern, wrong in _SINCE if wrong in _TELLING]
    telltale = messages.in_report(facts, *telling) if known(facts.interpreter) is None else None
    if told or telltale is not None or (missing is not None and _nothing_built(missing)):
        interpreter = known(facts.interpreter) or Interpreter(version=_UNNAMED)
    else:
        interpreter = need(facts.interpreter)
    known_by_error = telltale is not None or said is None
    if telltale is not None:
        said = telltale
    elif said is None:
        fitting = [pattern for pattern, wrong in _SINCE if versions.within(interpreter.version, wrong)]
        said = messages.in_report(facts, *fitting)
    if said is not None and (known_by_error or _NUMBERED.search(said.string)):
        python = _python_of(said.string)
        if missing is not None and (missing["wanted"] or "").startswith("=="):
            python = _python_for(missing["name"].lower(), missing["wanted"])
        wanted_python = "a Python that these packages support"
        if _OLD_SETUPTOOLS.search(said.string) and messages.in_report(facts, _BUILDS):
            yield _of_a_build(interpreter, said.string, wanted_python, python)
            return
        title = _LACKS if known_by_error else _ANOTHER
        yield _finding(target, interpreter, said.string, wanted_python, proven=True, title=title, python=python)
        return
    if missing is not None and (index := _no_such_index(facts)):
        yield index
        return
    missing = missing or _torch_of_command(facts, interpreter)
    if missing is not None:
        name, wanted = missing["name"].lower(), missing["wanted"] or ""
        if (another := of_another_python(missing, interpreter, _NONE_FITS)) is not None:
            yield another
            return
        certain = _too_new_or_old(interpreter, name, wanted)
        if certain or _nothing_built(missing) or _far_from_wheels(interpreter, certain):
            text = "a Python for which this package has wheels"
            words = f"{_of_release(wanted)}: " if certain else f"{_OPEN.format(name=name + wanted)}: "
            words += missing.string
            python = _other_than(interpreter, _python_for(name, wanted))
            usually = "" if certain else _REASONS
            if certain is False:  # it has wheels for the Python that is named: this one is not to blame
                usually = f"{_ANOTHER_PIP.format(version=interpreter.version)}, or {_REASONS}"
                interpreter = Interpreter(version=_UNNAMED)
            sure = bool(certain or _nothing_built(missing))
            severity = ERROR if sure else WARNING
            yield _finding(target, interpreter, words, text, sure, severity, python=python, usually=usually)
            return
    if interpreter.implementation not in ("cpython", ""):
        text = f"{interpreter.implementation} is not supported by torch"
        yield _finding(target, interpreter, text, "CPython")
    for distribution in packages.distributions if packages else ():
        wanted = distribution.requires_python
        if wanted and versions.within(interpreter.version, wanted) is False:
            text = f"{distribution.name} {distribution.version} needs Python {wanted}"
            yield _finding(target, interpreter, text, f"Python {wanted}")
    version = (torch.version if torch else None) or (packages.version("torch") if packages else None)
    release = release_of(version) if version else None
    if release is not None and not _within(interpreter, release.python):
        built = f"Python {release.python[0]} to {release.python[1]}"
        # A torch that imports under a Python without wheels was built for it by someone: worth knowing, not an error.
        yield _finding(target, interpreter, f"torch {release.name} has wheels for {built}", built, severity=NOTE)
    if version is None and said is None and packages is None:
        raise Skip("neither packages nor errors are reported")


def _is_of_others(said: str, wanted: str) -> bool:
    """Does pip list releases that it passed over, and the one that it did not find is none of them?"""
    release = wanted.strip("=<>!~ ")
    return "Ignored the following versions" in said and bool(release) and f" {release} Requires-Python" not in said


def _no_such_index(facts: Facts) -> Finding | None:
    """The text asks an index of PyTorch for a CUDA line that it never had."""
    asked = (found for text in messages.everything(facts) if (found := circumstances.AN_INDEX.said.search(text)))
    for found in asked:
        cuda = f"{found['line'][:-1]}.{found['line'][-1]}"
        near = _lines_near(facts, cuda)
        if not near:
            continue
        return finding(
            subject="the index",
            title="The index that is asked for is not there",
            actual=f"cu{found['line']}",
            expected=f"{'one of ' if near[1:] else ''}{', '.join(map(label_of, near))}",
            kind="package-conflict",
            message=f"PyTorch has no index cu{found['line']}: no torch was built for CUDA {cuda}.",
            fix=f"Ask for a line that there is (CUDA {', '.join(near)}), {_ANY_TOOLKIT}",
            explains=("packages/known-errors torch", "packages/no-such-release", "packages/missing"),
        )
    return None


def _lines_near(facts: Facts, cuda: str) -> tuple[str, ...]:
    """Of a CUDA line that no torch was built for, what to ask for: lines of its major version for which the release
    that is wanted was built, else all of that release, else the two beside it."""
    beside = lines_beside(cuda)
    wanted = next((found["version"] for text in messages.everything(facts) if (found := _OF_TORCH.search(text))), "")
    release = release_of(wanted) if wanted else None
    if beside is None or release is None:
        return beside or ()
    same = (line for line in release.lines if line.partition(".")[0] == cuda.partition(".")[0])
    return tuple(same) or release.lines


_OF_TORCH = Pattern(r"\btorch={2,3}(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)")
_ANY_TOOLKIT = (
    "whichever toolkit is installed: torch brings its own, and runs with what was compiled by another toolkit of the "
    "same major version."
)


def _judges(said: str, own: Interpreter | None) -> bool:
    """Is it said of this Python? What a package asks for (pip show, a page of its documentation) is no error of a
    Python that has it, or that nobody named."""
    if own is None:
        return _FAILED.search(said) is not None
    demand = _DEMAND.search(said)
    if demand is None:
        return True
    wanted = (demand["wanted"] or f">={demand['least']}").replace("≥", ">=").replace(" ", "").strip(",.")
    if _FAILED.search(said):
        return True
    return versions.within(own.version, wanted) is not True


def _nothing_built(missing: Match[str]) -> bool:
    """pip names the releases that it could take. Of torch these are all that have a wheel for this Python: none, only
    the empty shell 0.1.2, or only later ones than the one that was asked for."""
    offered = offered_releases(missing.string)
    if offered is None or missing["name"].lower() not in _WHEELS_ONLY or _OFFLINE.search(missing.string):
        return False
    releases = [release for text in offered if (release := versions.release(text))]
    real = [release for release in releases if release > (0, 1, 2)]
    wanted = versions.release((missing["wanted"] or "").lstrip("=~<>!"))
    return not real or (wanted is not None and missing["wanted"].startswith("==") and wanted < min(real))


def _torch_of_command(facts: Facts, interpreter: Interpreter) -> Match[str] | None:
    """The torch that a launcher had pip install, and failed to, where this Python never had a wheel of it."""
    if not messages.in_report(facts, _NOT_INSTALLED):
        return None
    found = (_COMMAND.search(text) for text in (*facts.messages, *facts.remarks.values()))
    return next((one for one in found if one and _too_new_or_old(interpreter, "torch", one["wanted"])), None)


def _too_new_or_old(interpreter: Interpreter, name: str, wanted: str) -> bool | None:
    """Had this release of torch no wheel for this Python? None where that is in no table."""
    release = release_of(wanted.lstrip("=~<>!")) if name == "torch" and wanted.startswith("==") else None
    if release is None or versions.release(interpreter.version) is None:
        return None
    return not _within(interpreter, release.python)


def _of_release(wanted: str) -> str:
    release = release_of(wanted.lstrip("=~<>!"))
    return f"torch {release.name} has wheels for Python {release.python[0]} to {release.python[1]}" if release else ""


def _far_from_wheels(interpreter: Interpreter, certain: bool | None) -> bool:
    """Is this Python outside of the usual range, where nothing better is known? That is a guess: a name that nobody
    has, an index that was not reached, and another system look the same."""
    own = versions.release(interpreter.version)
    return certain is None and own is not None and (own[:2] >= _NEWEST_WHEELS or own[:2] < _OLDEST_WHEELS)


def _python_for(name: str, wanted: str) -> str:
    """The newest Python that the release asked for has wheels for, up to 3.12, which most packages have some for."""
    exact = wanted.startswith(("==", "~="))
    return (newest_python(name, versions.public(wanted.lstrip("=~"))) if exact else None) or "3.12"


def _other_than(interpreter: Interpreter, python: str) -> str:
    """One older, where the release has wheels for this one on other systems alone."""
    own = versions.release(interpreter.version)
    same = own is not None and python == f"{own[0]}.{own[1]}"
    return f"{own[0]}.{own[1] - 1}" if own is not None and same else python


def _python_of(said: str) -> str:
    """What an error text asks for: the Python of the release that it names, or one that had what is missing."""
    if release := _RELEASE.search(said):
        return newest_python(release["name"].lower(), release["version"]) or "3.12"
    gone = any(pattern.search(said) for pattern, wrong in _SINCE if wrong == ">=3.12")
    newest = 11 if gone else 12
    below = [int(bound["minor"]) - (not bound["too"]) for bound in _BELOW.finditer(said)]
    least = [int(bound["minor"]) for bound in _LEAST.finditer(said)]
    return f"3.{min(newest, max(below)) if below else max(newest, min(least, default=newest))}"


def _within(interpreter: Interpreter, supported: tuple[str, str]) -> bool:
    own, first, last = (versions.release(text) for text in (interpreter.version, *supported))
    return own is None or first is None or last is None or first[:2] <= own[:2] <= last[:2]


_NO_DISTUTILS = (
    "it is Python 3.12 or later, which dropped it (setuptools brings one of its own); Debian and Ubuntu have that of "
    "their earlier Pythons in a package of its own, python3-distutils"
)
_OLD_SETUPTOOLS = Pattern(r"'?pkgutil'? has no attribute '?ImpImporter")


_BUILDS = Pattern(
    rf"Getting requirements to build wheel|subprocess-exited-with-error|metadata-generation-failed|{ISOLATED}"
)


def _of_a_build(interpreter: Interpreter, text: str, expected: str, python: str) -> Finding:
    """pip and uv build a package in an environment of its own, with the setuptools that the package pins."""
    return finding(
        actual=f"{interpreter.implementation} {interpreter.version}",
        expected=expected,
        message=_sentence(interpreter, text),
        usually=_PINNED,
        fix=Remedy(text=f"{_BUILT_HERE}, or Python {python}.", commands=(f"uv venv --python {python} .venv",)),
        explains=("packages/import-mismatch", "packages/missing", "packages/known-errors"),
    )


_BUILT_HERE = (
    "Another setuptools in the environment changes nothing: pip and uv build in one of their own. Take a release of "
    "that package that has a wheel for this Python (the line Collecting or Failed to build above names it)"
)
_PINNED = (
    "a package is built from its sources, as its release is older than this Python and has no wheel for it, and its "
    "pyproject.toml pins a setuptools of that time for the build's own environment"
)


def _sentence(interpreter: Interpreter, text: str) -> str:
    """Of a Python that nobody named no more is said than the text proves."""
    text = messages.own_words(text).rstrip(".")
    if interpreter.version != _UNNAMED:
        return f"Python {interpreter.version}: {text}."
    if text.startswith("no wheel"):
        return f"N{text[1:]}."
    gone = any(pattern.search(text) for pattern, wrong in _SINCE if wrong in _TELLING)
    if "distutils" in text:
        return f"The code asks for distutils, which this Python has not: {text}."
    return f"{'The code asks for what Python 3.12 dropped' if gone else 'Something here wants another Python'}: {text}."


def _of_another_system(facts: Facts, line: str) -> bool:
    """Does a row say that this system has no wheel of it, whichever the Python?"""
    rows = errors_in(facts, line)
    return any(row.kind == "extension-binary-missing" and row.beside for row in rows)


def _finding(
    target: Target,
    interpreter: Interpreter,
    text: str,
    expected: str,
    proven: bool = False,
    severity: Severity = ERROR,
    title: str = "",
    python: str = "3.12",
    usually: str = "",
) -> Finding:
    fix = _remedy(target, text, python, another=bool(usually))
    pinned = _OLD_SETUPTOOLS.search(text) is not None
    if pinned or "distutils" in text:
        usually = "" if pinned or interpreter.version != _UNNAMED else _NO_DISTUTILS
    return finding(
        title=_NONE_FITS if usually.endswith(_REASONS) else title,
        actual=f"{interpreter.implementation} {interpreter.version}",
        expected=expected,
        message=_sentence(interpreter, text),
        usually=usually,
        fix=fix,
        severity=severity,
        explains=() if severity is NOTE else ("packages/import-mismatch", "packages/missing"),
        certain=proven,
    )


def _remedy(target: Target, text: str, python: str, another: bool) -> Remedy:
    """Another Python, or the setuptools that the text lacks."""
    environment = f"uv venv --python {python} .venv"
    if _OLD_SETUPTOOLS.search(text):
        upgrade = "python -m pip install --upgrade 'setuptools<81'"
        return Remedy(text=_LATER_SETUPTOOLS, commands=(upgrade,), instead=(environment,))
    fix = _INSTALL_SETUPTOOLS
    if "distutils" not in text:
        fix = f"Make an environment with {'another' if another else 'a supported'} Python."
    repaired = f"envdoctor fix --env .venv --target {shell.word(target.name)}"
    return Remedy(text=fix, commands=(environment,) if target.name == "none" else (environment, repaired))


_LATER_SETUPTOOLS = (
    "Upgrade setuptools in the Python that runs this, whose pkg_resources is of before Python 3.12; where it is a "
    "package's build that says this, take a later release of that package, or Python 3.11."
)
_INSTALL_SETUPTOOLS = (
    "See python --version. From 3.12 on install setuptools, and take a later release of what asks for it or Python "
    "3.11; before 3.12 install the system's python3-distutils."
)
