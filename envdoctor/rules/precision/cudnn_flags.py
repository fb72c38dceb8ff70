from typing import NamedTuple

from envdoctor.rules.finding import SetFlag
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Severity, Target, finding, need, remedies, rule


class _Row(NamedTuple):
    flag: str
    default: str
    code: str
    severity: Severity  # where the flag differs and convolutions may run
    effect: str


_ROWS = (
    _Row(
        "cudnn-benchmark",
        "false",
        "torch.backends.cudnn.benchmark",
        NOTE,
        "it chooses convolution algorithms; a transformer without convolutions does not use it",
    ),
    _Row(
        "cudnn-deterministic",
        "false",
        "torch.backends.cudnn.deterministic",
        NOTE,
        "it limits convolutions to reproducible algorithms; a model without convolutions does not use it",
    ),
    _Row(
        "deterministic-algorithms",
        "false",
        "torch.use_deterministic_algorithms",
        WARNING,
        "it forbids faster kernels, among them parts of the attention backward pass and of index operations",
    ),
)


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
    for row in _ROWS:
        flag = flags.get(row.flag)
        wanted = target.flags.get(row.flag, row.default)
        if flag is None or flag.value is None or flag.value == wanted:
            continue
        call = f"{row.code}({wanted == 'true'})" if "use_" in row.code else f"{row.code} = {wanted == 'true'}"
        yield finding(
            subject=row.flag,
            actual=flag.value,
            expected=wanted,
            kind="flag-differs" if row.severity is WARNING else "no-effect",
            severity=row.severity,
            message=f"{row.flag} is {flag.value}, expected {wanted}; {row.effect}.",
            fix=remedies.setting(target, f"Set {call}."),
            repair=(SetFlag(name=row.flag, value=wanted),) if row.flag in target.flags else (),
        )
