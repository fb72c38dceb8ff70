from envdoctor.knowledge.questions import versions
from envdoctor.rules.finding import NOTE, WARNING, Findings, SetVariable, finding
from envdoctor.rules.rule import Facts, Skip, Target, Torch, known, need, remedies, rule, shell

_ALIASES = {"PYTORCH_ALLOC_CONF": "PYTORCH_CUDA_ALLOC_CONF"}


@rule(NOTE, kind="flag-differs")
def target_variables(facts: Facts, target: Target) -> Findings:
    """Environment variables are not set as the target was timed.

    Why: the target's variables (the allocator's configuration, mostly) were in force when its speed was recorded.
    They prevent memory from being cut into pieces rather than speed up a step.
    Fix: let the startup hook set them, or export them.
    Source: the target file;
    https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf
    """
    if target.name == "none":
        raise Skip("no target was chosen")
    variables, torch = need(facts.variables), known(facts.torch)
    for name, wanted in sorted(target.variables.items()):
        actual = variables.get(name)
        if actual is None and name in _ALIASES:
            actual = variables.get(_ALIASES[name])
        if actual == wanted or (
            actual is None and torch and torch.flags.get("allocator-conf") and _set_by_hook(torch, wanted)
        ):
            continue
        spelled = _variable_name(name, torch.version if torch else None)
        export = f"export {shell.word(spelled)}={shell.word(wanted)}"
        yield finding(
            subject=name,
            actual=actual if actual is not None else "not set",
            expected=wanted,
            severity=None if actual is None else WARNING,
            message=f"{name} is {actual if actual is not None else 'not set'}; the target was timed with {wanted}.",
            fix=remedies.setting(target, "Set it before training.", export),
            repair=(SetVariable(name=spelled, value=wanted),),
        )


def _set_by_hook(torch: Torch | None, wanted: str) -> bool:
    """The startup hook sets variables inside the process; the shell's own do not show them."""
    flag = torch.flags.get("allocator-conf") if torch else None
    return flag is not None and flag.value == wanted


def _variable_name(name: str, torch: str | None) -> str:
    return _ALIASES[name] if name in _ALIASES and torch and versions.below(torch, "2.10") else name
