from envdoctor.rules.image._reading import ImageFile, Word, all_dockerfiles, all_services, at, base, contents, require
from envdoctor.rules.rule import ERROR, NOTE, Facts, Finding, Findings, Target, need_gpu, rule

_NAME = "NVIDIA_DRIVER_CAPABILITIES"
_SETTING = f"ENV NVIDIA_VISIBLE_DEVICES=all {_NAME}=compute,utility"


@rule(ERROR, kind="gpu-not-visible")
def driver_capabilities(facts: Facts, target: Target) -> Findings:
    """NVIDIA_DRIVER_CAPABILITIES leaves CUDA out, or the image does not ask for GPUs at all.

    Why: without `compute` the container gets no libcuda: nvidia-smi may work, and torch sees no GPU. Where neither this
    nor NVIDIA_VISIBLE_DEVICES is set, `--gpus` and Kubernetes still give both; a runtime that goes by the image's
    variables gives nothing, so that is a note. NVIDIA's and torch's images set them.
    Fix: `compute,utility`, and NVIDIA_VISIBLE_DEVICES=all.
    Source: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """
    require(facts)
    need_gpu(target)
    for file, parsed in all_dockerfiles(facts):
        environment, first = parsed.last.environment, parsed.shipped[0].base
        word, made = environment.get(_NAME), base(first.text)
        if word is not None:
            if (found := _finding(file, word)) is not None:
                yield found
        elif made is not None and made.sets_devices is False and "NVIDIA_VISIBLE_DEVICES" not in environment:
            if not contents(parsed, parsed.last).is_for_gpus:
                continue
            yield at(
                file,
                parsed.last.base.line,
                kind="config-mismatch",
                severity=NOTE,
                message=f"{made.image} asks for no GPUs: a runtime that goes by the image's variables gives none.",
                fix=f"Add: {_SETTING}",
                instead=_SETTING,
            )
    for file, service in all_services(facts):
        word = service.environment.get(_NAME)
        if word is not None and (found := _finding(file, word)) is not None:
            yield found


def _finding(file: ImageFile, word: Word) -> Finding | None:
    given = {part.strip() for part in word.text.split(",")}
    if "$" in word.text or not word.text or given & {"all", "compute"}:
        return None
    return at(
        file,
        word.line,
        message=f"{_NAME}={word.text} leaves compute out: the container has no libcuda.",
        fix="Add compute.",
        instead=f"{_NAME}=compute,utility",
    )
