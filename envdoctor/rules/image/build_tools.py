from envdoctor.rules.image._reading import at, recipe_contents, sources
from envdoctor.rules.rule import ERROR, Facts, Findings, rule


@rule(ERROR, kind="nvcc-mismatch")
def build_tools(facts: Facts) -> Findings:
    """An extension is built without nvcc, or with one of another CUDA than torch's.

    Why: torch's builder stops without a toolkit ("CUDA_HOME environment variable is not set"), and where its major
    version is not torch's ("The detected CUDA version (11.8) mismatches ..."). `runtime` and `base` images, and
    Python's own, have no nvcc.
    Fix: a `-devel` image of torch's own CUDA line, as a first stage; then only the wheels go into the image.
    Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py
    https://github.com/Dao-AILab/flash-attention#installation-and-features
    """
    for file, held in recipe_contents(facts):
        nvcc = held.base.nvcc if held.base is not None else None
        brought = any(
            one.name.startswith(("cuda-toolkit", "cuda-nvcc", "nvidia-cuda-toolkit", "nvidia-cuda-nvcc", "cuda-1"))
            for install in held.installs
            for one in install.wanted
        )
        for install, wanted, _ in sources(held):
            if nvcc is None or brought or install.variable("FLASH_ATTENTION_SKIP_CUDA_BUILD"):
                continue
            torch = next((one for one in reversed(held.torches) if not held.comes_later(one, install)), None)
            cuda = torch.cuda if torch is not None else None
            if not nvcc:
                made = held.base.image if held.base is not None else "the base image"
                line = cuda or "12.8"
                yield at(
                    file,
                    wanted.line,
                    about=wanted.name,
                    message=f"{wanted.name} is compiled here, and {made} has no nvcc.",
                    fix="Build it in a -devel image, and copy the wheel or the environment from there.",
                    instead=f"FROM nvidia/cuda:{line}.N-devel-ubuntu22.04 AS build",
                )
            elif cuda and cuda.partition(".")[0] != nvcc.partition(".")[0]:
                yield at(
                    file,
                    wanted.line,
                    about=wanted.name,
                    message=f"{wanted.name} is compiled by the nvcc of CUDA {nvcc}, "
                    f"and torch is a build for CUDA {cuda}: the build refuses that.",
                    fix="Take the -devel image of torch's own CUDA line.",
                    instead=f"FROM nvidia/cuda:{cuda}.N-devel-ubuntu22.04",
                )
