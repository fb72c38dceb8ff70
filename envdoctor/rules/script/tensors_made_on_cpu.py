import ast

from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import Tree, finding_at, keyword, trees
from envdoctor.rules.script._steps import each_step

_MAKERS = tuple(
    f"torch.{name}" for name in "zeros ones full empty arange eye rand randn randint linspace tensor randperm".split()
)


@rule(WARNING, kind="script-slow", expected="device= where the tensor is made")
def tensors_made_on_cpu(facts: Facts) -> Findings:
    """Tensors are made on the CPU in every step and copied to the GPU.

    Why: each such copy comes from ordinary memory, so the host waits for it. Made on the GPU it costs one launch.
    Fix: give the device when the tensor is made, or make it once before the loop.
    Source: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#create-tensors-directly-on-the-target-device
    """
    for tree in trees(facts):
        for node in each_step(tree):
            if isinstance(node, ast.Call) and (made := _made_and_moved(tree, node)):
                yield finding_at(
                    tree,
                    node,
                    message="a tensor is made on the CPU and copied to the GPU in every step.",
                    fix="Make it on the device, or once before the loop.",
                    run=f"{ast.unparse(made)[:-1]}, device=device)"[:160],
                )


def _made_and_moved(tree: Tree, call: ast.Call) -> ast.Call | None:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda"):
        return None
    if call.func.attr == "to" and not (
        call.args and any(w in ast.unparse(call.args[0]) for w in ("device", "cuda", "rank"))
    ):
        return None
    made = call.func.value
    if isinstance(made, ast.Call) and tree.is_call(made, *_MAKERS) and keyword(made, "device") is None:
        return made
    return None
