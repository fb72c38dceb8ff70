from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import Call, Tree, assignments, called_on, code, finding_at, trees


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
        compiled = {code(to) for to, value in tree.assignments() if tree.is_call(value, "torch.compile")}
        for call in tree.calls(".state_dict"):
            name = called_on(call)
            if name in compiled and _is_saved(tree, call):
                yield finding_at(
                    tree,
                    call,
                    message='names in this checkpoint begin with "_orig_mod.", and a plain model will not find them.',
                    fix="Save the state of the model inside the wrapper, or compile it in place.",
                    run=f"{name}._orig_mod.state_dict()    # or {name}.compile() instead of torch.compile({name})",
                )


def _is_saved(tree: Tree, call: Call) -> bool:
    """Is this state written to a file: directly, in a dict, or through a name?"""
    for parent in tree.above(call):
        if tree.is_call(parent, "torch.save", "safetensors.torch.save_file", ".save"):
            return True
        if names := {name for to, _ in assignments(parent) if (name := code(to)).isidentifier()}:
            saves = tree.calls("torch.save", "safetensors.torch.save_file")
            return any(code(argument) in names for save in saves for argument in save.args)
    return False
