from envdoctor.rules.packages import _variants
from envdoctor.rules.rule import ERROR, Facts, Findings, Skip, Target, finding, need, remedies, rule, versions


@rule(ERROR, kind="extension-abi-mismatch", expected="the variant for this machine")
def wheel_variant(facts: Facts, target: Target) -> Findings:
    """A package is a variant for another GPU, driver or processor.

    Why: of a release with variants an installer takes the one that fits the machine it runs on, and writes down which
    one that was. An image that was built elsewhere, or an environment that was copied, brings the variant of the other
    machine: "no kernel image is available", "driver too old", "illegal instruction".
    Fix: install it again on this machine.
    Source: https://peps.python.org/pep-0825/#variant-properties
    https://github.com/wheelnext/nvidia-variant-provider
    """
    built = [row for row in need(facts.packages).distributions if row.variant]
    if not built:
        raise Skip("no package is a variant of its release")
    for row in built:
        unfit = next(_variants.unfit(facts, row.variant), None)
        if unfit is None:
            continue
        actual, what_for = unfit
        exact, options = f"{row.name}=={versions.public(row.version)}", "--force-reinstall --no-deps --no-cache-dir"
        by_hand = remedies.install(exact, options=options)
        yield finding(
            subject=row.name,
            actual=actual,
            message=f"{row.name} {row.version} is the variant {what_for}.",
            fix=remedies.from_lock(facts, target, row.name, "Install it again on this machine.", by_hand),
            explains=("torch/", "driver/older-than-torch") if row.name == "torch" else (),
        )
