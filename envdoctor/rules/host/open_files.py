from envdoctor.knowledge.questions import messages
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Remedy, Skip, finding, known, rule

ENOUGH = 4096  # 1024 is what the threads cited ran out of; four times that is our choice
USUAL = 1024  # the soft limit of most Linux systems: many runs live with it
_SAYS = ("too many open files", "received 0 items of ancdata")
_OF_ALL = Pattern(r"(?i)too many open files in system")
"""The limit of the whole system (fs.file-max), which no limit of a process is."""


@rule(WARNING, kind="file-limit", subject="open files", expected=f"at least {ENOUGH}")
def open_files(facts: Facts) -> Findings:
    """The limit of open files is low for loader workers.

    Why: each tensor that a loader worker hands over holds a file descriptor; at a limit of 1024 a run stops with
    "Too many open files" or "received 0 items of ancdata", often after hours.
    Fix: raise the soft limit; the hard one usually allows it.
    Source: https://github.com/pytorch/pytorch/issues/973 https://github.com/pytorch/pytorch/issues/11201
    https://github.com/pytorch/pytorch/issues/165532
    """
    host = known(facts.host)
    soft = host.files_soft if host else None
    hard = host.files_hard if host else None
    said = messages.line_with(facts, *_SAYS)
    if said is not None and _OF_ALL.search(said):
        said = None
    if soft is None and said is None:
        raise Skip("the limit of open files is not known")
    if said is None and (soft is None or soft < 0 or soft >= ENOUGH):
        return
    reachable = hard is None or hard < 0 or hard > (soft or 0)
    wanted = ENOUGH * 16 if hard is None or hard < 0 else max(min(hard, ENOUGH * 16), soft or 0)
    raised = f"{_RAISE}." if said is None else f"{_RAISE}; {_OR_SHARE}"
    fix = Remedy(text=raised, commands=(f"ulimit -n {wanted}",)) if reachable else _HARD_LIMIT
    if said is None:
        severity = NOTE if (soft or 0) >= USUAL else WARNING
        text = f"A process may open {soft} files; loader workers can use that up."
        yield finding(actual=str(soft), severity=severity, who="you" if reachable else "image", message=text, fix=fix)
        return
    handed = "ancdata" in said
    lost = "A file that one process handed to another"
    yield finding(
        title=f"{lost} did not arrive" if handed else _REACHED,
        actual=str(soft) if soft is not None else said,
        severity=ERROR,
        who="you" if reachable else "image",
        message=f"{lost} (a tensor of a loader's worker) did not arrive: {said}" if handed else f"{_REACHED}: {said}",
        usually=f"the limit of open files is reached: {_WHY}" if handed else _WHY,
        fix=fix,
    )


_REACHED = "The limit of open files was reached"
_WHY = (
    "loader workers hold a file for each tensor that they hand over, and the soft limit is low (1024); else something "
    "is opened in every step and never closed"
)
_RAISE = "Raise the soft limit before training, in the same shell"
_OR_SHARE = 'where it is high already: torch.multiprocessing.set_sharing_strategy("file_system").'
_HARD_LIMIT = Remedy(
    text="The hard limit is as low: whoever starts the container must raise it.",
    commands=("docker run --ulimit nofile=65536:65536 IMAGE",),
)
