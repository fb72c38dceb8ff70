from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import Call, Tree, constant, finding_at, keyword, keyword_literal, trees

_SETTERS = (
    "torch.autograd.set_detect_anomaly",
    "torch.autograd.detect_anomaly",
    "torch.autograd.anomaly_mode.set_detect_anomaly",
)


@rule(WARNING, kind="script-slow", expected="anomaly detection off")
def anomaly_detection(facts: Facts) -> Findings:
    """Autograd's anomaly detection is on.

    Why: every operation of the forward pass records a stack trace, and the backward pass checks each gradient for NaN,
    which waits for the GPU. torch's own documentation calls it for debugging only.
    Fix: remove it; turn it on for the few steps in which a NaN is hunted.
    Source: https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
    """
    for tree in trees(facts):
        for call in tree.calls():
            if _switches_on(tree, call):
                yield finding_at(
                    tree,
                    call,
                    message="anomaly detection records a stack trace for each operation and checks each gradient.",
                    fix="Remove it, or leave it off outside a hunt for NaN.",
                    run="torch.autograd.set_detect_anomaly(False)",
                )


def _switches_on(tree: Tree, call: Call) -> bool:
    if tree.is_call(call, *_SETTERS):
        mode = call.args[0] if call.args else keyword(call, "mode")
        return tree.dotted(call.func).endswith(".detect_anomaly") if mode is None else constant(mode) is True
    return keyword_literal(call, "detect_anomaly") is True
