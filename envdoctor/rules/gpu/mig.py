from envdoctor.rules.gpu._cards import full, subject
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Skip, finding, known, need, rule

_CHOOSE = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")


@rule(WARNING, kind="gpu-limited", expected="a whole GPU", who="host")
def mig(facts: Facts) -> Findings:
    """A GPU is divided by MIG.

    Why: one process gets one slice: a seventh to a half of the multiprocessors and memory, and no peer access between
    slices, so NCCL cannot join them. Speeds of the whole card do not apply. Where a variable names a slice, somebody
    chose it, and this is a note.
    Fix: rent a whole GPU, or switch MIG off on the host.
    Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    gpus = need(facts.gpus)
    torch, variables = known(facts.torch), known(facts.variables) or {}
    chosen = any("MIG-" in variables.get(name, "") for name in _CHOOSE)
    if all(gpu.mig is None for gpu in gpus.devices) and not any("MIG" in gpu.name for gpu in gpus.devices):
        raise Skip("the MIG mode was not read")
    seen = f" (torch sees {torch.device_count} device)" if torch and torch.device_count == 1 else ""
    # A report of a slice is no complaint about it; `network/mig-ranks` speaks up when ranks cannot be joined.
    severity = NOTE if chosen or facts.origin.kind == "pasted" else None
    for gpu in gpus.devices:
        if not gpu.mig and " MIG " not in f"{gpu.name} ":
            continue
        yield finding(
            subject=subject(gpu),
            actual="MIG on",
            severity=severity,
            message=f"{full(gpu)} is divided by MIG: a process sees one slice of it{seen}.",
            fix="Rent a whole GPU, or switch MIG off on the host.",
            run=f"sudo nvidia-smi -i {gpu.index} -mig 0",
        )
