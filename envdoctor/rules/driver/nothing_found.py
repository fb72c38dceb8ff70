from envdoctor.knowledge.questions import in_container, nvidia_gpu, torch_cuda, torch_version
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Pattern, Target, anywhere, finding, known, need, rule

_SEEN = Pattern(r"(?i)nvidia-smi\b.{0,30}\bworks?\b|see (?:the |my )?GPUs? .{0,10}\(?using nvidia-smi")


@rule(WARNING, kind="gpu-not-visible", subject="GPU", for_gpu=True)
def nothing_found(facts: Facts, target: Target) -> Findings:
    """A GPU is meant to be used, and nothing shows an NVIDIA GPU or driver.

    Why: whoever installs a CUDA build means to use a GPU. Where CUDA is not available and a report's tools found
    neither card nor driver, the machine, container or virtual machine was started without one. A target's environment
    may well be made on a machine without its GPU, as images are: then this is a note of what was not judged.
    Fix: until nvidia-smi lists a GPU, torch cannot use one; where the CPU is meant, its build is much smaller.
    Source: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    if facts.origin.kind != "pasted":
        yield from _probed_machine(facts, target)
        return
    torch, driver, host = need(facts.torch), known(facts.driver), known(facts.host)
    explicit = bool(torch.cuda) or "+cu" in torch.version
    elsewhere = bool(torch.hip or torch.xpu or (driver and driver.other_accelerators))
    if torch.cuda_available is not False or not explicit or not torch_cuda(facts) or elsewhere:
        return
    if anywhere(facts, _SEEN):
        return  # a person's word that there is one
    if nvidia_gpu(facts) is not None or (host is not None and host.system == "Darwin"):
        return
    yield finding(
        actual="none found",
        expected="nvidia-smi lists a GPU",
        message=f"torch {torch_version(facts)} is built for CUDA {torch_cuda(facts)}, but CUDA is not available, and "
        "nothing in the report shows an NVIDIA GPU or driver.",
        fix=f"{_START if in_container(facts) else _INSTALL} with access to the GPU.",
        run=("nvidia-smi", "docker run --gpus all ..."),
        certain=False,  # from what a report leaves out
    )


_START = "Start the container"
_INSTALL = "Install the driver, or start the container or virtual machine"


def _probed_machine(facts: Facts, target: Target) -> Findings:
    """A probe looks at the machine itself: nothing there is certain, and a matter only of the target that was named."""
    driver = need(facts.driver)
    if target.is_cpu or driver.nvidia_present or nvidia_gpu(facts) is not None:
        return
    message = "There is no NVIDIA GPU here: what depends on it (driver, GPU, CUDA) was not judged."
    again = "Check again where the GPU is."
    yield finding(actual="none here", expected=target.title, severity=NOTE, message=message, fix=again)
