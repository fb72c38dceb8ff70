"""NVIDIA's assembler (ptxas), which Triton calls for every kernel: whose it is, and what it does not know."""

from envdoctor.knowledge.generations import generation
from envdoctor.knowledge.questions import messages, platform_of
from envdoctor.rules.rule import Facts, Finding, Pattern, finding

_UNKNOWN = Pattern(r"Value '(?P<sm>sm_(?P<major>\d{1,2})(?P<minor>\d)[af]?)' is not defined")
_CALLED = Pattern(r"(?P<path>[^\s'\"`]{0,300}[\\/]bin[\\/]ptxas(?:-blackwell)?(?:\.exe)?)(?=[\s'\"`]|$)")
_BUNDLED = Pattern(r"[\\/]triton[\\/](?:backends|third_party|common|_C)[\\/]")


def assembler_finding(facts: Facts, said: str, triton: str | None) -> Finding:
    """The assembler refused the GPU's name, or a kernel. Which one was called the text shows where it prints its path
    (Triton's "Repro command")."""
    called = next((found for text in messages.everything(facts) if (found := _CALLED.search(text))), None)
    path = called["path"] if called else ""
    bundled = bool(_BUNDLED.search(path))
    whose = "that Triton brings" if bundled else f"that was called, {path}," if path else "that was called"
    other: tuple[str, ...] = _OTHER_ON_WINDOWS if platform_of(facts).startswith("win") else _OTHER
    if "ptxas-blackwell" in f"{said} {path}":
        other = tuple(command.replace("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH") for command in other)
    unknown = _UNKNOWN.search(said) or messages.anywhere(facts, _UNKNOWN)
    newer = "install a newer torch with its own triton" + (f", later than {triton}" if triton else "")
    if unknown is None:
        return finding(
            title="The assembler (ptxas) that Triton calls gave a kernel up",
            actual=path or "ptxas",
            message=f"The assembler (ptxas) {whose} gave a kernel up: {said.rstrip('.')}.",
            usually="it is older than the GPU, or this release of Triton and the kernel do not go together",
            fix="Let Triton use the assembler of a CUDA toolkit that knows the GPU (12.8 or later for sm_120, 12.9 or "
            f"later for sm_121), or {newer}.",
            run=other,
            explains=_EXPLAINED,
        )
    device = generation(f"{int(unknown['major'])}.{unknown['minor']}")
    least = f"CUDA {device.first_cuda} or later" if device is not None else "a CUDA that knows the GPU"
    toolkit = path and not bundled
    return finding(
        title=f"The assembler (ptxas) that Triton calls does not know this GPU ({unknown['sm']})",
        actual="the ptxas that Triton brings" if bundled else path or "ptxas",
        expected=f"the ptxas of {least}",
        message=f"The assembler (ptxas) {whose} knows no {unknown['sm']}: it is of a CUDA from before this GPU: "
        f"{unknown.string.rstrip('.')}.",
        usually="" if path else "it is the one that Triton brings, and torch with it is older than the GPU",
        fix=f"Let Triton use another assembler, of {least} (unset TRITON_PTXAS_PATH where it names this one), or "
        f"{newer}."
        if toolkit
        else f"Let Triton use the assembler of a toolkit of {least}, or {newer}.",
        run=() if toolkit else other,
        explains=_EXPLAINED,
    )


# Later releases have an assembler of its own for Blackwell (TRITON_PTXAS_BLACKWELL_PATH: triton/knobs.py of 3.6.0)
_OTHER = ("/usr/local/cuda/bin/ptxas --version", "export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas")
_OTHER_ON_WINDOWS = (r"set TRITON_PTXAS_PATH=%CUDA_PATH%\bin\ptxas.exe",)
_EXPLAINED = ("packages/conflicts torch triton", "packages/import-mismatch triton")
