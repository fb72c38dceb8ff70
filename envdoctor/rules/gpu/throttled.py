from envdoctor.rules.gpu._cards import RELIABLE, busy, full, subject
from envdoctor.rules.rule import WARNING, Facts, Findings, Gpu, Remedy, Skip, finding, need, rule

_BAD = {
    "hw-slowdown": "the hardware slows itself down",
    "hw-thermal": "it is too hot, and the hardware halves its clock",
    "sw-thermal": "it is near its temperature limit, and the driver lowers its clock",
    "power-brake": "the power supply asks for less (power brake)",
}


@rule(WARNING, kind="gpu-limited", expected="none of these", who="host")
def throttled(facts: Facts) -> Findings:
    """A GPU is held back by heat or by its power supply.

    Why: at 100 % utilisation a throttled card ran at 510 MHz and a quarter of its speed. Idle, application clocks and
    the power cap reached at full load are normal and not reported; neither is anything read at rest, when clocks are
    low on purpose.
    Fix: cooling or power, both the host's. Rent another machine.
    Source: https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
    https://matt.sh/cloud-gpu-thermal-throttling and azure_gpu_clock_throttling.nhc of azurehpc-health-checks
    """
    gpus = need(facts.gpus)
    if all(gpu.throttle_reasons is None for gpu in gpus.devices):
        raise Skip("the reasons for reduced clocks were not read")
    for gpu in gpus.devices:
        reasons = [reason for reason in gpu.throttle_reasons or () if reason in _BAD]
        # A brake and hardware heat are wrong even at rest; what software does at rest is not.
        if not busy(gpu, gpus):
            reasons = [reason for reason in reasons if reason in ("hw-thermal", "power-brake")]
        if not reasons:
            continue
        held_back = "; ".join(_BAD[reason] for reason in reasons)
        message = f"{full(gpu)} is held back: {held_back}{_clock(gpu)}."
        yield finding(subject=subject(gpu), actual=", ".join(reasons), message=message, fix=_COOLING)


_COOLING = Remedy(
    text=f"Cooling and power are the host's. {RELIABLE}", commands=("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",)
)


def _clock(gpu: Gpu) -> str:
    return f" ({gpu.sm_clock} of {gpu.sm_clock_max} MHz)" if gpu.sm_clock and gpu.sm_clock_max else ""
