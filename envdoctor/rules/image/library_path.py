from envdoctor.rules.image._contents import every
from envdoctor.rules.image._reading import ImageFile, Word, all_dockerfiles, all_services, at, require
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Pattern, rule
from envdoctor.rules.variables.library_path import is_foreign

_COMPAT = Pattern(r"/compat(?:/|$)")


@rule(ERROR, kind="cuda-libraries-mixed")
def library_path(facts: Facts) -> Findings:
    """LD_LIBRARY_PATH of the image names compatibility libraries, or another CUDA than torch's.

    Why: `cuda/compat` holds a driver library for older data-center drivers. Put first on the path it is loaded whatever
    the host's driver is: newer than that, or on a GeForce, CUDA does not start (error 803 or 804). A toolkit's `lib64`
    comes before the cuBLAS, cuDNN and NCCL that torch brings.
    Fix: leave LD_LIBRARY_PATH alone; the container toolkit finds the compatibility libraries where they are needed.
    Source: https://docs.nvidia.com/deploy/cuda-compatibility/ https://github.com/pytorch/pytorch/issues/80637
    https://github.com/NVIDIA/nvidia-container-toolkit/issues/117
    """
    require(facts)
    for file, parsed in all_dockerfiles(facts):
        word = parsed.last.environment.get("LD_LIBRARY_PATH")
        if word is not None and (found := _finding(file, word)) is not None:
            yield found
        for held in every(parsed):
            for install in held.installs:
                for wanted in install.wanted if install.tool == "apt" else ():
                    if wanted.name.startswith("cuda-compat"):
                        yield at(
                            file,
                            wanted.line,
                            severity=WARNING,
                            message=f"{wanted.name} brings a driver library of its own, which serves older data-center "
                            "drivers only.",
                            fix="Leave it out, unless the host's driver cannot be updated.",
                            instead="the same line without it",
                        )
    for file, service in all_services(facts):
        word = service.environment.get("LD_LIBRARY_PATH")
        if word is not None and (found := _finding(file, word)) is not None:
            yield found


def _finding(file: ImageFile, word: Word) -> Finding | None:
    folders = word.text.split(":")
    compat = [folder for folder in folders if _COMPAT.search(folder)]
    others = [folder for folder in folders if is_foreign(folder, None)]
    if compat:
        return at(
            file,
            word.line,
            kind="cuda-init-failed",
            message=f"LD_LIBRARY_PATH names {compat[0]}: with a newer driver, or on a GeForce, CUDA does not start.",
            fix="Remove it; the container toolkit finds these libraries where they are needed.",
            instead="no LD_LIBRARY_PATH",
        )
    if others:
        return at(
            file,
            word.line,
            severity=WARNING,
            message=f"LD_LIBRARY_PATH names {', '.join(others)}: libraries there come before torch's own.",
            fix="Remove it; torch finds its own libraries.",
            instead="no LD_LIBRARY_PATH",
        )
    return None
