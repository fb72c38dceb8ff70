from envdoctor.knowledge.base_images import Base, base
from envdoctor.knowledge.questions import best_build, driver_runs, minimum_driver, numbers
from envdoctor.knowledge.solver import Machine
from envdoctor.rules.image._contents import Contents, ImageTorch, every, machine
from envdoctor.rules.image._installs import Install
from envdoctor.rules.image._reading import ImageFile, all_recipes, all_services, at, require
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Skip, Target, on_cpu, rule

_CARRIED_FROM = 535
"""The oldest branch with which the compatibility libraries in NVIDIA's images bring CUDA 13 to data-center GPUs."""


@rule(ERROR, kind="driver-too-old")
def driver(facts: Facts, target: Target) -> Findings:
    """The driver of the machine cannot run the CUDA that the image brings.

    Why: a container uses the host's driver. Below the floor of its CUDA's major version NVIDIA's images refuse to start
    ("unsatisfied condition: cuda>=13.0"), and torch says "driver too old" and trains on the CPU. On data-center GPUs
    the compatibility libraries in NVIDIA's own images can carry a newer CUDA over an older driver; torch's images and
    wheels have none.
    Fix: an image or a torch of a CUDA line that this driver runs; or a newer driver, which only the host can install.
    Source: https://docs.nvidia.com/deploy/cuda-compatibility/ https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
    """
    require(facts)
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    here = machine(facts, target)
    if here.driver is None and here.driver_cuda is None:
        raise Skip("the driver is not known: name it with --driver VERSION")
    for file, parsed in all_recipes(facts):
        for held in every(parsed):
            carried = held.base is not None and held.base.maker in ("cuda", "ngc")
            first = parsed.chain(held.stage)[0].base
            torch, started = held.torch, file.kind == "devcontainer"
            if started and held.base is not None and _too_new(held.base.cuda, here):
                continue  # its image is judged below
            if carried and held.base is not None and _too_new(held.base.cuda, here):
                yield _finding(file, first.line, here, held.base.cuda, _base_instead(held.base), carried=True)
            elif torch is not None and torch.version and _too_new(torch.cuda or "", here):
                yield _finding(file, torch.line, here, torch.cuda or "", _instead(held, torch, here), carried=carried)
    for file, service in all_services(facts):
        image = base(service.image.text) if service.image is not None else None
        if service.image is not None and image is not None and _too_new(image.cuda, here):
            yield _finding(file, service.image.line, here, image.cuda, "", carried=image.maker in ("cuda", "ngc"))


def _too_new(cuda: str, here: Machine) -> bool:
    return bool(cuda) and driver_runs(cuda, driver=here.driver, driver_cuda=here.driver_cuda) is False


def _base_instead(made: Base) -> str:
    return f"FROM {made.image}: a tag of an older CUDA line" if made.cuda else ""


def _instead(held: Contents, torch: ImageTorch, here: Machine) -> str:
    install: Install | None = torch.install
    build = best_build(
        Machine(driver=here.driver, driver_cuda=here.driver_cuda, capabilities=here.capabilities, python=held.python),
        torch=torch.version,
    ).build
    if build is None:
        return ""
    if install is None:
        return f"FROM pytorch/pytorch:{build.torch}...-cuda{build.cuda}-..."
    return f"pip install torch=={torch.version} --index-url https://download.pytorch.org/whl/{build.label}"


def _finding(file: ImageFile, line: int, here: Machine, cuda: str, instead: str, *, carried: bool) -> Finding:
    have = f"driver {here.driver}" if here.driver else f"a driver for CUDA {here.driver_cuda}"
    needed = minimum_driver(cuda)
    may = carried and numbers(here.driver)[:1] >= (_CARRIED_FROM,)
    maybe = " Its compatibility libraries carry that on data-center GPUs only." if may else ""
    return at(
        file,
        line,
        severity=WARNING if may else ERROR,
        certain=not may,
        message=f"this brings CUDA {cuda}, which needs driver {needed} or later; there is {have}.{maybe}",
        fix=f"Take an image or a torch of an older CUDA line, or have driver {needed} or later installed on the host.",
        instead=instead,
    )
