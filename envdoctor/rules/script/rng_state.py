from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import finding_at, has_dropout, trees


@rule(ERROR, kind="script-wrong", expected="preserve_rng_state=True")
def rng_state(facts: Facts) -> Findings:
    """Activation checkpointing does not keep the random state, and the model has dropout.

    Why: with preserve_rng_state=False the second forward pass draws another dropout mask than the first one, so the
    gradients belong to a function that was never evaluated. Nothing reports it.
    Fix: leave preserve_rng_state at True, or set every dropout to 0.
    Source: https://docs.pytorch.org/docs/stable/checkpoint.html
    """
    for tree in trees(facts):
        for place, setting in tree.settings("preserve_rng_state"):
            if setting is not False or (dropout := has_dropout(tree)) is False:
                continue
            yield finding_at(
                tree,
                place,
                severity=None if dropout else WARNING,
                message=_WRONG if dropout else _MAY_BE_WRONG,
                fix="Leave preserve_rng_state at its default, True; or set every dropout of the model to 0.",
                run="preserve_rng_state=True",
            )


_WRONG = "the recomputed forward pass draws other dropout masks: gradients are wrong."
_MAY_BE_WRONG = "if the model has any dropout, recomputation draws other masks and gradients are wrong."
