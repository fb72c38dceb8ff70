from envdoctor.knowledge.questions import numbers
from envdoctor.rules.rule import NOTE, Facts, Findings, finding, need, rule

_LEAST = (5, 5)  # accelerate/utils/other.py: check_os_kernel


@rule(NOTE, kind="host-limited", subject="kernel", expected="5.5 or later", who="host")
def kernel(facts: Facts) -> Findings:
    """The Linux kernel is older than 5.5, on which launched processes were seen to hang.

    Why: accelerate warns below 5.5, because runs of several processes hung there. Distributions carry fixes back,
    and most such machines train well, so this is a note.
    Fix: none inside a container; a host with a newer kernel if a launch hangs.
    Source: https://github.com/huggingface/accelerate/blob/main/src/accelerate/utils/other.py
    """
    host = need(facts.host)
    version = numbers(host.kernel)
    if host.system not in (None, "Linux") or len(version) < 2 or (host.container or "").startswith("wsl"):
        return
    if version[:2] < _LEAST:
        yield finding(
            actual=host.kernel or "",
            message=f"Linux {host.kernel} is older than 5.5; accelerate warns that launched processes may hang.",
            fix="If a launch hangs, take a host with a newer kernel.",
            run="uname -r",
        )
