from envdoctor.rules.image._reading import apt_packages, at, recipes
from envdoctor.rules.rule import WARNING, Facts, Findings, Pattern, rule

_DRIVER = Pattern(
    r"nvidia-(?:driver|utils|compute-utils|kernel|dkms)(?:-.*)?|cuda-drivers.*|libnvidia-.*|libcuda1.*|cuda|cuda-\d+-\d+"
)


@rule(WARNING, kind="driver-library-mismatch")
def nvidia_packages(facts: Facts) -> Findings:
    """The image installs parts of the NVIDIA driver.

    Why: the driver's libraries come from the host when the container starts. Others in the image are of another version
    than the host's kernel module, and whichever is found first decides: "Driver/library version mismatch". The package
    `cuda` brings the driver along; `cuda-toolkit-12-8` does not.
    Fix: leave them out; of the toolkit take `cuda-toolkit-X-Y`.
    Source: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/
    https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#meta-packages
    """
    for file, _ in recipes(facts):
        told: set[int] = set()
        for package in apt_packages(file):
            if not _DRIVER.fullmatch(package.name) or package.line in told:
                continue
            told.add(package.line)
            toolkit = package.name.startswith("cuda") and "drivers" not in package.name
            name = package.name.replace("cuda", "cuda-toolkit", 1) if toolkit else ""
            yield at(
                file,
                package.line,
                message=f"{package.name} brings parts of a driver into the image; the host's "
                "are put there when it starts.",
                fix="Leave it out" + (f": {name} has what is needed." if name else "."),
                instead=name or "the same line without it",
            )
