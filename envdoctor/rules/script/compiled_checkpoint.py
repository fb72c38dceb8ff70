import ast
from collections.abc import Iterator

from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import Tree, assignments, finding_at, trees


@rule(WARNING, kind="script-wrong", expected="names without _orig_mod.")
def compiled_checkpoint(facts: Facts) -> Findings:
    """The state of a compiled model is saved under names that only a compiled model has.

    Why: torch.compile(model) wraps the model, and state_dict() of the wrapper puts "_orig_mod." before every name. A
    plain model that loads the file finds none of its weights, silently so with strict=False.
    Fix: save the model inside, or compile in place with model.compile().
    Source: https://docs.pytorch.org/docs/stable/torch.compiler_faq.html
    https://github.com/pytorch/pytorch/issues/101107
    """
    for tree in trees(facts):
        if "_orig_mod" in tree.script.source or "unwrap_model" in tree.script.source:
            continue
        compiled = set(_compiled_names(tree))
        for call in tree.calls(".state_dict"):
            if (
                isinstance(call.func, ast.Attribute)
                and ast.unparse(call.func.value) in compiled
                and _is_saved(tree, call)
            ):
                name = ast.unparse(call.func.value)
                yield finding_at(
                    tree,
                    call,
                    message='names in this checkpoint begin with "_orig_mod.", and a plain model will not find them.',
                    fix="Save the state of the model inside the wrapper, or compile it in place.",
                    run=f"{name}._orig_mod.state_dict()    # or {name}.compile() instead of torch.compile({name})",
                )


def _compiled_names(tree: Tree) -> Iterator[str]:
    """Names that hold a wrapper: ``model = torch.compile(model)``."""
    for node in tree.nodes:
        for to, value in assignments(node):
            if tree.is_call(value, "torch.compile"):
                yield ast.unparse(to)


def _is_saved(tree: Tree, call: ast.Call) -> bool:
    """Is this state written to a file: directly, in a dict, or through a name?"""
    for parent in tree.above(call):
        if tree.is_call(parent, "torch.save", "safetensors.torch.save_file", ".save"):
            return True
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            names = {ast.unparse(to) for to, _ in assignments(parent)}
            return any(
                isinstance(argument, ast.Name) and argument.id in names
                for save in tree.calls("torch.save", "safetensors.torch.save_file")
                for argument in save.args
            )
    return False
