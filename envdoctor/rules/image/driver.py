from envdoctor.rules.image._reading import ImageFile, all_recipe_contents, at, machines, require, service_bases
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Skip, Target, need_gpu, rule


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
    need_gpu(target)
    here = machines.machine_for(facts, target)
    if here.driver is None and here.driver_cuda is None:
        raise Skip("the driver is not known: name it with --driver VERSION")
    for file, held in all_recipe_contents(facts):
        made, torch = held.base, held.torch
        new = made is not None and machines.is_too_new(made.cuda, here)
        if new and file.kind == "devcontainer":
            continue  # its image is judged below
        if made is not None and new and made.carries_cuda:
            line = held.file.chain(held.stage)[0].base.line
            yield _finding(file, line, here, made.cuda, machines.instead_of_base(made), carried=True)
        elif torch is not None and torch.version and machines.is_too_new(torch.cuda, here):
            carried = made is not None and made.carries_cuda
            instead = machines.instead_of_torch(held, torch, here)
            yield _finding(file, torch.line, here, torch.cuda or "", instead, carried=carried)
    for file, word, made in service_bases(facts):
        if machines.is_too_new(made.cuda, here):
            yield _finding(file, word.line, here, made.cuda, "", carried=made.carries_cuda)


def _finding(file: ImageFile, line: int, here: machines.Machine, cuda: str, instead: str, *, carried: bool) -> Finding:
    have = f"driver {here.driver}" if here.driver else f"a driver for CUDA {here.driver_cuda}"
    needed = machines.minimum_driver(cuda)
    may = carried and machines.carries_newer_cuda(here)
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
