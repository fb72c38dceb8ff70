from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.pattern import Pattern
from envdoctor.rule import Finding, Severity, rule
from envdoctor.rules.script._reading import found, trees
from envdoctor.rules.script._steps import each_step
from envdoctor.target import Target

_TOKENISES = Pattern(
    r"(?:^|\.)\w*tokenizer(?:\.(?:encode|encode_plus|batch_encode_plus|apply_chat_template|__call__))?$|(?:^|\.)tokenize$",
    re.IGNORECASE,
)


@rule(Severity.WARNING)
def tokenizer_in_loop(facts: Facts, target: Target) -> Iterator[Finding]:
    """Text is tokenised inside the training step.

    Why: the GPU waits while the tokenizer runs on the CPU, again in each epoch for the same text.
    Fix: tokenise once before training (datasets.map with batched=True), or in loader workers.
    Source: https://huggingface.co/docs/datasets/use_with_pytorch
    """
    for tree in trees(facts):
        for node in each_step(tree):
            if isinstance(node, ast.Call) and _TOKENISES.search(tree.dotted(node.func)):
                yield found(
                    tree,
                    node,
                    kind="script-slow",
                    expected="tokens prepared beforehand",
                    message="the tokenizer runs inside the training step, while the GPU waits.",
                    text="Tokenise the data once, before training.",
                    line="dataset = dataset.map(lambda rows: tokenizer(rows['text'], truncation=True), batched=True)",
                )
