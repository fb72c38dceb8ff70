from envdoctor.knowledge.questions import circumstances
from envdoctor.rules.rule import ERROR, WITHOUT_CUDA, Facts, Findings, Pattern, Skip, anywhere, finding, rule

_NONE_SEEN = Pattern(
    r"(?i)Found no NVIDIA driver|No CUDA GPUs are available|no CUDA-capable device|machine only has: \[\]"
    r"|torch\.cuda\.is_available\(\) is False|Torch not compiled with CUDA|No supported gpu backend"
    r"|Accelerator.{0,3} can ?not (?:be|run)|libcuda\.so(?:\.1)?: cannot open|NVML Shared Library Not Found"
    r"|couldn't find libnvidia-ml|Failed to infer device type|(?:\bno|0) (?:CUDA )?GPUs? (?:was |were |is |are )?"
    r"(?:found|detected|available|visible)|\bGPUs?\b.{0,30}(?:not|n't) (?:be )?(?:found|find|detected|seen|visible)"
    r"|(?:not|n't) (?:find|found|see|detect) (?:the |any |my |a )?(?:NVIDIA |CUDA )?GPUs?\b"
    r"|CUDA driver initialization failed|nvidia-smi: (?:command )?not found|failed call to cuInit",
)
_NEVER = Pattern(r"(?i)Torch not compiled with CUDA")
"""The build has no CUDA, whatever the container is given."""
_START = Pattern(
    r"(?:^|\s)(?P<command>(?:sudo )?(?P<tool>docker|podman|nerdctl|apptainer|singularity) (?:-\w{1,12} )?"
    r"(?:container )?(?P<verb>run|exec|shell|instance start)\b.*)"
)
_GIVES = Pattern(
    r"--gpus\b|--runtime\b|--nv\b|--nvccli\b|--rocm\b|--device\b|--privileged\b|nvidia\.com/gpu|NVIDIA_VISIBLE_DEVICES"
    r"|\\\s*$|\.\.\.|…",
)
"""What may hand the GPU over, or more of the command that is not in the line."""


_EXPLAINED = ("torch/cuda-unavailable", "driver/", "packages/known-errors CUDA", "packages/known-errors the GPU")


@rule(
    ERROR,
    kind="gpu-not-visible",
    subject="the container's start",
    explains=(*_EXPLAINED, *WITHOUT_CUDA),
    for_gpu=True,
)
def started_without_gpu(facts: Facts) -> Findings:
    """A container was started by a command that hands it no GPU.

    Why: a container sees the host's GPU and the driver's library only if its start asks for them: --nv of Singularity
    and Apptainer, --gpus of Docker, a device of the CDI of Podman. The program in it finds none, whatever torch it has.
    Fix: the same command with the option, which stands before the image.
    Source: https://apptainer.org/docs/user/main/gpu.html
    https://docs.docker.com/engine/containers/resource_constraints/#gpu
    """
    command = facts.remarks.get("container command", "").strip().lstrip("$# ")
    start = _START.search(command)
    none_seen = anywhere(facts, _NONE_SEEN)
    if start is None or none_seen is None:
        raise Skip("no start of a container that sees no GPU is in the report")
    command = start["command"]
    tool, own = start["tool"], start["tool"] in ("apptainer", "singularity")
    if (start["verb"] != "run" and not own) or _GIVES.search(command) or _NEVER.search(none_seen[0]):
        return
    if circumstances.HANDED_OVER.stands(facts) or circumstances.WITHOUT_GPU.stands(facts):
        return
    option = "--nv" if own else "--device nvidia.com/gpu=all" if tool == "podman" else "--gpus all"
    verb = start.end("verb") - start.start("command")
    mended = f"{command[:verb]} {option}{command[verb:]}"
    message = (
        f"By the command in the text the container was started without its GPU (no {option.partition('=')[0]} in "
        f'"{command[:200]}"), and the program in it finds none: {none_seen.string[:200]}'
    )
    yield finding(
        actual=command[:200],
        expected=f"{start['verb']} {option}",
        message=message,
        fix=f"Start it with {option}, which stands before the image; nvidia-smi then lists the GPU in the container as "
        f"on the host. {_OWN if own else _DOCKER}",
        run=(mended[:300], "nvidia-smi"),
    )


_OWN = "The host needs the driver alone. AMD's GPUs are handed over by --rocm."
_DOCKER = "The host needs its driver and the NVIDIA Container Toolkit (AMD: --device /dev/kfd --device /dev/dri)."
