from envdoctor.rules.image._reading import at, base, for_gpus, gpu_image, require_services
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Target, need_gpu, rule

_CUDA = "nvidia-cuda"  # the feature


@rule(ERROR, kind="gpu-not-visible")
def gpu_access(facts: Facts, target: Target) -> Findings:
    """The container is started without the GPUs that its image is for.

    Why: a container sees no GPU unless it is asked for: training runs on the CPU. Compose refuses a device reservation
    without `capabilities`; `runtime: nvidia` goes by NVIDIA_VISIBLE_DEVICES, which an image that is not made for GPUs
    does not set.
    Fix: `gpus: all`, or a device reservation with `capabilities: [gpu]`; in a devcontainer
    `"runArgs": ["--gpus", "all"]`.
    Source: https://docs.docker.com/compose/how-tos/gpu-support/ https://containers.dev/implementors/json_reference/
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    files = tuple(require_services(facts))
    need_gpu(target)
    for file, service in files:
        compose = file.kind == "compose"
        if service.nameless is not None:
            yield at(
                file,
                service.nameless.line,
                message=f"{service.name}: this device reservation has no capabilities, and compose refuses it.",
                fix="Add the capabilities.",
                instead="capabilities: [gpu]",
            )
            continue
        runtime = service.runtime
        if runtime is not None and runtime.text == "nvidia" and service.gpu is None and service.image is not None:
            made = base(service.image.text)
            if made is not None and made.sets_devices is False and "NVIDIA_VISIBLE_DEVICES" not in service.environment:
                yield at(
                    file,
                    runtime.line,
                    message=f"{service.name}: this runtime gives the GPUs that NVIDIA_VISIBLE_DEVICES "
                    f"names, and neither {made.image} nor this file sets it.",
                    fix="Ask for them.",
                    instead="gpus: all" if compose else '"runArgs": ["--gpus", "all"]',
                )
        elif gpu_image(service) and not for_gpus(service):
            assert service.image is not None
            yield at(
                file,
                service.line if compose else service.image.line,
                severity=WARNING,
                message=f"{service.name} is started without GPUs, and {service.image.text} is made for them.",
                fix="Ask for them.",
                instead="gpus: all" if compose else '"runArgs": ["--gpus", "all"]',
            )
        elif not for_gpus(service) and (cuda := next((one for one in service.features if one.name == _CUDA), None)):
            yield at(
                file,
                cuda.line,
                severity=NOTE,
                message=f"{service.name}: this brings CUDA, and asks for no GPU: Codespaces gives one unasked, Docker "
                "does not.",
                fix="Ask for them where Docker starts it.",
                instead='"hostRequirements": { "gpu": "optional" }',
            )
