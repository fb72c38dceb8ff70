from envdoctor.knowledge.machine import needs_board_wheels
from envdoctor.knowledge.questions import driver_owner, gpu_names, hidden_by, line_is_guessed, nvidia_gpu, torch_cuda
from envdoctor.rules.rule import ERROR, Facts, Findings, Remedy, finding, known, need, remedies, rule


@rule(ERROR, subject="CUDA", expected="available", explains=("precision/", "attention/"), for_gpu=True)
def cuda_unavailable(facts: Facts) -> Findings:
    """torch has CUDA, there is a GPU, and CUDA is not available.

    Why: training falls back to the CPU. Usually another finding names the cause (driver too old, hidden devices, a
    failing cuInit); this one remains when nothing else explains it.
    Fix: ask CUDA itself for its error.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.cuda.is_available.html
    """
    torch = need(facts.torch)
    need(torch.cuda_available, "whether CUDA is available is not known")
    gpu, cuda = nvidia_gpu(facts), torch_cuda(facts)
    if torch.cuda_available or not cuda:
        return
    if gpu is None:
        if names := gpu_names(facts):
            yield finding(
                kind="torch-cpu-only",
                actual=f"a build for CUDA, {names[0]}",
                message=f"torch is built for CUDA {cuda}, and the GPU is none of NVIDIA's ({names[0]}): torch does not "
                "use it.",
                fix=_BUILD_FOR_IT,
            )
        return
    if needs_board_wheels(facts) and line_is_guessed(facts):
        yield finding(
            kind="torch-cpu-only",
            actual=f"torch {torch.version or ''}".rstrip(),
            expected="NVIDIA's wheel for this JetPack",
            message="torch sees no GPU on this Jetson.",
            usually="its wheel is PyPI's, which holds no CUDA for the board",
            fix=remedies.FOR_JETSON,
        )
        return
    driver, hidden = known(facts.driver), hidden_by(facts)
    said = f": {torch.cuda_error}" if torch.cuda_error else ""
    yield finding(
        kind="cuda-init-failed" if not hidden else "gpu-not-visible",
        actual="not available" + (f" (cuInit {driver.cuinit})" if driver and driver.cuinit else ""),
        message=f"torch is built for CUDA {cuda} and there is {gpu}, but CUDA is not available{said}.",
        usually="" if said or hidden else _USUALLY,
        fix=_ASK_CUDA,
        who="you" if hidden else driver_owner(facts),
        certain=False,  # says that it fails, and not why
    )


_BUILD_FOR_IT = (
    "Install the build for this GPU in place of it, with torchvision and torchaudio: for AMD on Linux one for ROCm "
    "from PyTorch's index (or AMD's own wheels), for Intel one for XPU; what requires torch must not bring the one "
    "from PyPI back."
)
_USUALLY = (
    "the driver and its library are of different versions, CUDA_VISIBLE_DEVICES or the container leaves the GPU out, "
    "the device files (nvidia-uvm) are missing after a sleep, or the driver is too old for that CUDA"
)
_ASK_CUDA = Remedy(
    text="Let CUDA name the error; then look at what hides or blocks the device.",
    commands=(
        "python -c 'import torch; torch.cuda.init()'",
        "env -u CUDA_VISIBLE_DEVICES -u LD_LIBRARY_PATH python -c 'import torch; torch.cuda.init()'",
    ),
)
