from envdoctor.rules.gpu._cards import full, gibibytes, subject
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Gpu, Remedy, Skip, Who, finding, need, rule

IDLE_MEMORY = 2**30  # bytes; a driver with a display and a context keeps some hundred MiB
IDLE_UTILIZATION = 5  # percent
# A desktop on the card uses about this much at most: worth a note, not the name of another program.
DESKTOP_SHARE, DESKTOP_UTILIZATION = 0.08, 30


@rule(WARNING, kind="gpu-limited", expected="idle")
def occupied(facts: Facts) -> Findings:
    """Somebody else is on the GPU.

    Why: another process takes memory and half of the time slices, and every measurement is then about two programs.
    Processes of other containers cannot be seen from here, their memory and load can.
    Fix: stop the other process, wait, or take another GPU.
    Source: https://github.com/NVIDIA/nvidia-docker/issues/179 (processes of other namespaces are not listed)
    """
    gpus = need(facts.gpus)
    if all(gpu.memory_used is None and gpu.utilization is None and gpu.processes is None for gpu in gpus.devices):
        raise Skip("memory and load of the GPUs were not read")
    if gpus.under_load or facts.origin.kind == "pasted":
        return  # read while something of ours ran, or long ago: proves nothing
    for gpu in gpus.devices:
        memory = gpu.memory_used is not None and gpu.memory_used > IDLE_MEMORY
        load = gpu.utilization is not None and gpu.utilization > IDLE_UTILIZATION
        if not memory and not load and not gpu.processes:
            continue
        use, severity = _use(gpu), None if _more_than_a_desktop(gpu) else NOTE
        message = f"{full(gpu)} is in use before training starts: {use}."
        who: Who = "you" if gpu.processes else "host"
        yield finding(subject=subject(gpu), actual=use, severity=severity, who=who, message=message, fix=_STOP)


_STOP = Remedy(
    text="Stop what runs there, or take another GPU with CUDA_VISIBLE_DEVICES. If no process of yours is listed, it "
    "belongs to somebody else on this host.",
    commands=("nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory,name --format=csv",),
)


def _more_than_a_desktop(gpu: Gpu) -> bool:
    usual = max(IDLE_MEMORY, (gpu.memory or 0) * DESKTOP_SHARE)
    return (gpu.memory_used or 0) > usual or (gpu.utilization or 0) >= DESKTOP_UTILIZATION


def _use(gpu: Gpu) -> str:
    parts = []
    if gpu.memory_used is not None:
        parts.append(f"{gibibytes(gpu.memory_used)} of memory")
    if gpu.utilization is not None:
        parts.append(f"{gpu.utilization} % load")
    if gpu.processes:
        parts.append(f"{gpu.processes} process{'es' if gpu.processes > 1 else ''}")
    return ", ".join(parts)
