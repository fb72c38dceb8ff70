from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, SetFlag, Target, finding, need, remedies, rule

_SWITCHES = (
    (
        "cudnn-benchmark",
        "torch.backends.cudnn.benchmark",
        NOTE,
        "it chooses convolution algorithms; a transformer without convolutions does not use it",
    ),
    (
        "cudnn-deterministic",
        "torch.backends.cudnn.deterministic",
        NOTE,
        "it limits convolutions to reproducible algorithms; a model without convolutions does not use it",
    ),
    (
        "deterministic-algorithms",
        "torch.use_deterministic_algorithms",
        WARNING,
        "it forbids faster kernels, among them parts of the attention backward pass and of index operations",
    ),
)
"""Flag, the code that sets it, how bad it is where it differs and convolutions may run, and what it does."""


@rule(WARNING)
def cudnn_flags(facts: Facts, target: Target) -> Findings:
    """cuDNN's switches, or deterministic algorithms, are not as the target was timed.

    Why: deterministic algorithms exclude fast kernels, among them parts of attention's backward pass, scatter and index
    operations: most models have some of them. cudnn.benchmark and cudnn.deterministic touch convolutions alone (where
    benchmark once undid an 8x regression) and do nothing for a language model, so they are only noted. All are off by
    default: when one is on, something switched it on.
    Fix: set them as the target says.
    Source: https://docs.pytorch.org/docs/stable/notes/randomness.html
    https://github.com/pytorch/pytorch/issues/146096
    """
    flags = need(facts.torch).flags
    for name, code, severity, effect in _SWITCHES:
        flag = flags.get(name)
        wanted = target.flags.get(name, "false")  # torch's default
        if flag is None or flag.value is None or flag.value == wanted:
            continue
        call = f"{code}({wanted == 'true'})" if "use_" in code else f"{code} = {wanted == 'true'}"
        yield finding(
            subject=name,
            actual=flag.value,
            expected=wanted,
            kind="flag-differs" if severity is WARNING else "no-effect",
            severity=severity,
            message=f"{name} is {flag.value}, expected {wanted}; {effect}.",
            fix=remedies.setting(target, f"Set {call}."),
            repair=(SetFlag(name=name, value=wanted),) if name in target.flags else (),
        )
