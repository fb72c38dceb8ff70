from envdoctor.knowledge.questions import RELIABLE, in_container
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Remedy, Skip, Target, finding, known, need, rule


@rule(ERROR, kind="gpu-limited", subject="GPUs")
def count(facts: Facts, target: Target) -> Findings:
    """Fewer GPUs answer than are there, or than the target was recorded with.

    Why: a card that is on the PCI bus and that the driver does not list has failed (it "fell off the bus"), and every
    launch with the full number of processes fails. Inside a container the bus shows the whole host, of which only a
    part may be meant for it: there only the numbers handed to the container count. Nor does what a scheduler keeps from
    this job: device files that may not be opened.
    Fix: reset or exchange the card: the host's.
    Source: https://docs.nvidia.com/deploy/xid-errors/ (79); azure_gpu_count.nhc
    """
    gpus, driver = need(facts.gpus), known(facts.driver)
    listed = gpus.count if gpus.count is not None else len(gpus.devices)
    if not gpus.devices or facts.origin.kind == "pasted":
        raise Skip("no GPU is listed, or the list is a report's")
    denied = set(driver.device_denied) & set(driver.devices) if driver else set()
    on_bus = len(driver.pci) - len(denied) if driver and not in_container(facts) else 0
    files = len(driver.devices) - len(denied) if driver else 0
    there = max(on_bus, files)
    if there > listed:
        cards = "a card has" if there - listed == 1 else "cards have"
        # A device file proves that the driver had taken the card; on the bus it may be one that it never served.
        severity = None if files > listed else WARNING
        yield finding(
            kind="gpu-unhealthy",
            actual=f"{listed} answer",
            expected=f"{there}, as {'on the PCI bus' if on_bus >= files else 'there are device files'}",
            severity=severity,
            who="host",
            message=f"{listed} of {there} GPUs answer: {cards} failed.",
            fix=_EXCHANGE,
        )
    wanted = target.conditions.get("gpus")
    if isinstance(wanted, int) and listed < wanted:
        message = f"The target was recorded on {wanted} GPUs; {listed} {'is' if listed == 1 else 'are'} here."
        yield finding(actual=str(listed), expected=str(wanted), severity=NOTE, message=message, fix=_PER_GPU)


_EXCHANGE = Remedy(
    text=f"The host must reset or exchange it. {RELIABLE}",
    commands=("nvidia-smi -L", "lspci -d 10de: -nn", "dmesg | grep -i xid"),
)
_PER_GPU = Remedy(text="Compare speeds per GPU.")
