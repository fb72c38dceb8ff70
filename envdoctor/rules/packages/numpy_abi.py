from envdoctor.knowledge.pairs import first_with_numpy_2
from envdoctor.knowledge.questions import errors_in, messages, versions
from envdoctor.rules.packages._numpy_interface import Reading, read
from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Packages, Skip, Target, finding, known, remedies, rule

_SAYS = (
    "compiled using numpy 1",
    "built for numpy 1",
    "compiled for numpy 1",
    "_array_api not found",
    "numpy is not available",
    "numpy not available",
    "numpy.core.multiarray failed to import",
    "numpy.dtype size changed",
    "numpy.ndarray size changed",
    "compiled against abi version",
    "module compiled against api version",
)


@rule(ERROR, kind="numpy-abi", subject="numpy", expected="packages built for this NumPy")
def numpy_abi(facts: Facts, target: Target) -> Findings:
    """Packages built for NumPy 1 run under NumPy 2, or the reverse.

    Why: NumPy 2 changed its binary interface. Wheels compiled before it warn, crash, or lose the bridge between
    tensors and arrays: with torch before 2.3, tensor.numpy() and torch.from_numpy() raise "Numpy is not
    available".
    Fix: newer packages, or numpy<2.
    Source: https://numpy.org/doc/stable/numpy_2_0_migration_guide.html
    https://github.com/numpy/numpy/issues/26191 https://github.com/pytorch/pytorch/issues/107302
    """
    packages, torch = known(facts.packages), known(facts.torch)
    numpy = packages.version("numpy") if packages else None
    said = messages.line_with(facts, *_SAYS) or (torch.numpy if torch and torch.numpy else None)
    if said is None and numpy is None:
        raise Skip("the version of NumPy is not known")
    if said is not None and _has_a_row_of_its_own(facts, said):
        return
    old = {}
    if numpy and versions.at_least(numpy, "2.0") and packages:
        present = {d.name: d.version for d in packages.distributions}
        if torch:
            present["torch"] = torch.version
        first = first_with_numpy_2()
        old = {name: version for name, version in present.items() if name in first and _before(version, first[name])}
    if not old and said is None:
        return
    blamed = ", ".join(f"{name} {version}" for name, version in sorted(old.items()))
    text = f"{blamed} {'was' if len(old) == 1 else 'were'} built for NumPy 1; {numpy} is installed" if old else ""
    reading = None if text or said is None else read(said, facts.messages)
    yield _finding(target, packages, text, tuple(sorted(old)), said, reading)


def _has_a_row_of_its_own(facts: Facts, said: str) -> bool:
    """NumPy's own compiled parts do not fit it: no other package is to blame, and a row says so."""
    rows = errors_in(facts, said)
    return any(row.kind == "numpy-abi" and row.beside for row in rows)


def _before(version: str, first: str) -> bool:
    """Older than the first fitting release. Builds from source and of vendors ("2.3.0a0+...nv24.4") are not judged."""
    label = versions.label(version) or ""
    return versions.below(version, first) and (not label or label.startswith(("cu", "cpu", "rocm")))


def _finding(
    target: Target,
    packages: Packages | None,
    text: str,
    old: tuple[str, ...],
    said: str | None,
    reading: Reading | None,
) -> Finding:
    numpy = packages.version("numpy") if packages else None
    locked = remedies.locked_pins(target, packages, "numpy", *old)
    advice, wanted = (reading.advice, reading.wanted) if reading else (_BOTH_WAYS, "numpy<2")
    command = (
        remedies.install(wanted) if wanted else "python -c 'import numpy; print(numpy.__version__, numpy.__file__)'"
    )
    return finding(
        title=reading.title if reading else "",
        actual=f"numpy {numpy or 'of unknown version'}",
        certain=said is not None,
        message=f"{reading.meaning}: {said}" if reading else f"{text}.",
        usually=reading.usually if reading else "",
        fix=remedies.choose(target, locked, advice, command),
        repair=locked,
        explains=("packages/import-mismatch numpy", "packages/known-errors numpy", "packages/asked-for numpy"),
    )


_BOTH_WAYS = "Install newer builds of these packages, or an older NumPy."
