from envdoctor.knowledge.questions import whole_cpus
from envdoctor.rules.finding import NOTE, WARNING, Findings, Remedy, SetVariable, finding
from envdoctor.rules.rule import Facts, Target, known, need, remedies, rule, trains_on_gpu

_NAMES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@rule(WARNING, kind="thread-count", explains=("torch/threads",))
def thread_count(facts: Facts, target: Target) -> Findings:
    """OMP_NUM_THREADS or MKL_NUM_THREADS does not fit the CPUs allowed.

    Why: more threads than CPUs take turns and wait for each other. One thread, which launchers set when nothing
    is set, is right for many ranks on a node, and leaves a CPU run on one core. A run on one GPU feels it in
    preprocessing only.
    Fix: the CPUs allowed, divided by the ranks on this node.
    Source: https://github.com/pytorch/pytorch/blob/main/torch/distributed/run.py
    https://docs.pytorch.org/docs/stable/torch_environment_variables.html
    https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html
    """
    variables, host = need(facts.variables), known(facts.host)
    cpus = whole_cpus(host) if host else None
    cpus = need(cpus, "the number of CPUs is not known")
    for name in _NAMES:
        threads = _number(variables.get(name))
        if threads is None:
            continue
        gpu = trains_on_gpu(facts, target)
        too_many, too_few = threads > cpus, threads == 1 and cpus >= 4
        if not too_many and not too_few:
            continue
        ranks = _number(variables.get("LOCAL_WORLD_SIZE") or variables.get("WORLD_SIZE")) or 1
        if too_few and ranks > 1:
            continue
        fitting = str(max(1, cpus // ranks))
        effect = "the threads take turns" if too_many else "a CPU run uses one core"
        by_hand = Remedy(
            text="Set it to the CPUs allowed, divided by the ranks on this node.",
            commands=(f"export {name}={fitting}",),
        )
        sole = gpu is False and ranks == 1  # then it can be set at start-up
        yield finding(
            subject=name,
            actual=str(threads),
            expected=fitting,
            severity=NOTE if too_few and gpu is not False else None,
            message=f"{name}={threads} with {cpus} CPU{'s' if cpus > 1 else ''} allowed: {effect}.",
            fix=remedies.setting(target, by_hand.text, *by_hand.commands) if sole else by_hand,
            repair=(SetVariable(name=name, value=fitting),) if sole else (),
        )


def _number(text: str | None) -> int | None:
    """OMP_NUM_THREADS may be a list for nested levels: the first counts."""
    first = (text or "").partition(",")[0].strip()
    return int(first) if first.isdigit() and first != "0" else None
