from envdoctor.knowledge.questions import messages, versions
from envdoctor.rules.rule import ERROR, NOTE, Facts, Findings, Pattern, Target, finding, need, rule

_NEEDED = "2.28"  # manylinux_2_28: torch's wheels from 2.7 on
_FIRST = "2.7"
_NO_WHEEL = Pattern(r"\btorch\S{0,40} has no wheels with a matching platform tag")
_NONE_FITS = (
    "packages/missing",
    "packages/no-such-release",
    "packages/known-errors torch",
    "packages/known-errors a wheel",
)


@rule(ERROR, kind="python-unsupported", subject="glibc", expected=f"glibc {_NEEDED} or later", who="image")
def old_glibc(facts: Facts, target: Target) -> Findings:
    """The C library is too old for the stack's torch.

    Why: torch's Linux wheels need glibc 2.28 from torch 2.7 on. Ubuntu 18.04, CentOS 7 and Amazon Linux 2 have an
    older one: pip then finds no wheel and offers an old torch.
    Fix: a newer base image; the C library cannot be exchanged in an environment.
    Source: https://github.com/pytorch/pytorch/releases/tag/v2.6.0 https://peps.python.org/pep-0600/
    """
    libc = need(facts.interpreter).libc or ""
    if not libc.startswith("glibc ") or not versions.below(libc.removeprefix("glibc ").strip(), _NEEDED):
        return
    torch = target.pin("torch")
    if torch is not None and versions.below(torch.version, _FIRST):
        return
    blocked = target.name != "none" or messages.in_report(facts, _NO_WHEEL) is not None
    yield finding(
        actual=libc,
        severity=None if blocked else NOTE,
        message=f"{libc} is too old for torch {_FIRST} and later, whose wheels need {_NEEDED}.",
        fix="Use a newer system or base image (Debian 10, Ubuntu 20.04, RHEL 8 or later), or a torch before 2.7.",
        explains=_NONE_FITS if blocked else (),
    )
