from envdoctor.rules.image._contents import every
from envdoctor.rules.image._reading import at, recipes
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
    for file, parsed in recipes(facts):
        told: set[int] = set()
        for held in every(parsed):
            for install in held.installs:
                for wanted in install.wanted if install.tool == "apt" else ():
                    if not _DRIVER.fullmatch(wanted.name) or wanted.line in told:
                        continue
                    told.add(wanted.line)
                    toolkit = wanted.name.startswith("cuda") and "drivers" not in wanted.name
                    name = wanted.name.replace("cuda", "cuda-toolkit", 1) if toolkit else ""
                    yield at(
                        file,
                        wanted.line,
                        message=f"{wanted.name} brings parts of a driver into the image; the host's "
                        "are put there when it starts.",
                        fix="Leave it out" + (f": {name} has what is needed." if name else "."),
                        instead=name or "the same line without it",
                    )
