from __future__ import annotations

import ast
from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Severity, rule
from envdoctor.rules.script._precision import autocasts, scalers
from envdoctor.rules.script._reading import found, trees
from envdoctor.target import Target


@rule(Severity.NOTE)
def grad_scaler(facts: Facts, target: Target) -> Iterator[Finding]:
    """A GradScaler scales bfloat16 gradients, which need none.

    Why: bfloat16 has the range of float32, so nothing underflows. The scaler only adds a pass over all gradients and a
    wait for the GPU in each step.
    Fix: remove it, or construct it with enabled=False.
    Source: https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """
    for tree in trees(facts):
        dtypes = {dtype for _, dtype in autocasts(tree)}
        if dtypes != {"bfloat16"}:
            continue
        for scaler in scalers(tree):
            if isinstance(scaler, ast.Call):
                yield found(
                    tree,
                    scaler,
                    kind="no-effect",
                    expected="no GradScaler with bfloat16",
                    message="a GradScaler has no use with bfloat16; it adds a wait for the GPU to each step.",
                    text="Remove the scaler: loss.backward(); optimizer.step().",
                    line="loss.backward(); optimizer.step()",
                )
