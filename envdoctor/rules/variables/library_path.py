from envdoctor.facts.model import Interpreter, Unavailable
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Remedy, finding, known, need, rule

_CUDA = Pattern(r"(?i)cuda|cudnn|nvidia/(?!lib)|nccl")
_CLASH = Pattern(r"(?i)undefined symbol|version `?\S+'? not found|cannot open shared object|lib(?:cu|nccl)")
# Where container runtimes mount the driver: that is meant to be found there.
_DRIVER = Pattern(r"/usr/local/nvidia/lib(?:64)?/?$|/usr/lib/wsl/lib|/compat(?:/|$)|/stubs")


@rule(WARNING, subject="LD_LIBRARY_PATH", expected="not set, or without CUDA folders")
def library_path(facts: Facts) -> Findings:
    """LD_LIBRARY_PATH puts other CUDA libraries before torch's own.

    Why: torch's wheels bring their cuBLAS, cuDNN and NCCL and find them beside themselves; LD_LIBRARY_PATH is
    searched before that. An older library there is loaded instead: imports fail, versions disagree, or kernels
    are slower ones.
    Fix: unset it for the run; neither torch nor the driver needs it.
    Source: https://github.com/pytorch/pytorch/issues/80637 https://github.com/bmaltais/kohya_ss/issues/1096
    https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    value = need(facts.variables).get("LD_LIBRARY_PATH")
    interpreter, torch = known(facts.interpreter), known(facts.torch)
    foreign = [folder for folder in (value or "").split(":") if is_foreign(folder, interpreter)]
    if not foreign or (torch and torch.cuda == ""):
        return
    loaded = [path for path in (torch.libraries if torch else ()) if any(path.startswith(f) for f in foreign)]
    failed = isinstance(facts.torch, Unavailable) and _CLASH.search(facts.torch.reason) is not None
    blamed = bool(loaded) or failed
    if loaded:
        effect = f"torch loaded {', '.join(loaded[:3])} from there"
    else:
        effect = "torch's import failed on a library" if failed else "libraries there come before torch's own"
    # Set but without effect is worth knowing only: images for development set it, and torch's RPATH often wins.
    yield finding(
        kind="cudnn-mismatch" if any("libcudnn" in path for path in loaded) else "cuda-libraries-mixed",
        actual=value or "",
        message=f"LD_LIBRARY_PATH names {', '.join(foreign)}; {effect}.",
        fix=_UNSET,
        severity=ERROR if failed else None if loaded else NOTE,
        explains=("torch/cudnn", "torch/cuda-libraries", "torch/cuda-error", "torch/import-fails") if blamed else (),
    )


_UNSET = Remedy(
    text="Unset it for the run.",
    commands=("env -u LD_LIBRARY_PATH python train.py",),
    instead=("unset LD_LIBRARY_PATH",),
)


def is_foreign(folder: str, interpreter: Interpreter | None) -> bool:
    """Does a folder of LD_LIBRARY_PATH hold CUDA libraries that are neither the driver's nor the environment's own?"""
    if not folder or _DRIVER.search(folder) or not _CUDA.search(folder):
        return False
    own = [path for path in ((interpreter.prefix, *interpreter.site_packages) if interpreter else ()) if path]
    return not any(folder.startswith(path) for path in own)
