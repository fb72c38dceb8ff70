from envdoctor.rules.gpu._cards import full, subject
from envdoctor.rules.rule import NOTE, Facts, Findings, Pattern, finding, need, rule

_SHARE = Pattern(r"^GRID |-\d+[QCAB]$")


@rule(NOTE, kind="gpu-limited", expected="known to you", who="host")
def virtual(facts: Facts) -> Findings:
    """A GPU is handed through or shared by a hypervisor.

    Why: a whole card handed to a virtual machine is as fast as outside. A vGPU (GRID ..., "-10C" names) is a time
    slice of a card, with a memory share and without NVML's counters; its speed depends on the neighbours.
    Fix: nothing; compare speeds with this in mind.
    Source: https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/
    """
    gpus = need(facts.gpus)
    for gpu in gpus.devices:
        shared = _SHARE.search(gpu.name) is not None
        if not gpu.virtual and not shared:
            continue
        what = "a share of a card (vGPU), as fast as its neighbours allow" if shared else "handed to a virtual machine"
        yield finding(
            subject=subject(gpu),
            actual="vGPU" if shared else "handed through by a hypervisor",
            message=f"{full(gpu)} is {what}.",
            fix="Compare speeds with this in mind.",
        )
