from envdoctor.knowledge.questions import driver_knows, driver_owner, driver_range, generation, on_bus
from envdoctor.rules.rule import ERROR, Facts, Findings, Skip, finding, known, need, rule


@rule(ERROR, explains=("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/"))
def supports_gpu(facts: Facts) -> Findings:
    """The driver does not know this GPU: too old for it, or so new that it was dropped.

    Why: the card is on the PCI bus and the driver leaves it alone. Blackwell needs the 570 branch (B300: 575); Maxwell,
    Pascal and Volta ended with 580, Kepler with 470.
    Fix: a driver of a branch that knows the card. Only the host can install it.
    Source: https://nvidia.custhelp.com/app/answers/detail/a_id/3142 and the CUDA release notes (new architectures)
    """
    driver, gpus = need(facts.driver), known(facts.gpus)
    if gpus is not None and gpus.devices:
        return  # listed by the driver, so known to it
    version = driver.kernel_module
    models = on_bus(driver.pci)
    if not version or not models:
        raise Skip("the driver's version or the GPU on the bus is not known")
    for name, number in {model.printed: model.capability for model in models}.items():
        if driver_knows(version, number) is not False:
            continue
        first, last = driver_range(number)
        found = generation(number)
        dropped = last is not None and int(version.partition(".")[0]) > last
        needed = f"branch {last} or older" if dropped else f"{first} or later"
        yield finding(
            subject=name,
            actual=version,
            expected=needed,
            kind="gpu-not-visible" if dropped else "driver-too-old",
            who=driver_owner(facts),
            message=f"Driver {version} does not serve {name} ({found.name if found else number}): it needs {needed}.",
            fix=f"Install a driver of {needed}.",
        )
