from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Remedy, Severity, finding, known, rule
from envdoctor.rules.script._launching import Setting, settings


@rule(ERROR, kind="config-mismatch")
def launch_processes(facts: Facts) -> Findings:
    """The launch file starts more or fewer processes than there are GPUs.

    Why: with more processes than GPUs two ranks share one card and fail or crawl; with fewer, cards stay idle.
    Fix: one process per GPU.
    Source: https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-launch
    https://docs.pytorch.org/docs/stable/elastic/run.html
    """
    gpus = known(facts.gpus)
    count = gpus.number if gpus else 0
    for _, found in settings(facts):
        named = {setting.name: setting for setting in found}
        visible = named.get("CUDA_VISIBLE_DEVICES")
        listed = [part for part in visible.value.split(",") if part.strip()] if visible else []
        available = len(listed) if visible and "$" not in visible.value else count
        started = _per_machine(named)
        if started is None or not available:
            continue
        setting, processes = started
        if processes > available:
            yield _finding(setting, processes, available, ERROR, "ranks would share a GPU")
        elif processes < available and not visible:
            idle = available - processes
            yield _finding(setting, processes, available, WARNING, f"{idle} of them stay idle")


def _per_machine(named: dict[str, Setting]) -> tuple[Setting, int] | None:
    """Processes on one machine, and the setting that says so."""
    machines = named.get("num_machines")
    nodes = int(machines.value) if machines and machines.value.isdigit() and int(machines.value) > 0 else 1
    for name in ("processes_per_node", "num_processes"):
        setting = named.get(name)
        if setting and setting.value.isdigit() and len(setting.value) < 6:
            number = int(setting.value)
            return setting, number if name == "processes_per_node" else max(1, number // nodes)
    return None


def _finding(setting: Setting, processes: int, available: int, severity: Severity, effect: str) -> Finding:
    return finding(
        subject=setting.place,
        actual=f"{processes} processes",
        expected=f"{available} processes, one per GPU",
        severity=severity,
        message=f"{setting.place} starts {processes} processes for {available} GPUs: {effect}.",
        fix=Remedy(text=f"Start {available} processes.", commands=(f"{setting.name}: {available}",)),
    )
