from envdoctor.knowledge.questions import anywhere
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Skip, finding, known, rule

_SAYS = (
    Pattern(r"(?i)nv-fabricmanager: .*"),
    Pattern(r"(?i)fabric ?manager.*(?:fail|don't match|mismatch|not running|error).*"),
)
_GOOD = frozenset({"completed", "not supported", "not-supported", "ok", ""})


@rule(ERROR, kind="cuda-init-failed", subject="Fabric Manager", expected="completed", who="host")
def fabric_manager(facts: Facts) -> Findings:
    """The NVSwitch fabric of this machine is not up.

    Why: on HGX and DGX machines (A100, H100, B200 on a board) every GPU belongs to a fabric that Fabric Manager sets
    up. Until it has, CUDA answers 802 ("system not yet initialized"), even for one GPU. It must be of exactly the
    driver's version; a driver update without it stops the machine.
    Fix: install and start nvidia-fabricmanager of the driver's version. Only the host can.
    Source: https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    """
    driver = known(facts.driver)
    said = anywhere(facts, *_SAYS)
    state = driver.fabric_manager if driver else None
    if state is None and said is None:
        raise Skip("the state of the NVSwitch fabric is not known")
    if said is None and ((state or "").lower() in _GOOD or (driver is not None and driver.cuinit == 0)):
        return  # where CUDA starts, as in a virtual machine with one GPU of a board, the fabric is not waited for
    version = driver.kernel_module if driver else None
    yield finding(
        title="Fabric Manager, which sets up the fabric of NVSwitch machines, tells of a fault" if said else "",
        actual=said[0] if said else state or "",
        message=f'Fabric Manager, which sets up the fabric of NVSwitch machines, tells of a fault: "{said[0]}".'
        if said
        else f'The NVSwitch fabric is not up: "{state}".',
        usually="Fabric Manager is of another version than the driver (they must be equal), is not installed or not "
        "started; else a switch or link has failed (its journal names it)"
        + (", or there is no NVSwitch here, and nothing that needs it" if said else ""),
        fix=f"The host must start nvidia-fabricmanager{f' {version}' if version else ' of the driver version'}; "
        "rent another machine until then.",
        run=("journalctl -u nvidia-fabricmanager --no-pager | tail", "sudo systemctl restart nvidia-fabricmanager"),
        explains=("driver/cuda-init", "torch/cuda-unavailable", "torch/cuda-error"),
    )
