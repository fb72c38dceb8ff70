from envdoctor.rules.gpu._cards import full, subject
from envdoctor.rules.rule import WARNING, Facts, Findings, Skip, finding, need, rule

MARGIN = 5  # degrees below the threshold at which the hardware slows down


@rule(WARNING, kind="gpu-limited", who="host")
def temperature(facts: Facts) -> Findings:
    """A GPU is close to the temperature at which it slows down.

    Why: a few degrees more and the clock falls; a card that is hot before training starts will not last an hour.
    Fix: cooling, which is the host's.
    Source: https://docs.nvidia.com/deploy/nvml-api/ (nvmlDeviceGetTemperatureThreshold, slowdown)
    """
    gpus = need(facts.gpus)
    if all(gpu.temperature is None or gpu.temperature_slowdown is None for gpu in gpus.devices):
        raise Skip("temperatures and their limits were not read")
    for gpu in gpus.devices:
        now, limit = gpu.temperature, gpu.temperature_slowdown
        if now is None or limit is None or now < limit - MARGIN:
            continue
        yield finding(
            subject=subject(gpu),
            actual=f"{now} °C",
            expected=f"below {limit - MARGIN} °C",
            message=f"{full(gpu)} is at {now} °C, and slows down at {limit} °C.",
            fix="Cooling is the host's; rent another machine if it stays so.",
        )
