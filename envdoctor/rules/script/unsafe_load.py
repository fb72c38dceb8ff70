from envdoctor.rules.rule import NOTE, Facts, Findings, known, rule, versions
from envdoctor.rules.script._reading import code, finding_at, keyword, keyword_literal, trees


@rule(NOTE, kind="script-wrong", expected="weights_only=True")
def unsafe_load(facts: Facts) -> Findings:
    """torch.load may run code out of the file.

    Why: a checkpoint is a pickle, and a pickle runs what it says. Since torch 2.6 weights_only=True is the default;
    before, and with weights_only=False, a downloaded file can do anything.
    Fix: weights_only=True, or safetensors.
    Source: https://docs.pytorch.org/docs/stable/notes/serialization.html#weights-only
    """
    torch = known(facts.torch)
    safe = torch is not None and versions.at_least(torch.version, "2.6")
    for tree in trees(facts):
        for call in tree.calls("torch.load"):
            choice = keyword_literal(call, "weights_only")
            if choice is True or (keyword(call, "weights_only") is None and safe):
                continue
            if choice is None and keyword(call, "weights_only") is not None:
                continue  # computed
            yield finding_at(
                tree,
                call,
                message="this load runs whatever code the file contains.",
                fix="Load weights only; checkpoints with further objects can be saved as plain dicts of tensors.",
                run=f"{code(call)[:-1]}, weights_only=True)"[:160] if choice is None else "weights_only=True",
            )
