"""For which driver, GPU and processor a variant of a release was built, by the properties that its wheel names."""

from collections.abc import Iterator, Mapping, Sequence

from envdoctor.knowledge import architectures
from envdoctor.knowledge.questions import (
    capability,
    capability_of,
    driver_cuda,
    driver_runs,
    driver_version,
    machine_of,
)
from envdoctor.rules.rule import Facts, Pattern, known

_ARCHITECTURE = Pattern(r"(\d{2,4}[af]?)_(real|virtual)")  # as CMake writes them
_LEVELS = {"v3": "avx2", "v4": "avx512f"}  # what x86-64-v3 and -v4 add first


def unfit(facts: Facts, properties: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Property, and for what it is a variant, where this machine is seen to be another. What no machine here is known
    to lack (a library, a namespace of somebody's own) is not judged."""
    features = _features(properties)
    if values := features.get(("nvidia", "cuda_version_lower_bound")):
        driver, offered = driver_version(facts), driver_cuda(facts)
        windows = machine_of(facts).windows
        runs = [driver_runs(value, driver=driver, driver_cuda=offered, windows=windows) for value in values]
        if runs and all(one is False for one in runs):
            have = f"CUDA {offered}" if offered else f"driver {driver}"
            yield f"cuda_version_lower_bound {values[0]}", f"for CUDA {values[0]} and later, and this driver has {have}"
    if codes := _codes(features.get(("nvidia", "sm_arch"), [])):
        gpus, torch = known(facts.gpus), known(facts.torch)
        devices = [gpu.capability or capability_of(gpu.name) for gpu in gpus.devices] if gpus else []
        for number in filter(None, devices or (torch.capabilities if torch else ())):
            if (wanted := capability(number)) and not any(architectures.runs(code, wanted) for code in codes):
                listed = ", ".join(sorted({"{}.{}".format(*code.capability) for code in codes}))
                yield f"code for {listed}", f"with code for {listed}, and this GPU has capability {number}"
    host = known(facts.host)
    if host is None or not host.cpu_flags or (host.machine or "").lower() not in ("x86_64", "amd64"):
        return
    levels = features.get(("x86_64", "level"), [])
    if levels and all(_LEVELS.get(level, "") not in ("", *host.cpu_flags) for level in levels):
        yield (
            f"x86-64-{levels[0]}",
            f"for processors of level x86-64-{levels[0]}, and this one lacks {_LEVELS[levels[0]]}",
        )


def _features(properties: Sequence[str]) -> Mapping[tuple[str, str], list[str]]:
    """Values by namespace and feature: one of each has to fit."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in properties:
        match line.split(" :: "):
            case [namespace, feature, value]:
                found.setdefault((namespace, feature), []).append(value)
    return found


def _codes(values: Sequence[str]) -> tuple[architectures.Code, ...]:
    """The code of a build; none where one value is in no known form, since that one may be what fits."""
    found = []
    for value in values:
        match = _ARCHITECTURE.fullmatch(value)
        code = architectures.parse(f"{'sm' if match[2] == 'real' else 'compute'}_{match[1]}") if match else None
        if code is None:
            return ()
        found.append(code)
    return tuple(found)
