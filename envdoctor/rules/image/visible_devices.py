from envdoctor.rules.image._reading import ImageFile, Word, at, environments
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Target, need_gpu, rule


@rule(ERROR, kind="gpu-not-visible")
def visible_devices(facts: Facts, target: Target) -> Findings:
    """The image itself hides GPUs.

    Why: CUDA_VISIBLE_DEVICES="" or -1, and NVIDIA_VISIBLE_DEVICES=none or void hide all of them. A list of numbers in
    an image or a compose file belongs to one machine: on another it leaves GPUs idle, or names some that the container
    was not given.
    Fix: choose devices where the container is started (`--gpus '"device=0,1"'`, `device_ids`), not in the image.
    Source: https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    files = tuple(environments(facts))
    need_gpu(target)
    for file, environment in files:
        cuda, nvidia = environment.get("CUDA_VISIBLE_DEVICES"), environment.get("NVIDIA_VISIBLE_DEVICES")
        if cuda is not None and "$" not in cuda.text:
            if cuda.text.split(",")[0].strip() in ("", "-1", "none", "NoDevFiles"):
                yield _hidden_devices(file, cuda, "CUDA_VISIBLE_DEVICES")
            elif cuda.text != "all":
                yield at(
                    file,
                    cuda.line,
                    about="CUDA_VISIBLE_DEVICES",
                    kind="config-mismatch",
                    severity=WARNING,
                    message=f"CUDA_VISIBLE_DEVICES={cuda.text} is right for one machine only.",
                    fix="Choose the devices where the container is started.",
                    instead="no CUDA_VISIBLE_DEVICES",
                )
        if nvidia is not None and nvidia.text in ("none", "void"):
            yield _hidden_devices(file, nvidia, "NVIDIA_VISIBLE_DEVICES")


def _hidden_devices(file: ImageFile, word: Word, name: str) -> Finding:
    return at(
        file,
        word.line,
        about=name,
        message=f"{name}={word.text!r} hides every GPU.",
        fix="Remove it.",
        instead="NVIDIA_VISIBLE_DEVICES=all" if name.startswith("NVIDIA") else f"no {name}",
    )
