from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, SetFlag, Skip, Target, finding, need, remedies, rule

# Flags with a rule of their own, which says what they are worth.
_ELSEWHERE = frozenset(
    """
    float32-matmul-precision sdp cudnn-benchmark cudnn-deterministic deterministic-algorithms
    bf16-reduced-precision-reduction
    """.split()
)


@rule(NOTE, kind="flag-differs")
def target_flags(facts: Facts, target: Target) -> Findings:
    """A flag of the target has another value here.

    Why: a recorded speed belongs to the target's flags. Threads and the allocator's configuration change little
    on a GPU; the number of threads decides the speed of a CPU.
    Fix: let the startup hook set them.
    Source: the target file; https://docs.pytorch.org/docs/stable/generated/torch.set_num_threads.html
    """
    wanted = {name: value for name, value in target.flags.items() if name not in _ELSEWHERE}
    if target.name == "none":
        raise Skip("no target was chosen")
    flags = need(facts.torch).flags if wanted else {}
    for name, value in sorted(wanted.items()):
        flag = flags.get(name)
        if flag is None or flag.value is None or flag.value == value:
            continue
        here = flag.value or "not set"
        yield finding(
            subject=name,
            actual=here,
            expected=value,
            severity=WARNING if name == "threads" and target.is_cpu else None,
            message=f"{name} is {here}; the target was timed with {value}.",
            fix=remedies.setting(target, "Let the startup hook set it."),
            repair=(SetFlag(name=name, value=value),),
        )
