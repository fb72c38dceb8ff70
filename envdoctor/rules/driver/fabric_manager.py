from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Skip, anywhere, finding, known, rule

_SAYS = (
    Pattern(r"(?i)nv-fabricmanager: .*"),
    Pattern(r"(?i)fabric ?manager.*(?:fail|don't match|mismatch|not running|error).*"),
)
_GOOD = frozenset({"completed", "not supported", "not-supported", "ok", ""})


_EXPLAINED = ("driver/cuda-init", "torch/cuda-unavailable", "torch/cuda-error")
_JOURNAL = ("journalctl -u nvidia-fabricmanager --no-pager | tail", "sudo systemctl restart nvidia-fabricmanager")


@rule(ERROR, kind="cuda-init-failed", subject="Fabric Manager", expected="completed", who="host", explains=_EXPLAINED)
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
    title, none_here, actual = (_FAULT, _NONE_HERE, said[0]) if said else ("", "", state or "")
    message = f'{title or "The NVSwitch fabric is not up"}: "{actual}".'
    version = driver.kernel_module if driver and driver.kernel_module else "of the driver version"
    fix = f"The host must start nvidia-fabricmanager {version}; rent another machine until then."
    yield finding(title=title, actual=actual, message=message, usually=_USUALLY + none_here, fix=fix, run=_JOURNAL)


_FAULT = "Fabric Manager, which sets up the fabric of NVSwitch machines, tells of a fault"
_USUALLY = (
    "Fabric Manager is of another version than the driver (they must be equal), is not installed or not started; else "
    "a switch or link has failed (its journal names it)"
)
_NONE_HERE = ", or there is no NVSwitch here, and nothing that needs it"
