from envdoctor.rules.gpu._cards import RELIABLE, full, subject
from envdoctor.rules.rule import WARNING, Facts, Finding, Findings, Gpu, Remedy, Skip, finding, need, rule

SPREAD = 0.90  # 5 % and a little more between healthy cards of one kind is normal (stas00/ml-engineering)


@rule(WARNING, kind="gpu-limited", expected="like its siblings", who="host")
def odd_one_out(facts: Facts) -> Findings:
    """One card differs from its siblings.

    Why: in data-parallel training every step waits for the slowest card. Three or more cards of one kind should agree
    in power limit, memory and link at all times, and in clock under load; one that does not is limited or sick.
    Fix: leave it out with CUDA_VISIBLE_DEVICES, or rent another machine.
    Source: https://github.com/stas00/ml-engineering/tree/master/compute/accelerator (debugging a slow card)
    """
    gpus = need(facts.gpus)
    names = dict.fromkeys(gpu.name for gpu in gpus.devices)
    kinds = [[gpu for gpu in gpus.devices if gpu.name == name] for name in names]
    groups = [group for group in kinds if len(group) >= 3]
    if not groups:
        raise Skip("there are not three GPUs of one kind to compare")
    for group in groups:
        for gpu in group:
            if odd := "; ".join(_differences(gpu, group, clocks=gpus.under_load)):
                yield _finding(gpu, odd, group)


def _differences(gpu: Gpu, group: list[Gpu], *, clocks: bool) -> list[str]:
    """What this card has less of than the median of its kind."""
    from statistics import median  # ten milliseconds, which machines without three GPUs need not wait

    rows: list[tuple[str, str, list[float | None], float | None]] = [
        ("power limit", "W", [each.power_limit for each in group], gpu.power_limit),
        ("memory", "bytes", [each.memory for each in group], gpu.memory),
        ("PCIe lanes", "lanes", [each.pcie_width for each in group], gpu.pcie_width),
        ("NVLinks", "links", [each.nvlinks for each in group], gpu.nvlinks),
    ]
    if clocks:
        rows.append(("clock", "MHz", [each.sm_clock for each in group], gpu.sm_clock))
    odd = []
    for name, unit, values, own in rows:
        numbers = [float(value) for value in values if value is not None]
        if own is None or len(numbers) < 3:
            continue
        usual = median(numbers)
        if own < usual * SPREAD:
            odd.append(f"{name} {own:g} {unit}, the others {usual:g}")
    return odd


def _finding(gpu: Gpu, odd: str, group: list[Gpu]) -> Finding:
    others = ",".join(str(each.index) for each in group if each.index != gpu.index)
    message = f"{full(gpu)} is unlike its siblings: {odd}. Every step waits for it."
    fix = Remedy(text=f"Leave it out. {RELIABLE}", commands=(f"export CUDA_VISIBLE_DEVICES={others}",))
    return finding(subject=subject(gpu), actual=odd, message=message, fix=fix)
