from envdoctor.rules.packages import _wheel_tag
from envdoctor.rules.rule import ERROR, Facts, Findings, Target, finding, need, remedies, rule, versions


@rule(ERROR, kind="extension-abi-mismatch")
def wheel_tags(facts: Facts, target: Target) -> Findings:
    """A package was built for another Python or another kind of machine.

    Why: compiled packages load under the Python version and on the machine that their wheel names. A
    site-packages folder that was copied, kept over an upgrade of Python, or put on PYTHONPATH brings others: "No
    module named ..._C", "wrong ELF class".
    Fix: install these packages for this Python.
    Source: https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """
    packages, interpreter = need(facts.packages), need(facts.interpreter)
    for distribution in packages.distributions:
        reasons = [_wheel_tag.unfit(tag, interpreter) for tag in distribution.tags]
        if not reasons or None in reasons:
            continue
        name, text = distribution.name, "Install it for this Python."
        exact = f"{name}=={versions.public(distribution.version)}"
        by_hand = remedies.install(exact, options="--force-reinstall --no-deps")
        yield finding(
            subject=name,
            actual=", ".join(distribution.tags[:3]),
            expected=f"a wheel for Python {interpreter.version} on {interpreter.platform or 'this machine'}",
            message=f"{name} {distribution.version} was built for {reasons[0]}.",
            fix=remedies.from_lock(facts, target, name, text, by_hand),
            explains=("packages/import-mismatch", "torch/") if name == "torch" else (),
        )
