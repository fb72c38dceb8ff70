from envdoctor.rules.image._reading import ImageFile, Word, apt_packages, at, compat_folders, cuda_folders, environments
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, rule


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
    for file, environment in environments(facts):
        word = environment.get("LD_LIBRARY_PATH")
        if word is not None and (found := _finding(file, word)) is not None:
            yield found
        for package in apt_packages(file) if file.kind == "dockerfile" else ():
            if package.name.startswith("cuda-compat"):
                yield at(
                    file,
                    package.line,
                    severity=WARNING,
                    message=f"{package.name} brings a driver library of its own, which serves older data-center "
                    "drivers only.",
                    fix="Leave it out, unless the host's driver cannot be updated.",
                    instead="the same line without it",
                )


def _finding(file: ImageFile, word: Word) -> Finding | None:
    compat, others = compat_folders(word.text), cuda_folders(word.text)
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
