"""Whether a GPU is meant where torch has no CUDA in it, and how such a torch came here."""

from __future__ import annotations

from envdoctor.knowledge.questions import (
    best_build,
    circumstances,
    driver_version,
    line,
    machine_of,
    platform_of,
    release_of,
)
from envdoctor.rules.rule import Facts, Pattern, known, remedies

_WANTS_CUDA = Pattern(
    r"(?i)cudatoolkit|pytorch-cuda|cuda-version|[+/-]cu1\d\d\b|nvidia toolkit detected"
    r"|cuda\.is_available\(\) is False",
)
_COMPLAINTS = ("a GPU that is not seen", "a GPU that is seen and not used")
_ON_CPU = (
    "the program's option for it (--device cpu, --cpu), else device='cpu' in place of 'cuda', no .cuda(), and "
    "torch.load(..., map_location='cpu')"
)
WITHOUT_ONE = f"Without an NVIDIA GPU have the code compute on the CPU: {_ON_CPU}."


def without_nvidia(facts: Facts) -> tuple[str, str] | None:
    """What a text tells of a machine without an NVIDIA GPU, and what its code should ask for instead."""
    if platform_of(facts).startswith("macos") or circumstances.APPLE.stands(facts):
        return "as none has on a Mac", f"Ask for mps or cpu as the device: {_ON_CPU}; for Apple's GPU 'mps'."
    if circumstances.INTEGRATED.stands(facts):
        return "and the only GPU that is told of is Intel's", f"No NVIDIA GPU is here: compute on the CPU ({_ON_CPU})."
    if circumstances.WITHOUT_GPU.stands(facts):
        return "as was meant: the code asks for a GPU all the same", f"Have the code compute on the CPU: {_ON_CPU}."
    return None


def signs_of_gpu(facts: Facts) -> str | None:
    """Signs that a GPU was meant where a report names none: a toolkit, a script or launcher, CUDA packages."""
    if facts.origin.kind != "pasted":
        return None
    host, packages = known(facts.host), known(facts.packages)
    if host is not None and host.nvcc:
        return f"a CUDA {host.nvcc} toolkit"
    if any("gpu" in key.lower() and text.lower() in ("yes", "true") for key, text in facts.remarks.items()):
        return "a script that uses a GPU"
    launcher = known(facts.launcher)
    if launcher is not None and launcher.settings.get("distributed_type", "") in ("MULTI_GPU", "FSDP", "DEEPSPEED"):
        return f"an accelerate configuration for {launcher.settings['distributed_type']}"
    asked = [text for text in (*facts.remarks.values(), *facts.messages) if _WANTS_CUDA.search(text)]
    if asked:
        return "a request for CUDA"
    if any(f"complaint of {each}" in facts.remarks for each in _COMPLAINTS):
        return "a person who asks why the GPU is not used"
    beside = [name for name in (packages.conda if packages else ()) if _WANTS_CUDA.fullmatch(name)]
    if beside:
        return f"conda's {beside[0]}"
    return None


def solver_fell_back(facts: Facts, version: str | None) -> str:
    """conda's pytorch-cuda of a line that this release of torch has no build for."""
    packages, release = known(facts.packages), release_of(version or "")
    asked = line(packages.conda.get("pytorch-cuda", "").partition(" ")[0]) if packages else None
    if not asked or release is None or asked in release.lines:
        return ""
    return (
        f"pytorch-cuda {asked} was asked for, for which there is no build of torch {version} (it has CUDA "
        f"{', '.join(release.lines)}), and conda's solver took the one for processors in its place; name a CUDA that "
        "the release has, or pin the torch that belongs to that CUDA"
    )


def by_hand(facts: Facts, version: str | None) -> str:
    """The same release on the newest CUDA line that this machine runs, where that is known."""
    build = best_build(machine_of(facts), torch=version).build if driver_version(facts) else None
    public = (version or "").partition("+")[0]
    packages, backend = known(facts.packages), build.label if build else "auto"
    exact = remedies.torch_family(packages, backend, f"torch=={public}") if public and build else ""
    return exact or remedies.torch_family(packages, backend, "torch")
