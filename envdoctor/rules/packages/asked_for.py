from envdoctor.knowledge.questions import Ask, ask_of, errors_in, installed, messages, versions
from envdoctor.rules.packages import _unmet
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, Target, error_lines, finding, remedies, rule

_NO_BRIDGE = Pattern(r"(?i:numpy is not available)")
_DONE = Pattern(
    r"(?i)\bpip3? install (?:-\S{1,20} )*[\w.\[\]=<>-]{1,60}(?:,? (?:torch|python|cuda|on|with) ?\d"
    r"|.{0,30}\b(?:did ?n[o'\u2019]?t|does ?n[o'\u2019]?t|no|without) (?:help|work|chang|effect)|.{0,20}\balready\b"
    r"| \d[\w.]*, )"
)
"""A person tells that it was installed, or that this did not help."""
_UNLIKE = Pattern(r"(?i:were compiled with different CUDA)")


@rule(ERROR, kind="package-missing")
def asked_for(facts: Facts, target: Target) -> Findings:
    """A program stopped and asks for a package, or for another release of one.

    Why: what is needed for one feature only is often no dependency of a library; it looks when the feature is used, and
    ends with a sentence of its own.
    Fix: install what it names into the Python that runs.
    Source: https://packaging.python.org/en/latest/tutorials/installing-packages/
    """
    told: set[str] = set()
    for line in error_lines(facts):
        ask = None if messages.is_log_line(line) or _DONE.search(line) else ask_of(line)
        if ask is None or ask.spoken in told or _is_told(facts, line):
            continue
        version = installed.version(facts, ask.package)
        if ask.module:
            told.add(ask.spoken)
            yield _not_imported(facts, target, ask, line, version)
            continue
        if version is not None and not (ask.newer and not ask.specifier) and versions.within(version, ask.specifier):
            continue  # it is there: what was asked for has been installed since, or something else ails it
        told.add(ask.spoken)
        yield _finding(facts, target, ask, line, version)


def _is_told(facts: Facts, line: str) -> bool:
    """Does another rule, or a row, speak of this very sentence? It knows more than its form."""
    if _NO_BRIDGE.search(line):
        return True  # packages/numpy-abi: a NumPy that is there may be the wrong one
    if _UNLIKE.search(line):
        return True  # packages/torch-pair: both are there
    return any(pattern.search(line) for pattern in _unmet.LINES) or any(errors_in(facts, line))


def _not_imported(facts: Facts, target: Target, ask: Ask, line: str, version: str | None) -> Finding:
    """Libraries that can do without a package import it where it is found, and fail where they use it all the same."""
    name = ask.package or ask.module
    how = f"install {name}" if ask.package else f"install {name} as its project says (no index has it)"
    text = f"Import {ask.module} by itself, which says what is wrong with it; then {how}, for the torch that is here."
    command = remedies.install(ask.package) if ask.package and not version else ""
    return finding(
        subject=name,
        title="A package is used where it was not imported",
        actual=f"{version or ''} not imported".strip(),
        kind="extension-binary-missing" if version else "package-missing",
        message=f"{ask.module} is used where it was not imported: {messages.own_words(line)}",
        usually="it is not installed or does not load, which its caller passed over; else the code lacks the import",
        fix=remedies.from_lock(facts, target, ask.package, text, f"python -c 'import {ask.module}'", command),
    )


def _finding(facts: Facts, target: Target, ask: Ask, line: str, version: str | None) -> Finding:
    name, explains = ask.package or ask.spoken, (f"packages/known-symptoms {ask.package}", "packages/import-mismatch")
    beside = _AND.search(line.partition(ask.requirement)[2]) if ask.specifier else None
    fix = remedies.from_lock(facts, target, ask.package, *_advice(ask, name, beside["other"] if beside else ""))
    said, actual = f"{name} is asked for: {messages.own_words(line)}", version or "not found"
    if ask.newer:
        said, actual = f"Another release of {said}", version or "another release"
    return finding(
        subject=name,
        actual=actual,
        expected=ask.requirement if ask.specifier else "",
        kind="package-conflict" if ask.newer else "package-missing",
        message=said,
        fix=fix,
        explains=explains,
    )


_AND = Pattern(r"^ ?(?:and|,|&) ?(?P<other>[A-Za-z][\w.-]{1,40}==\d[\w.]{0,30}\w)")
"""A second requirement in the same sentence."""


def _advice(ask: Ask, name: str, other: str) -> tuple[str, ...]:
    """A sentence, and what to install."""
    if not ask.package:
        return (f"No index has {name} under a name of its own: install it as its project says.",)
    if ask.package == "torch" and ask.newer:
        newer = ask.requirement if ask.specifier else "a newer torch"
        text = f"Install {newer}, and the torchvision and torchaudio that go with it."
        return text, remedies.upgrade("torch", "torchvision", "torchaudio")
    if ask.package == "torch":
        text = "Activate the environment that has torch, or install it there: uv takes the build that fits the driver."
        return text, "uv pip install --torch-backend=auto torch"
    both = f"{ask.requirement} and {other}" if other else ask.requirement
    text = f"Install {both} into the very Python that runs this (in a notebook restart the runtime after it)."
    exact = ask.specifier or ask.extras
    wanted = (ask.requirement, other) if other else (ask.requirement,)
    return text, remedies.install(*wanted) if exact else remedies.upgrade(ask.package)
