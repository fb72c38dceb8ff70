from envdoctor.rules.packages import _numpy_interface
from envdoctor.rules.rule import ERROR, Facts, Findings, Skip, Target, finding, remedies, rule

_EXPLAINED = ("packages/import-mismatch numpy", "packages/known-errors numpy", "packages/asked-for numpy")
_WHICH = "python -c 'import numpy; print(numpy.__version__, numpy.__file__)'"
_BOTH_WAYS = "Install newer builds of these packages, or an older NumPy."


@rule(ERROR, kind="numpy-abi", subject="numpy", expected="packages built for this NumPy", explains=_EXPLAINED)
def numpy_abi(facts: Facts, target: Target) -> Findings:
    """Packages built for NumPy 1 run under NumPy 2, or the reverse.

    Why: NumPy 2 changed its binary interface. Wheels compiled before it warn, crash, or lose the bridge between
    tensors and arrays: with torch before 2.3, tensor.numpy() and torch.from_numpy() raise "Numpy is not
    available".
    Fix: newer packages, or numpy<2.
    Source: https://numpy.org/doc/stable/numpy_2_0_migration_guide.html
    https://github.com/numpy/numpy/issues/26191 https://github.com/pytorch/pytorch/issues/107302
    """
    numpy, said = _numpy_interface.release(facts), _numpy_interface.error_line(facts)
    if said is None and numpy is None:
        raise Skip("the version of NumPy is not known")
    if said is not None and _numpy_interface.has_a_row_of_its_own(facts, said):
        return
    old = _numpy_interface.built_for_1(facts)
    if not old and said is None:
        return
    blamed = ", ".join(f"{name} {version}" for name, version in sorted(old.items()))
    text = f"{blamed} {'was' if len(old) == 1 else 'were'} built for NumPy 1; {numpy} is installed" if old else ""
    reading = None if text or said is None else _numpy_interface.read(said, facts.messages)
    advice, wanted = (reading.advice, reading.wanted) if reading else (_BOTH_WAYS, "numpy<2")
    by_hand = remedies.install(wanted) if wanted else _WHICH
    yield finding(
        title=reading.title if reading else "",
        actual=f"numpy {numpy or 'of unknown version'}",
        certain=said is not None,
        message=f"{reading.meaning}: {said}" if reading else f"{text}.",
        usually=reading.usually if reading else "",
        fix=remedies.from_lock(facts, target, ("numpy", *sorted(old)), advice, by_hand),
    )
