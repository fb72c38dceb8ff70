from envdoctor.knowledge.asking import Ask
from envdoctor.knowledge.questions import ask_of, errors_in, is_log_line, versions
from envdoctor.rules.packages._callers import CALLER
from envdoctor.rules.packages._unmet import LINES
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, Skip, Target, finding, known, remedies, rule

_NO_BRIDGE = Pattern(r"(?i:numpy is not available)")
_UNLIKE = Pattern(r"(?i:were compiled with different CUDA)")


@rule(ERROR, kind="package-missing")
def asked_for(facts: Facts, target: Target) -> Findings:
    """A program stopped and asks for a package, or for another release of one.

    Why: what is needed for one feature only is often no dependency of a library; it looks when the feature is used, and
    ends with a sentence of its own.
    Fix: install what it names into the Python that runs.
    Source: https://packaging.python.org/en/latest/tutorials/installing-packages/
    """
    if not facts.messages:
        raise Skip("the report has no error lines")
    packages = known(facts.packages)
    told: set[str] = set()
    for line in facts.messages:
        ask = None if is_log_line(line) else ask_of(line)
        if ask is None or ask.spoken in told or _is_told(facts, line):
            continue
        version = packages.version(ask.package) if packages and ask.package else None
        if ask.module:
            told.add(ask.spoken)
            yield _not_imported(target, facts, ask, line, version)
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
    return any(pattern.search(line) for pattern in LINES) or any(errors_in(facts, line))


def _not_imported(target: Target, facts: Facts, ask: Ask, line: str, version: str | None) -> Finding:
    """Libraries that can do without a package import it where it is found, and fail where they use it all the same."""
    name = ask.package or ask.module
    locked = remedies.locked_pins(target, known(facts.packages), ask.package) if ask.package else ()
    how = f"install {name}" if ask.package else f"install {name} as its project says (no index has it)"
    return finding(
        subject=name,
        title="A package is used where it was not imported",
        actual=f"{version or ''} not imported".strip(),
        kind="extension-binary-missing" if version else "package-missing",
        message=f"{ask.module} is used where it was not imported: {CALLER.sub('', line)}",
        usually="it is not installed or does not load, which its caller passed over; else the code lacks the import",
        fix=remedies.choose(
            target,
            locked,
            f"Import {ask.module} by itself, which says what is wrong with it; then {how}, for the torch that is here.",
            f"python -c 'import {ask.module}'",
            remedies.install(ask.package) if ask.package and not version else "",
        ),
        repair=locked,
    )


def _finding(facts: Facts, target: Target, ask: Ask, line: str, version: str | None) -> Finding:
    name = ask.package or ask.spoken
    wanted = ask.requirement
    locked = remedies.locked_pins(target, known(facts.packages), ask.package) if ask.package else ()
    command = ""
    if not ask.package:
        fix = f"No index has {name} under a name of its own: install it as its project says."
    elif ask.package == "torch" and ask.newer:
        newer = wanted if ask.specifier else "a newer torch"
        fix = f"Install {newer}, and the torchvision and torchaudio that go with it."
        command = remedies.upgrade("torch", "torchvision", "torchaudio")
    elif ask.package == "torch":
        fix = "Activate the environment that has torch, or install it there: uv takes the build that fits the driver."
        command = "uv pip install --torch-backend=auto torch"
    else:
        fix = f"Install {wanted} into the very Python that runs this (in a notebook restart the runtime after it)."
        command = remedies.install(wanted) if ask.specifier or ask.extras else remedies.upgrade(ask.package)
    said = CALLER.sub("", line)
    return finding(
        subject=name,
        actual=version or ("another release" if ask.newer else "not found"),
        expected=wanted if ask.specifier else "",
        kind="package-conflict" if ask.newer else "package-missing",
        message=f"Another release of {name} is asked for: {said}" if ask.newer else f"{name} is asked for: {said}",
        fix=remedies.choose(target, locked, fix, command),
        repair=locked,
        explains=(f"packages/known-symptoms {ask.package}", "packages/import-mismatch"),
    )
