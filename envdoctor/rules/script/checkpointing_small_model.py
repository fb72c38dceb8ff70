import ast
import re

from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, known, rule
from envdoctor.rules.script._reading import Tree, constant, finding_at, keyword_literal, trees

BYTES = 18
"""Per parameter, with bf16 autocast: 4 weights, 2 its copy, 4 gradients, 8 Adam (huggingface.co/docs/transformers:
model_memory_anatomy)."""

_SMALL = {
    "gpt2": 0.124, "distilgpt2": 0.082, "gpt2-medium": 0.355, "bert-base": 0.110, "distilbert": 0.066,
    "roberta-base": 0.125, "t5-small": 0.060, "t5-base": 0.223, "electra-small": 0.014,
}  # fmt: skip


@rule(WARNING, kind="script-slow", expected="no recomputation")
def checkpointing_small_model(facts: Facts) -> Findings:
    """Activations are recomputed for a model that leaves most of the memory free.

    Why: gradient checkpointing runs the forward pass twice, which costs 20 to 25 % of the speed. It buys memory, and a
    small model on a large GPU has plenty.
    Fix: switch it off; switch it on again when memory runs out, or first lower the batch size.
    Source: https://huggingface.co/docs/transformers/perf_train_gpu_one#gradient-checkpointing
    """
    gpus = known(facts.gpus)
    memory = min((gpu.memory for gpu in gpus.devices if gpu.memory), default=None) if gpus else None
    for tree in trees(facts):
        size = _billions(tree)
        place = _switched_on(tree)
        if size is None or place is None:
            continue
        share = size * 1e9 * BYTES / memory if memory else None
        if (share is not None and share < 0.4) or (share is None and size <= 0.6):
            yield finding_at(
                tree,
                place,
                severity=None if share is not None else NOTE,
                message=f"activations of a model of {size:g} billion parameters are recomputed"
                + (f", though weights and optimizer fill only {share:.0%} of this GPU." if share is not None else "."),
                fix="Switch gradient checkpointing off; if memory runs out, first lower the batch size.",
                run="gradient_checkpointing=False",
            )


def _switched_on(tree: Tree) -> ast.AST | None:
    for node in tree.nodes:
        if isinstance(node, ast.Call):
            if keyword_literal(node, "gradient_checkpointing") is True:
                return node
            if isinstance(node.func, ast.Attribute) and node.func.attr == "gradient_checkpointing_enable":
                return node
    return None


def _billions(tree: Tree) -> float | None:
    """Size of the one model that the script loads, from its name: "Qwen2.5-0.5B", "SmolLM2-135M"."""
    sizes = set()
    for node in tree.nodes:
        text = constant(node)
        if isinstance(text, str) and 3 < len(text) < 120 and re.fullmatch(r"[\w./-]+", text):
            found_ = re.search(r"(?<![\w.])(\d{1,4}(?:\.\d{1,2})?)([MmBb])(?![a-zA-Z0-9])", text)
            if found_:
                sizes.add(float(found_[1]) / (1000 if found_[2] in "Mm" else 1))
            elif name := next(
                (n for n in sorted(_SMALL, key=len, reverse=True) if text.rpartition("/")[2].startswith(n)), None
            ):
                sizes.add(_SMALL[name])
    return sizes.pop() if len(sizes) == 1 else None
