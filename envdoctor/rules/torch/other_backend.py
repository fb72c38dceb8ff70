from envdoctor.knowledge.questions import nvidia_gpu
from envdoctor.rules.rule import ERROR, Facts, Findings, Target, finding, known, need, remedies, rule

_EXPLAINED = ("torch/cuda-unavailable", "torch/cuda-error", "precision/", "attention/")


@rule(ERROR, kind="torch-cpu-only", subject="torch", expected="a CUDA build", explains=_EXPLAINED, for_gpu=True)
def other_backend(facts: Facts, target: Target) -> Findings:
    """torch is built for AMD (ROCm) or Intel (XPU) GPUs, and the GPU is NVIDIA's.

    Why: such a build holds no CUDA: `torch.cuda.is_available()` is False (or speaks of AMD devices), and training
    runs on the CPU.
    Fix: install the build for the CUDA line that the driver runs.
    Source: https://pytorch.org/get-started/locally/
    """
    torch = need(facts.torch)
    gpu = nvidia_gpu(facts)
    backend = f"ROCm {torch.hip}" if torch.hip else f"XPU {torch.xpu}" if torch.xpu else None
    if backend is None or gpu is None or torch.cuda:
        return
    repair = remedies.torch_pin(target, cuda=True)
    by_hand = remedies.torch_family(known(facts.packages), "auto", "torch")
    yield finding(
        actual=f"{torch.version} for {backend}",
        message=f"torch {torch.version} is built for {backend}, the GPU here is NVIDIA's ({gpu}).",
        fix=remedies.choose(target, repair, "Install a CUDA build of torch in its place.", by_hand),
        repair=repair,
    )
