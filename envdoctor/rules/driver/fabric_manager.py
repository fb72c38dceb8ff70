from envdoctor.rules.rule import ERROR, Facts, Finding, Findings, Pattern, Skip, anywhere, finding, known, rule

_VERSIONS = Pattern(
    r"(?i)fabric manager NVIDIA GPU driver interface version (?P<has>[\d.]{3,20}\d) don'?t match with driver version "
    r"(?P<driver>[\d.]{3,20}\d)"
)
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
    if (versions := anywhere(facts, _VERSIONS)) is not None:
        yield _not_equal(versions["has"], versions["driver"])
        return
    title, none_here, actual = (_FAULT, _NONE_HERE, said[0]) if said else ("", "", state or "")
    message = f'{title or "The NVSwitch fabric is not up"}: "{actual}".'
    version = driver.kernel_module if driver and driver.kernel_module else "of the driver version"
    fix = f"The host must start nvidia-fabricmanager {version}; rent another machine until then."
    yield finding(title=title, actual=actual, message=message, usually=_USUALLY + none_here, fix=fix, run=_JOURNAL)


def _not_equal(has: str, wanted: str) -> Finding:
    listed = f"apt-cache madison nvidia-fabricmanager-{wanted.partition('.')[0]}"
    return finding(
        title="Fabric Manager is of another version than the driver, and does not start",
        actual=has,
        expected=wanted,
        message=f"Fabric Manager is of version {has}, the driver of {wanted}; they must be equal to the last number.",
        fix=f"Install nvidia-fabricmanager {wanted}, or the driver {has}, both from one repository (NVIDIA's own has "
        "all of them), and start it again.",
        run=(listed, *_JOURNAL),
    )


_FAULT = "Fabric Manager, which sets up the fabric of NVSwitch machines, tells of a fault"
_USUALLY = (
    "Fabric Manager is of another version than the driver (they must be equal), is not installed or not started; else "
    "a switch or link has failed (its journal names it)"
)
_NONE_HERE = ", or there is no NVSwitch here, and nothing that needs it"
