from envdoctor.rules.gpu._cards import RELIABLE, full, subject
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Gpu, Pattern, Remedy, Skip, Target, finding, need, rule

_SHARES_POWER = Pattern(r"(?i)Laptop|Max-Q|Mobile")
TOLERANCE = 0.97  # limits are whole watts, and some boards report a default a watt or two above the enforced limit


@rule(WARNING, kind="gpu-limited", who="host")
def power_limit(facts: Facts, target: Target) -> Findings:
    """A GPU's power limit was lowered below its default.

    Why: matrix products run into the power limit first, so that a card at 70 % power is some 10 to 15 % slower in
    training. Hosts lower it to save on cooling, people to keep a room quiet. Another default than the target's GPU has
    (a PCIe board against SXM) is a note: that card is as it was sold.
    Fix: restore the default, as root on the host.
    Source: https://docs.nvidia.com/deploy/nvidia-smi/ (power.limit, power.default_limit)
    """
    gpus = need(facts.gpus)
    if all(gpu.power_limit is None for gpu in gpus.devices):
        raise Skip("power limits were not read")
    wanted = target.conditions.get("power_limit")
    for gpu in gpus.devices:
        if gpu.power_limit is None:
            continue
        lowered = gpu.power_default is not None and gpu.power_limit < gpu.power_default * TOLERANCE
        other = isinstance(wanted, (int, float)) and gpu.power_limit < wanted * TOLERANCE
        if not lowered and not other:
            continue
        normal = gpu.power_default if lowered and gpu.power_default else wanted
        why = f"its default is {normal:g} W" if lowered else f"the target's speeds were recorded at {normal:g} W"
        # A laptop shares its power between processor and GPU, from second to second.
        severity = None if lowered and not _SHARES_POWER.search(gpu.name) else NOTE
        yield finding(
            subject=subject(gpu),
            actual=f"{gpu.power_limit:g} W",
            expected=f"{normal:g} W",
            severity=severity,
            message=f"{full(gpu)} is limited to {gpu.power_limit:g} W; {why}.",
            fix=_restore(gpu) if lowered else "Compare speeds with this in mind.",
        )


def _restore(gpu: Gpu) -> Remedy:
    command = f"sudo nvidia-smi -i {gpu.index} -pl {gpu.power_default:g}"
    return Remedy(text=f"Restore the default limit. {RELIABLE}", commands=(command,))
