from envdoctor.knowledge.questions import whole_cpus
from envdoctor.rules.finding import SetVariable
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Skip, Target, finding, known, need, rule, trains_on_gpu

FEW, MANY = 0.25, 2.0  # of the CPUs allowed: outside of this something was set wrongly, inside it is a matter of taste


@rule(WARNING, kind="thread-count", subject="threads")
def threads(facts: Facts, target: Target) -> Findings:
    """torch computes with far fewer or far more threads than it has CPUs.

    Why: OMP_NUM_THREADS=1 is what torchrun sets for several processes; left in a shell it slows everything on the
    CPU. More than twice as many threads as CPUs wait for each other at every parallel region. On a GPU target this
    only touches what runs on the CPU, and is a note.
    Fix: OMP_NUM_THREADS = CPUs allowed / processes on this machine.
    Source: https://github.com/pytorch/pytorch/blob/main/torch/distributed/run.py (OMP_NUM_THREADS)
    https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html
    """
    torch, host = need(facts.torch), need(facts.host)
    allowed = whole_cpus(host)
    if torch.threads is None or allowed is None:
        raise Skip("the number of threads or of CPUs is not known")
    # More threads than a quota allows is `host/cpu-quota`'s to say; here: more than CPUs there are.
    visible = host.affinity or host.cpus or allowed
    few, many = torch.threads < allowed * FEW, torch.threads > visible * MANY
    if allowed < 4 or not (few or many):
        return
    variables = known(facts.variables) or {}
    name = next((name for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if variables.get(name)), None)
    on_cpu = (target.is_cpu and target.name != "none") or (
        facts.origin.kind == "pasted" and trains_on_gpu(facts, target) is False
    )
    running = f"{torch.threads} thread{'s' if torch.threads > 1 else ''}"
    yield finding(
        actual=f"{torch.threads}" + (f" ({name}={variables[name]})" if name else ""),
        expected=f"{allowed} (CPUs allowed)",
        severity=None if on_cpu else NOTE,
        message=f"torch computes with {running} where {allowed} CPUs are allowed.",
        fix=f"Set OMP_NUM_THREADS to {allowed}, divided by the processes on this machine.",
        run=f"export OMP_NUM_THREADS={allowed}",
        repair=(SetVariable(name="OMP_NUM_THREADS", value=str(allowed)),) if on_cpu and name else (),
    )
