from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, known, rule
from envdoctor.rules.script._reading import Call, Tree, billions, finding_at, keyword_literal, method_name, trees

BYTES = 18
"""Per parameter, with bf16 autocast: 4 weights, 2 its copy, 4 gradients, 8 Adam (huggingface.co/docs/transformers:
model_memory_anatomy)."""


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
        size = billions(tree)
        place = _switched_on(tree)
        if size is None or place is None:
            continue
        share = size * 1e9 * BYTES / memory if memory else None
        if (share is not None and share < 0.4) or (share is None and size <= 0.6):
            though = f", though weights and optimizer fill only {share:.0%} of this GPU" if share is not None else ""
            yield finding_at(
                tree,
                place,
                severity=None if share is not None else NOTE,
                message=f"activations of a model of {size:g} billion parameters are recomputed{though}.",
                fix="Switch gradient checkpointing off; if memory runs out, first lower the batch size.",
                run="gradient_checkpointing=False",
            )


def _switched_on(tree: Tree) -> Call | None:
    for call in tree.calls():
        if keyword_literal(call, "gradient_checkpointing") is True:
            return call
        if method_name(call) == "gradient_checkpointing_enable":
            return call
    return None
