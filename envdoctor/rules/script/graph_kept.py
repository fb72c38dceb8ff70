from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import Call, called_on, collection, each_step, finding_at, losses, trees


@rule(WARNING, kind="script-wrong")
def graph_kept(facts: Facts) -> Findings:
    """Losses are collected together with their graphs.

    Why: a loss that is added up or put in a list without detach() keeps everything that computed it. Memory grows with
    each step until it runs out.
    Fix: collect loss.detach().
    Source: https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """
    for tree in trees(facts):
        names = losses(tree)
        differentiated = {called_on(call) for call in tree.calls(".backward")}
        for node in each_step(tree):
            into, kept = collection(node)
            summed = not isinstance(node, Call)
            if kept not in names or into in names or (summed and into in differentiated):
                continue  # a sum of partial losses may itself be differentiated
            line = f"{into} += {kept}.detach()" if summed else tree.line(node).replace(f"{kept})", f"{kept}.detach())")
            yield finding_at(
                tree,
                node,
                expected=f"{kept}.detach()",
                message=f"{kept} is kept with the graph that computed it: memory grows with every step.",
                fix="Detach the loss before it is collected.",
                run=line,
            )
