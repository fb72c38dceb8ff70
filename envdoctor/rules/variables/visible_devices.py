from envdoctor.rules.finding import ERROR, NOTE, WARNING, Finding, Findings, Remedy, Severity, finding
from envdoctor.rules.rule import Facts, Gpus, Kind, Pattern, Target, known, need, rule

_NAME = "CUDA_VISIBLE_DEVICES"
_IDENTIFIER = Pattern(r"(?:GPU|MIG)-[0-9A-Za-z/-]+")


@rule(ERROR, subject=_NAME, expected="not set, or GPUs that exist")
def visible_devices(facts: Facts, target: Target) -> Findings:
    """CUDA_VISIBLE_DEVICES hides the GPUs, or names some that do not exist.

    Why: an empty value or -1 hides all GPUs. CUDA reads the list up to the first entry that is not a GPU, and
    ignores the rest; brackets, quotes and words like "all" are no GPUs. Training then runs on the CPU, or on
    fewer GPUs, without a word.
    Fix: unset it, or name GPUs that exist.
    Source: https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    """
    variables, gpus = need(facts.variables), known(facts.gpus)
    value = variables.get(_NAME)
    if value is None or any(hole in value for hole in "${<"):  # as a script wrote it, not as it was set
        return
    if target.is_cpu and target.name != "none":
        return
    unsure = facts.origin.kind == "pasted" and _only_named(gpus)
    present = None if gpus is None or unsure else gpus.number or None
    seen, refused = _read(value, present)
    if refused is None and seen:
        if present and 0 < seen < present:
            yield _finding(value, f"{seen} of {present} GPUs are visible", NOTE, "no-effect")
        return
    if seen:
        text = f"{refused!r} is not a GPU here: only the {seen} before it are used"
        yield _finding(value, text, WARNING, "config-mismatch")
    elif refused in (None, "-1"):
        gone = bool(gpus and gpus.devices) or not target.is_cpu
        yield _finding(value, "it hides every GPU", None if gone else NOTE, "gpu-not-visible")
    else:
        yield _finding(value, f"{refused!r} is not a GPU here, so none is visible", None, "gpu-not-visible")


def _only_named(gpus: Gpus | None) -> bool:
    """Is it one GPU of which nothing but its name is told? Which GPU somebody has does not say how many there are."""
    if gpus is None or gpus.count is not None or len(gpus.devices) != 1:
        return False
    (gpu,) = gpus.devices
    return gpu.memory is None and gpu.identity is None and gpu.utilization is None


def _read(value: str, present: int | None) -> tuple[int, str | None]:
    """How many GPUs CUDA takes from the list, and the entry at which it stops."""
    seen = 0
    for entry in (part.strip() for part in value.split(",")):
        if not entry:
            return seen, None if not value.strip() else entry
        exists = _IDENTIFIER.fullmatch(entry) or (entry.isdigit() and (present is None or int(entry) < present))
        if not exists:
            return seen, entry
        seen += 1
    return seen, None


def _finding(value: str, text: str, severity: Severity | None, kind: Kind) -> Finding:
    return finding(
        actual=value or "empty",
        kind=kind,
        severity=severity,
        message=f"{_NAME}={value!r}: {text}.",
        fix=Remedy(text="Unset it, or name GPUs that exist.", commands=(f"unset {_NAME}", "nvidia-smi -L")),
        explains=("gpu/", "torch/cuda-unavailable", "driver/") if severity is None else (),
    )
