from envdoctor.knowledge.questions import installed, line_of
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, finding, known, need, remedies, rule

_WHEEL = Pattern(r"nvidia-([a-z]+(?:-[a-z]+)*)-cu(\d\d)")
_SAME_FILES = frozenset({"cudnn", "nccl", "cusparselt", "nvshmem"})
"""Libraries whose files bear the same name on every CUDA line: libcudnn.so.9, libnccl.so.2, libcusparseLt.so.0."""

_EXPLAINED = ("torch/cudnn", "torch/cuda-libraries", "torch/cuda-error", "torch/import-fails")


@rule(ERROR, kind="cuda-libraries-mixed", subject="nvidia wheels")
def cuda_wheels(facts: Facts) -> Findings:
    """NVIDIA's library wheels of several CUDA lines are installed together.

    Why: nvidia-cudnn-cu12 and nvidia-cudnn-cu13 write the same files (so do NCCL, cuSPARSELt and NVSHMEM): the
    one installed last wins, and torch of the other line loads a library built for another CUDA. Wheels whose file
    names carry the version (cuBLAS, the runtime) stand side by side and only take space.
    Fix: remove the wheels that do not belong to torch's line, then install torch again so that its own are
    complete.
    Source: https://github.com/pytorch/pytorch/blob/main/.github/scripts/generate_binary_build_matrix.py
    https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#pip-wheels
    """
    packages, torch = need(facts.packages), known(facts.torch)
    lines: dict[str, set[str]] = {}
    wheels: dict[str, list[str]] = {}
    for distribution in packages.distributions:
        if match := _WHEEL.fullmatch(distribution.name):
            lines.setdefault(match[1], set()).add(match[2])
            wheels.setdefault(match[2], []).append(distribution.name)
    version = installed.version(facts, "torch") or (torch.version if torch else None)
    line = line_of(version, torch.cuda if torch else None) if version else None
    own = line.partition(".")[0] if line else None
    others = sorted(major for major in wheels if own is not None and major != own)
    clash = sorted(library for library, majors in lines.items() if library in _SAME_FILES and len(majors) > 1)
    if not others and not clash:
        return
    works = torch is not None and bool(torch.cudnn)  # it loaded a cuDNN: the right one won
    stray = [name for major in others or sorted(wheels)[:-1] for name in sorted(wheels[major])]
    found = ", ".join(f"{len(wheels[major])} for CUDA {major}" for major in sorted(wheels))
    proof = f"{', '.join(clash)} overwrite each other" if clash else f"and torch is built for CUDA {own}"
    expected = f"wheels for CUDA {own} only" if own else "wheels of one CUDA line"
    severity = NOTE if not clash else WARNING if works else None
    message = f"NVIDIA wheels are mixed: {found}{';' if clash else ','} {proof}."
    fix = "Remove the wheels of the other line, and install torch again."
    run = tuple(
        filter(None, (remedies.uninstall(*stray), remedies.again(f"torch=={version}" if version else "torch", "")))
    )
    explains = _EXPLAINED if clash else ()
    yield finding(
        actual=found, expected=expected, severity=severity, message=message, fix=fix, run=run, explains=explains
    )
