from envdoctor.knowledge.questions import anywhere
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, finding, need, rule

_SAYS = (
    Pattern(r"CUDA driver initialization failed|you might not have a CUDA gpu"),
    Pattern(r"No CUDA GPUs are available|no CUDA-capable device is detected"),
    Pattern(r"devices? (?:is|are|\(s\) is/are) busy or unavailable"),
    Pattern(r"cudaGetDeviceCount"),
)


@rule(ERROR, kind="config-mismatch", expected="a MIG instance, or MIG off", who="host")
def mig_without_instance(facts: Facts) -> Findings:
    """MIG is on, and CUDA finds no instance of the GPU that it may use.

    Why: with MIG on, the whole card is no device any more: CUDA starts only on an instance, which must have been made
    (graphics and compute instance) and handed to the container. nvidia-smi lists the card all the same.
    Fix: make an instance and pass it on by its UUID, or switch MIG off.
    Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    gpus = need(facts.gpus)
    divided = [gpu for gpu in gpus.devices if gpu.mig]
    said = anywhere(facts, *_SAYS)
    if not divided or said is None or any("MIG" in gpu.name for gpu in gpus.devices):
        return
    yield finding(
        subject=f"GPU {divided[0].index}",
        actual="MIG on, and no instance that CUDA may use",
        message=f'MIG is on for {divided[0].name}, and CUDA finds no instance of it ("{said[0]}").',
        fix="Make an instance and hand it on (CUDA_VISIBLE_DEVICES=MIG-UUID), or switch MIG off on the host.",
        run=("sudo nvidia-smi mig -cgi 0 -C", "nvidia-smi -L"),
        instead=f"sudo nvidia-smi -i {divided[0].index} -mig 0",
        explains=("driver/", "torch/cuda-unavailable", "torch/cuda-error", "gpu/"),
    )
