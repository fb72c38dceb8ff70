from envdoctor.rules.gpu._cards import full, subject
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Remedy, Skip, finding, need, rule

LOW = 0.85  # of the highest clock; cards come with 90 % and more of it (V100 PCIe: 1312 of 1380 MHz)


@rule(WARNING, kind="gpu-limited", who="host")
def application_clocks(facts: Facts) -> Findings:
    """A GPU's clock was fixed well below its maximum.

    Why: application clocks and locked clocks cap the multiprocessors; what is bound by arithmetic becomes slower in
    proportion. Cards come with a default near the maximum, which is not reported.
    Fix: reset the clocks, as root on the host.
    Source: https://docs.nvidia.com/deploy/nvidia-smi/ (applications clocks, lock-gpu-clocks); azure_gpu_app_clocks.nhc
    """
    gpus = need(facts.gpus)
    if all(gpu.sm_clock_application is None for gpu in gpus.devices):
        raise Skip("application clocks were not read")
    for gpu in gpus.devices:
        fixed, highest = gpu.sm_clock_application, gpu.sm_clock_max
        if not fixed or not highest or fixed >= highest * LOW:
            continue
        # Some cards report their base clock here and boost all the same: proven only when read under load.
        severity = None if gpus.under_load and (gpu.sm_clock or 0) <= fixed else NOTE
        commands = (f"sudo nvidia-smi -i {gpu.index} -rac", f"sudo nvidia-smi -i {gpu.index} -rgc")
        yield finding(
            subject=subject(gpu),
            actual=f"{fixed} MHz",
            expected=f"{highest} MHz",
            severity=severity,
            message=f"{full(gpu)} is held at {fixed} of {highest} MHz by its application clock.",
            fix=Remedy(text="Reset application clocks and locked clocks.", commands=commands),
        )
