from envdoctor.rules.image._reading import all_recipe_contents, at, machines, require
from envdoctor.rules.rule import ERROR, Facts, Findings, Skip, Target, need_gpu, rule


@rule(ERROR, kind="no-kernels-for-gpu")
def gpu_kernels(facts: Facts, target: Target) -> Findings:
    """The torch of the image holds no code for the GPU that it is for.

    Why: every kernel launch fails ("no kernel image is available for execution on the device"), on a machine that is
    paid for already. Builds for CUDA 13 have nothing below sm_75, those before CUDA 12.8 nothing for Blackwell.
    Fix: a build that covers the GPU.
    Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    https://github.com/pytorch/pytorch/blob/main/RELEASE.md
    """
    require(facts)
    need_gpu(target)
    here = machines.machine_for(facts, target)
    if not here.capabilities:
        raise Skip("the GPU is not known: name a target")
    for file, held in all_recipe_contents(facts):
        torch = held.torch
        fit = machines.torch_fit(facts, target, held, torch) if torch is not None else None
        obstacle = next((one for one in fit.obstacles if one.what == "kernels"), None) if fit is not None else None
        if torch is None or obstacle is None:
            continue
        build = machines.build_for(here, torch)
        wanted = f"torch {build.name}" if build else ""
        index = f" --index-url https://download.pytorch.org/whl/{build.label}" if build else ""
        instead = f"pip install 'torch=={build.torch}.*'{index}" if build and torch.install else wanted
        yield at(
            file,
            torch.line,
            message=f"torch {torch.full} has nothing for {target.title or 'it'}: {obstacle.message}.",
            fix=f"Take a build that covers it: {wanted}." if wanted else "Take another GPU.",
            instead=instead,
        )
