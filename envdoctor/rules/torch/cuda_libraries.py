from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Pattern, Skip, anywhere, finding, known, rule
from envdoctor.rules.torch._libraries import is_environments, mapped_libraries, short

_STEMS = (
    "libcudart",
    "libcublas",
    "libcublasLt",
    "libcusparse",
    "libcusolver",
    "libcufft",
    "libcurand",
    "libnvrtc",
    "libnccl",
)
_NAME = r"lib(?:cublas|cublasLt|cusparse|cusolver|cudart|cufft|curand|nvrtc|nvJitLink|nccl)"
_SAYS = (
    Pattern(rf"{_NAME}\S*: undefined symbol:? \S+"),
    Pattern(r"undefined symbol:? \S*(?:cublas|cusparse|cusolver|nvJitLink|nccl)\w*.*"),
    Pattern(r"undefined symbol:? cuda[A-Z]\w+,? version libcudart\S+"),
    Pattern(rf"symbol \S+,? version {_NAME}\S* not defined.*"),
    Pattern(rf"symbol \S+ .{{0,30}}(?:missing|not found|absent) (?:in|from) .{{0,40}}{_NAME}.*"),
    Pattern(rf"{_NAME}\S*: version `?\S+' not found.*"),
)
_STATUS = Pattern(r"CUBLAS_STATUS_(?:INVALID_VALUE|NOT_SUPPORTED)\b.*")  # what a foreign half of cuBLAS answers


@rule(ERROR, kind="cuda-libraries-mixed", subject="CUDA libraries", expected="those installed with torch")
def cuda_libraries(facts: Facts) -> Findings:
    """CUDA libraries other than torch's own are loaded, or several versions of one.

    Why: cuBLAS, the runtime and NCCL work in pairs that belong together (libcublas with libcublasLt, cuSPARSE with
    nvJitLink). With a toolkit's folder on LD_LIBRARY_PATH one half comes from there: an undefined symbol at import,
    or wrong and slow kernels later.
    Fix: start the job without LD_LIBRARY_PATH; remove CUDA paths from the shell's start-up files or the image.
    Source: https://github.com/pytorch/pytorch/issues/111469 https://github.com/bmaltais/kohya_ss/issues/1096
    https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/bitsandbytes/diagnostics/cuda.py
    """
    said = anywhere(facts, *_SAYS) or (anywhere(facts, _STATUS) if _toolkit_on_path(facts) else None)
    libraries = [library for library in mapped_libraries(facts) if library.stem in _STEMS]
    if said is None and not libraries:
        raise Skip("which CUDA libraries are loaded is not known")
    own = [library for library in libraries if is_environments(library, facts)]
    outside = [library for library in libraries if library not in own]
    majors = {
        one.stem: {each.major for each in libraries if each.stem == one.stem and each.version} for one in libraries
    }
    several = [f"{stem} {' and '.join(sorted(found))}" for stem, found in sorted(majors.items()) if len(found) > 1]
    torch = known(facts.torch)
    works = torch is not None and torch.cuda_available
    if said is not None or several or (outside and own):
        paths = ", ".join([short(library.path) for library in outside][:4])
        yield _finding(
            said[0] if said else "", paths, "; ".join(several), severe=said is not None or bool(several) or not works
        )


def _toolkit_on_path(facts: Facts) -> bool:
    """Is a toolkit's folder on LD_LIBRARY_PATH? Its libraries are then found before torch's own."""
    path = (known(facts.variables) or {}).get("LD_LIBRARY_PATH", "")
    return any("cuda" in part.lower() and "compat" not in part for part in path.split(":"))


def _finding(said: str, outside: str, twice: str, *, severe: bool) -> Finding:
    title, usually = "", ""
    if said:
        title, usually = _REFUSED_CALL if _STATUS.search(said) else _MISSING_SYMBOL
        message = f'{title}: "{said}".'
    elif twice:
        message = f"Several versions of one CUDA library are loaded: {twice}."
    else:
        message = f"torch runs with CUDA libraries from outside its environment: {outside}."
    return finding(
        title=title,
        actual=twice or outside or said,
        severity=ERROR if severe else WARNING,
        message=message,
        usually=usually,
        fix=_FIX if said else _START,
        run=("python -m pip list | grep -i nvidia", _WITHOUT) if said else _WITHOUT,
        explains=_EXPLAINED if severe else (),
    )


_EXPLAINED = ("torch/cuda-error", "torch/import-fails", "torch/cuda-unavailable", "packages/cuda-wheels")
_WITHOUT = "env -u LD_LIBRARY_PATH python train.py"
_START = "Start the job without LD_LIBRARY_PATH; install torch again if its own libraries are incomplete."
_REFUSED_CALL = (
    "cuBLAS refuses a call, and a toolkit's folder stands on LD_LIBRARY_PATH",
    "one half of cuBLAS comes from that folder and the other is torch's own; else the call itself is wrong",
)
_MISSING_SYMBOL = (
    "A library of CUDA does not have what is asked of it",
    "two versions of it meet: a toolkit's folder on LD_LIBRARY_PATH or in the image is searched before torch's own, "
    "wheels of two CUDA lines (nvidia-nccl-cu11 beside nvidia-nccl-cu12, an older torch's that stayed) put files of "
    "one name into one folder, or one library was upgraded without the others",
)
_FIX = (
    "Start the job without LD_LIBRARY_PATH. See which nvidia packages are installed: of two lines remove all (cu11 and "
    "cu12), then install torch again with what it asks for, or make the environment anew. In an environment of conda "
    "whose torch is pip's, conda's own CUDA goes (conda remove --force cudatoolkit cuda-libraries)."
)
