from envdoctor.rules.rule import NOTE, Facts, Findings, Skip, finding, known, need, rule


@rule(NOTE, kind="gpu-limited", subject="persistence mode", expected="on", who="host")
def persistence(facts: Facts) -> Findings:
    """Persistence mode is off.

    Why: without it the driver lets go of a GPU when its last program ends, and takes one to several seconds to start
    it again. It costs start-up time and nothing while training. Windows has no such mode.
    Fix: switch it on, on the host.
    Source: https://docs.nvidia.com/deploy/driver-persistence/
    """
    gpus, host = need(facts.gpus), known(facts.host)
    modes = [gpu.persistence for gpu in gpus.devices]
    if all(mode is None for mode in modes):
        raise Skip("persistence mode was not read")
    off = ", ".join(str(gpu.index) for gpu in gpus.devices if gpu.persistence is False)
    windows = host is not None and (host.system == "Windows" or (host.container or "").startswith("wsl"))
    if not off or windows:
        return
    message = f"Persistence mode is off on GPU {off}: each program waits for the driver to start the GPU."
    yield finding(actual=f"off on GPU {off}", message=message, fix="Switch it on.", run="sudo nvidia-smi -pm 1")
