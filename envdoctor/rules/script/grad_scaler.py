from envdoctor.rules.rule import NOTE, Facts, Findings, rule
from envdoctor.rules.script._reading import autocasts, finding_at, scalers, trees


@rule(NOTE, kind="no-effect", expected="no GradScaler with bfloat16")
def grad_scaler(facts: Facts) -> Findings:
    """A GradScaler scales bfloat16 gradients, which need none.

    Why: bfloat16 has the range of float32, so nothing underflows. The scaler only adds a pass over all gradients and a
    wait for the GPU in each step.
    Fix: remove it, or construct it with enabled=False.
    Source: https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """
    for tree in trees(facts):
        if {dtype for _, dtype in autocasts(tree)} != {"bfloat16"}:
            continue
        for scaler in scalers(tree):
            yield finding_at(
                tree,
                scaler,
                message="a GradScaler has no use with bfloat16; it adds a wait for the GPU to each step.",
                fix="Remove the scaler: loss.backward(); optimizer.step().",
                run="loss.backward(); optimizer.step()",
            )
