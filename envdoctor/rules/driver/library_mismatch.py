from envdoctor.knowledge.questions import circumstances, driver_owner, numbers
from envdoctor.rules.rule import ERROR, Driver, Facts, Findings, Pattern, Skip, anywhere, finding, known, rule

_MODULE = Pattern(r"(?i)kernel module has the version (?P<module>\d[\d.]*\d)")
_LIBRARY = Pattern(r"(?i)client has the version (?P<client>\d[\d.]*\d)|NVML library version: (?P<nvml>\d[\d.]*\d)")
_CONTAINED = Pattern(r"(?i)/\.singularity\.d/|\bsingularity\b|\bapptainer\b|docker (?:run|build|exec)")
_SAYS = Pattern(
    r"(?i)Driver/library version mismatch|NVML library version: \d+\.\d+|API mismatch: the client|LibRmVersionMismatch"
    r"|LIB_RM_VERSION_MISMATCH|NVML/RM version mismatch"
    r"|driver and (?:its |the )?librar(?:y|ies)(?: versions?)? (?:differ|do not match)"
    r"|kernel module and .{0,30}librar(?:y|ies) .{0,30}(?:differ|do(?:es)? not match|mismatch)",
)


_EXPLAINED = ("driver/", "torch/", "gpu/")


@rule(ERROR, kind="driver-library-mismatch", subject="driver", expected="one version", explains=_EXPLAINED)
def library_mismatch(facts: Facts) -> Findings:
    """The loaded kernel module and the driver's libraries are of different versions.

    Why: the driver was upgraded while the old kernel module stayed loaded (an unattended upgrade does that). Nothing
    that opens the GPU works until both are the same again. A libcuda that is newer on purpose (NVIDIA's
    forward-compatibility package) is not meant, as long as CUDA starts with it.
    Fix: reboot, or unload and load the module. Installing torch or CUDA again changes nothing.
    Source: https://docs.nvidia.com/deploy/cuda-compatibility/ https://github.com/NVIDIA/nvidia-container-toolkit/issues/394
    """
    driver = known(facts.driver)
    said = anywhere(facts, _SAYS) or (_SAYS.search(driver.smi) if driver and driver.smi else None)
    pair = _differing_version(driver) if driver else None
    if said is None and (driver is None or driver.kernel_module is None):
        raise Skip("the versions of the kernel module and its libraries are not known")
    if said is None and pair is None:
        return
    module = driver.kernel_module if driver else None
    if module is None and (told := anywhere(facts, _MODULE)):
        module = told["module"]
    if pair is None and (told := anywhere(facts, _LIBRARY)):
        pair = told["client"] or told["nvml"]
    owner, contained = driver_owner(facts), anywhere(facts, _CONTAINED) is not None
    library = pair or "another version"
    own = owner == "you" and not contained
    rebooted = own and circumstances.REBOOTED.stands(facts)
    rented = owner == "you" and circumstances.NOTEBOOK.stands(facts)
    yield finding(
        actual=f"kernel module {module or 'unknown'}, libraries {library}",
        who=owner,
        message=f"The NVIDIA kernel module ({module or 'version unknown'}) and the driver's libraries ({library}) "
        f"do not belong together: {_WHO_GOES_ON}.",
        usually=_HALF_UPGRADED if rebooted else _NOT_RESTARTED,
        fix=_RENTED if rented else _ONE_VERSION if rebooted else _reboot(owner, contained=contained),
        run=_LOOK if rebooted else "sudo reboot" if own and not rented else (),
    )


_WHO_GOES_ON = (
    "what loads these libraries (nvidia-smi is the first) cannot open the GPU; a program that started before they "
    "parted, or brings those that fit, goes on"
)
_NOT_RESTARTED = (
    "the driver was updated, by the system itself above all, and the machine not started since; in a container also a "
    "driver's libraries that were installed in it"
)
_HALF_UPGRADED = (
    "(a reboot, which loads a new module, did not help by the text) the module on the disk is still the old one: DKMS "
    "did not build the new one for this kernel, packages are half upgraded or held, the initramfs keeps the old "
    "module, or the driver is there twice (the distribution's and NVIDIA's .run file)"
)
_ONE_VERSION = (
    "Compare the three: the module that runs, the one on the disk and the packages. Let the package manager finish "
    "(on Debian and Ubuntu as below), bring all packages of the driver to one version (module and libraries, dkms or "
    "prebuilt for this kernel, not both; nvidia-uninstall for what a .run file left), build the module anew (dkms "
    "autoinstall), renew the initramfs (update-initramfs -u, dracut -f), and then reboot. Do not install torch or CUDA "
    "again: they are not the cause."
)
_LOOK = (
    "cat /proc/driver/nvidia/version",
    "modinfo -F version nvidia",
    "dkms status",
    "dpkg -l '*nvidia*' | grep '^[hi]'",
    "sudo apt-get install --fix-broken",
)
_RENTED = (
    "The machine's host must be rebooted, which is not yours to do: stop this session or pod and start it on another "
    "machine, and tell the provider. If you installed a driver's packages here yourself (nvidia-*, cuda, libnvidia-*), "
    "start from a fresh image without them. Do not install torch or CUDA again: they are not the cause."
)


_REMOVED = (
    "what was installed of one (nvidia-driver-*, libnvidia-*, nvidia-utils-*, cuda-drivers) is removed again, or the "
    "container started anew from its image, as a reboot from inside cures nothing"
)
_FROM_OUTSIDE = (
    "Reboot the host, which cannot be done from inside a container. Where a driver was installed in the container, "
    f"{_REMOVED}."
)


def _reboot(owner: str, *, contained: bool) -> str:
    reboot = _FROM_OUTSIDE if owner == "host" else "Reboot."
    inside = (
        "install no driver there (of Debian's packages cuda-toolkit-12-8, not cuda), its libraries are the host's, "
        f"which --nv or the container toolkit brings in; {_REMOVED}, and torch is taken that the host's driver runs."
    )
    last = " Do not install torch or CUDA again: they are not the cause."
    if contained:
        return f"In the container or its image {inside} Where none was, reboot the host." + last
    return reboot + (f" In a container or pod: {inside}" if owner == "you" else "") + last


def _differing_version(driver: Driver) -> str | None:
    """The libraries' version, when it differs from the module's and CUDA does not start."""
    module = numbers(driver.kernel_module)
    if len(module) < 2 or driver.cuinit == 0:
        return None
    # Error 804 names a compatibility library, which is of another version by design: `driver/cuda-init` says so.
    library = driver.library if driver.cuinit != 804 else None
    for version in (driver.management_library, library):
        parts = numbers(version)
        # Only complete versions are compared: a soname ("libcuda.so.1") says nothing.
        if len(parts) >= 2 and parts != module and (driver.cuinit is not None or version == driver.management_library):
            return version
    return None
