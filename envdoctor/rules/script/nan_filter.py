from __future__ import annotations

import ast
from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Severity, rule
from envdoctor.rules.script._reading import found, given, trees
from envdoctor.target import Target


@rule(Severity.WARNING)
def nan_filter(facts: Facts, target: Target) -> Iterator[Finding]:
    """Steps whose loss is NaN or infinite are hidden from the log.

    Why: logging_nan_inf_filter=True replaces such losses by the average of the last ones in what is logged; the
    gradients are NaN all the same, and the run looks well while the model is ruined.
    Fix: set it to False.
    Source: https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
    """
    for tree in trees(facts):
        for node in tree.nodes:
            if isinstance(node, ast.Call) and given(node, "logging_nan_inf_filter") is True:
                yield found(
                    tree,
                    node,
                    kind="script-wrong",
                    expected="logging_nan_inf_filter=False",
                    message="losses that are NaN or infinite are left out of the log.",
                    text="Set logging_nan_inf_filter=False, so that a ruined run shows.",
                    line="logging_nan_inf_filter=False",
                )
