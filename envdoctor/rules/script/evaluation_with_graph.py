from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import called_on, finding_at, forward_with_graph, trees


@rule(WARNING, kind="script-slow", expected="with torch.inference_mode():")
def evaluation_with_graph(facts: Facts) -> Findings:
    """Evaluation records a graph that nobody differentiates.

    Why: model.eval() only switches layers like dropout. Without torch.no_grad() or inference_mode() each forward pass
    keeps its activations, which costs time and several times the memory.
    Fix: put the evaluation under torch.inference_mode().
    Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """
    for tree in trees(facts):
        for call in tree.calls(".eval"):
            if not call.args and (forward := forward_with_graph(tree, call)):
                yield finding_at(
                    tree,
                    forward,
                    message=f"{called_on(call)} runs in evaluation mode and still records a graph.",
                    fix="Put the evaluation under torch.inference_mode() (or torch.no_grad()).",
                    run="with torch.inference_mode():",
                )
