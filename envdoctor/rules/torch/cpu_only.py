import re

from envdoctor.knowledge.machine import driver_version, machine_of, nvidia_gpu, platform_of
from envdoctor.knowledge.numbers import line
from envdoctor.knowledge.questions import anywhere, best_build, circumstances, torch_cuda, torch_version
from envdoctor.knowledge.torch_builds import release_of
from envdoctor.locks.stack import by_name
from envdoctor.rules.finding import Finding, Pin, Remedy
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Skip, Target, finding, known, on_cpu, remedies, rule

_SAYS = (Pattern(r"Torch not compiled with CUDA enabled"),)
_REINSTALL = (
    "Install a CUDA build of torch in its place, and torchvision and torchaudio with it where they are installed."
)
_WANTS_CUDA = Pattern(
    r"(?i)cudatoolkit|pytorch-cuda|cuda-version|[+/-]cu1\d\d\b|nvidia toolkit detected"
    r"|cuda\.is_available\(\) is False",
)


@rule(ERROR, kind="torch-cpu-only", subject="torch")
def cpu_only(facts: Facts, target: Target) -> Findings:
    """A CPU build of torch on a machine with an NVIDIA GPU.

    Why: training runs on the CPU, silently and some hundred times slower. pip does not replace such a build by
    itself: the label "+cpu" is ignored in version comparisons, so "torch>=2.4" counts as satisfied. conda picks one
    as soon as a package asks for cpuonly.
    Fix: install torch again, from the index of a CUDA line that the driver runs, and force it.
    Source: https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers
    https://github.com/unslothai/unsloth/pull/5942 https://github.com/octimot/StoryToolkitAI/issues/170
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    version, cuda = torch_version(facts), torch_cuda(facts)
    torch = known(facts.torch)
    said = anywhere(facts, *_SAYS)
    if said is None and (version is None or cuda is None):
        raise Skip("which build of torch is installed is not known")
    guessed = said is not None and not (torch is not None and torch.cuda) and "+cu" not in (version or "")
    if (cuda and not guessed) or (torch is not None and (torch.hip or torch.xpu)):
        return
    gpu = nvidia_gpu(facts)
    evidence = gpu or _signs_of_gpu(facts)
    if evidence is None and said is None:
        return
    if gpu is None and said is not None and "card" in facts.remarks:
        return  # the only card that is told of is AMD's: packages/known-errors
    if gpu is None and said is not None and (instead := _without_nvidia(facts)) is not None:
        yield _asked_in_vain(f"torch {version}" if version else "torch", said[0], *instead)
        return
    pin = by_name(target.choice.pins).get("torch") if target.choice and target.choice.cuda else None
    repair = (Pin(name="torch", version=pin.version),) if pin else ()
    name = f"torch {version}" if version else "torch"
    jetson = gpu is not None and re.search(r"Jetson|Orin|Xavier|Tegra", gpu) is not None
    yield finding(
        title="" if gpu else _WITHOUT_CUDA if said else "A build of torch for the CPU, where a GPU seems to be meant",
        actual=f"{name}, built without CUDA",
        expected=pin.version if pin else "a CUDA build",
        message=f"{name} has no CUDA in it, although there is {evidence}: "
        + ("what asks for the GPU stops." if said else "what it computes runs on the CPU.")
        if evidence
        else f'{name} has no CUDA in it, and the code asks for a GPU of NVIDIA\'s ("{said[0] if said else ""}").',
        usually=_solver_fell_back(facts, version)
        if evidence
        else "it was installed from PyPI on Windows, whose build is for the CPU, or another package or conda brought "
        "such a build; else there is no GPU here, and the code should not ask for one",
        fix=Remedy(text=remedies.FOR_JETSON)
        if jetson
        else remedies.choose(
            target,
            repair,
            _REINSTALL if gpu else _REINSTALL + _ELSE,
            _by_hand(facts, version),
        ),
        repair=repair,
        explains=(
            "torch/cuda-unavailable",
            "torch/cuda-error",
            "precision/",
            "attention/",
            "packages/extension-binary",
            "packages/known-errors bitsandbytes",
        ),
    )


def _solver_fell_back(facts: Facts, version: str | None) -> str:
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


_WITHOUT_CUDA = "The code asks for CUDA, and this torch has none in it"
_ON_CPU = (
    "the program's option for it (--device cpu, --cpu), else device='cpu' in place of 'cuda', no .cuda(), and "
    "torch.load(..., map_location='cpu')"
)
_ELSE = f" Without an NVIDIA GPU have the code compute on the CPU: {_ON_CPU}."


def _without_nvidia(facts: Facts) -> tuple[str, str] | None:
    """What a text tells of a machine without an NVIDIA GPU, and what its code should ask for instead."""
    if platform_of(facts).startswith("macos") or circumstances.APPLE.stands(facts):
        return "as none has on a Mac", f"Ask for mps or cpu as the device: {_ON_CPU}; for Apple's GPU 'mps'."
    if circumstances.INTEGRATED.stands(facts):
        return "and the only GPU that is told of is Intel's", f"No NVIDIA GPU is here: compute on the CPU ({_ON_CPU})."
    if circumstances.WITHOUT_GPU.stands(facts):
        return "as was meant: the code asks for a GPU all the same", f"Have the code compute on the CPU: {_ON_CPU}."
    return None


def _asked_in_vain(name: str, said: str, why: str, instead: str) -> Finding:
    return finding(
        title=_WITHOUT_CUDA,
        actual=f"{name}, built without CUDA",
        expected="code that asks for no CUDA",
        message=f'{name} has no CUDA in it, {why} ("{said}").',
        fix=instead,
        explains=("torch/cuda-unavailable", "torch/cuda-error"),
    )


def _signs_of_gpu(facts: Facts) -> str | None:
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
    beside = [name for name in (packages.conda if packages else ()) if _WANTS_CUDA.fullmatch(name)]
    if beside:
        return f"conda's {beside[0]}"
    return None


def _by_hand(facts: Facts, version: str | None) -> str:
    """The same release on the newest CUDA line that this machine runs, where that is known."""
    build = best_build(machine_of(facts), torch=version).build if driver_version(facts) else None
    public = (version or "").partition("+")[0]
    packages, backend = known(facts.packages), build.label if build else "auto"
    exact = remedies.torch_family(packages, backend, f"torch=={public}") if public and build else ""
    return exact or remedies.torch_family(packages, backend, "torch")
