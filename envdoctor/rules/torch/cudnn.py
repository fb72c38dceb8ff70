from envdoctor.knowledge.questions import circumstances, messages, torch_version, versions
from envdoctor.rules.rule import ERROR, NOTE, Facts, Finding, Findings, Pattern, Remedy, Skip, finding, known, rule
from envdoctor.rules.torch import _cudnn_release, _libraries

_SAYS = (
    Pattern(r"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"),
    Pattern(r"CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"),
    Pattern(r"(?i)cuDNN version incompatibility.*"),
    Pattern(r"libcudnn\S*\.so\S*: (?:undefined symbol:|symbol) [^\s,]+, version libcudnn\w+\.so\S*(?: not defined)?"),
    Pattern(r"Could not load library libcudnn\S*"),
    Pattern(r"libcudnn\S*: undefined symbol\S*|undefined symbol: cudnn\w+"),
    Pattern(r"libcudnn\S*: cannot open shared object file"),
    Pattern(r"Unable to load any of \{?libcudnn\S*"),
    Pattern(r"(?i)CUDNN_STATUS_VERSION_MISMATCH|cuDNN (?:library )?version mismatch"),
    Pattern(r"(?i)cuDNN\b.{0,40}(?:compiled|built) (?:against|with|for) .{0,40}(?:found|loaded|run ?time|instead).*"),
)

_EIGHT = Pattern(
    r"(?!.{0,500}(?:undefined|not defined in))(?:Could not (?:load|locate) (?:library )?)?"
    r"\w{0,12}cudnn\w{0,24}_(?:infer|train)(?:\.so\.8|64_8\.dll)\S*(?: .{0,60})?"
)
"""Parts that only cuDNN 8 has."""
_NINE = Pattern(
    r"(?i)Unable to load any of \{?libcudnn\w{0,24}\.so\.9\S*|Could not (?:load|locate) (?:library )?"
    r"\w{0,12}cudnn\w{0,24}64_9\.dll"
    r"|Could not load library libcudnn\w{0,24}\.so\.9\S{0,20} Error: .{0,60}cannot open",
)
"""What loads cuDNN's parts by itself looked for those of cuDNN 9, and found none."""

_ABSENT = Pattern(r"(?P<file>libcudnn\w*\.so(?:\.(?P<major>\d{1,2})\S*?)?): cannot open shared object file")
_WITHOUT_ITS_OWN = Pattern(
    r"libcudnn\S{0,60} Error: lib(?:cuda|nvrtc|cublas\w{0,3}|cudart)\.so[.\d]{0,12}: cannot open"
    r"|Loaded runtime CuDNN library: \d"
)
"""cuDNN is there and misses another library, or XLA's own words: packages/known-errors."""
_MXNET = Pattern(r"\bmxnet[-_]cu\d{2,3}\b")
"""A build that brings none of CUDA's libraries, so that cuDNN is one of several: packages/known-errors."""
_ONLY_NOT_LOADED = Pattern(r"SUBLIBRARY_LOADING_FAILED|^Could not load library|^Unable to load any of")
"""A part of cuDNN does not load: that another release is met is not said."""
_OF_TWO_PARTS = Pattern(r"libcudnn\S*: .{0,20}symbol:? [^\s,]+, version libcudnn")
"""One part asks another for what only its own release has."""
_OTHERS = Pattern(r"(?i)dso_loader|\b(?:jaxlib|tensorflow|stream_executor|paddle)\b")


_OF_FILES = ("torch/cuda-libraries", "torch/import-fails", "packages/")


@rule(ERROR, kind="cudnn-mismatch", subject="cuDNN")
def cudnn(facts: Facts) -> Findings:
    """Another cuDNN is loaded than the one torch was built with.

    Why: torch refuses a cuDNN older than its own ("cuDNN version incompatibility"), and cuDNN refuses sub-libraries
    of two releases in one process. A cuDNN on LD_LIBRARY_PATH or in /usr/lib is found before the wheel's own. A newer
    one of the same major version is allowed and only noted.
    Fix: empty LD_LIBRARY_PATH for the job, or remove the system's cuDNN.
    Source: https://github.com/pytorch/pytorch/blob/main/torch/backends/cudnn/__init__.py
    https://docs.nvidia.com/deeplearning/cudnn/latest/developer/core-concepts.html#sub-libraries
    https://github.com/pytorch/pytorch/issues/80637
    """
    torch, said = known(facts.torch), messages.anywhere(facts, *_SAYS)
    if (outdated := _cudnn_release.outdated_library(facts)) is not None:
        yield _outdated_for_jax(outdated)
        return
    if messages.anywhere(facts, _WITHOUT_ITS_OWN) is not None or any(map(_MXNET.search, messages.everything(facts))):
        return
    libraries = [one for one in _libraries.mapped_libraries(facts) if one.stem.startswith("libcudnn")]
    folders = sorted({library.folder for library in libraries})
    loaded = _cudnn_release.release(torch.cudnn if torch else None)
    built = _cudnn_release.release(torch.cudnn_built if torch else None)
    if said is None and len(folders) < 2 and not (loaded and built):
        raise Skip("cuDNN's versions are not reported")
    if len(folders) < 2 and (missing := _missing_part(facts, loaded)) is not None:
        yield missing
    elif said is not None or len(folders) > 1:
        where = " and ".join(map(_libraries.short, folders)) if len(folders) > 1 else ""
        outside = [_libraries.short(one.path) for one in libraries if not _libraries.is_environments(one, facts)]
        yield _mixed_libraries(said[0] if said else "", where, ", ".join(outside))
    elif loaded and built and loaded != built and (loaded[:2] != built[:2] or loaded < built):
        worse = loaded[0] != built[0] or loaded < built
        yield _older(".".join(map(str, loaded)), ".".join(map(str, built)), worse=worse)


def _missing_part(facts: Facts, loaded: tuple[int, ...]) -> Finding | None:
    """What asks for cuDNN, or for a part of it, and does not find it."""
    said, eleven = messages.anywhere(facts, *_SAYS), circumstances.ON_CUDA_11.stands(facts)
    two = said is not None and ("undefined symbol" in said.string or _OF_TWO_PARTS.search(said[0]) is not None)
    if not two and (eight := messages.anywhere(facts, _EIGHT)) and (loaded or (9,))[0] != 8:
        return _without_cudnn(facts, eight[0], "8") or _asked_for(eight[0], _EIGHTH, _STAY_AT_8 if eleven else _UPGRADE)
    absent = _ABSENT.search(said[0]) if said else None
    if absent and (not loaded or absent["major"] in (None, str(loaded[0]))):  # none of another major version
        others = messages.anywhere(facts, _OTHERS) is not None
        major = absent["major"] or ""
        return _without_cudnn(facts, absent[0], major) or _not_found(absent[0], absent["file"], major, others, eleven)
    if nine := messages.anywhere(facts, _NINE):
        old = versions.below(torch_version(facts) or "2.4", "2.4")
        return _without_cudnn(facts, nine[0], "9") or _asked_for(nine[0], _NINTH, _OLD_TORCH if old else _ITS_FOLDER)
    return _not_loaded(said[0]) if said and _ONLY_NOT_LOADED.search(said[0]) else None


def _mixed_libraries(said: str, where: str, outside: str) -> Finding:
    title, usually = _TWO, "" if where else _FOUND_FIRST
    if said and not where and "SUBLIBRARY" not in said and not _OF_TWO_PARTS.search(said):
        title = "The cuDNN that is loaded is of another release than is asked for"
        if "undefined symbol" in said:
            title = "cuDNN and what is loaded with it do not fit together"
            usually = f"{usually}, or it meets a cuBLAS of another line of CUDA than its own"
    reason = f'"{said}"' if said else f"cuDNN is loaded from {where}"
    message = f"{title}: {reason}" + (f"; {outside} comes from outside the environment." if outside else ".")
    one, fix = "one cuDNN, the one installed with torch", _WITHOUT_LIBRARY_PATH
    return finding(
        title=title, actual=where or said, expected=one, message=message, usually=usually, fix=fix, explains=_OF_BOTH
    )


_OF_BOTH = ("torch/cuda-error", *_OF_FILES)
_TWO = "Two releases of cuDNN meet in one process"
_FOUND_FIRST = (
    "another cuDNN than the one that came with it is found first (LD_LIBRARY_PATH, the system's, conda's), or the "
    "package nvidia-cudnn was changed without torch"
)
_COMMAND = "env -u LD_LIBRARY_PATH python train.py"
_WITHOUT_LIBRARY_PATH = Remedy(
    text="Start the job without LD_LIBRARY_PATH, so that torch finds the cuDNN installed with it.", commands=(_COMMAND,)
)


def _older(loaded: str, built: str, *, worse: bool) -> Finding:
    refused = ": torch refuses it." if worse else "; that is allowed, but not what was tested."
    message = f"cuDNN {loaded} is loaded, torch was built with {built}{refused}"
    later, severity = f"{built} or a later {built.partition('.')[0]}.x", ERROR if worse else NOTE
    follows, fix = ("torch/cuda-error", "torch/cuda-libraries") if worse else (), _WITHOUT_LIBRARY_PATH
    return finding(actual=loaded, expected=later, severity=severity, message=message, fix=fix, explains=follows)


def _not_loaded(said: str) -> Finding:
    title, whole = "A part of cuDNN does not load", "one cuDNN, whole, the one installed with what asks for it"
    message, why = f'cuDNN is there, and a part of it does not load: "{said}".', _FOUND_FIRST_FOR_IT
    return finding(
        title=title, actual=said, expected=whole, message=message, usually=why, fix=_LACKS, explains=_OF_BOTH
    )


_FOUND_FIRST_FOR_IT = (
    "another cuDNN (LD_LIBRARY_PATH, the system's or conda's) is found first for that part, the installation is not "
    "whole, or the part misses a library of CUDA (libcublas, libnvrtc) of its own line"
)
_LACKS = Remedy(
    text="Start the job without LD_LIBRARY_PATH; where that does not help, install torch and its nvidia-cudnn package "
    "again, and see what the part lacks.",
    commands=(_COMMAND, "ldconfig -p | grep cudnn", "python -m pip list"),
)


def _outdated_for_jax(library: _cudnn_release.OutdatedLibrary) -> Finding:
    name, have, least = library
    title, have = f"{name} is too old for this JAX", f"{name} {have}" if have else f"an older {name}"
    message = (
        f"The {name} that JAX finds{f' ({library.have})' if library.have else ''} is too old for this JAX, which needs "
        f"{least} or later: its CUDA backend does not start."
    )
    return finding(
        subject=name,
        title=title,
        actual=have,
        expected=f"{name} {least} or later",
        message=message,
        usually=f"another package pinned or brought the old one (torch, conda's {name.lower()}), or LD_LIBRARY_PATH "
        "leads to the system's",
        fix=_newer_for_jax(name, least),
        explains=("packages/known-errors", "torch/cuda-libraries"),
    )


def _newer_for_jax(name: str, least: str) -> Remedy:
    return Remedy(
        text=f"Install a {name} of at least {least}, for its line of CUDA, into the environment, or JAX with its own "
        "(the extra cuda12 or cuda13 for pip), or take the JAX that goes with the old one; start without "
        "LD_LIBRARY_PATH.",
        commands=("env -u LD_LIBRARY_PATH python -c 'import jax; print(jax.devices())'",),
    )


_NOT_THERE = "cuDNN is asked for and not found"


def _without_cudnn(facts: Facts, said: str, major: str) -> Finding | None:
    image, which = _cudnn_release.image_without_cudnn(facts, major), f"cuDNN {major}".rstrip()
    if image is None:
        return None
    message = (
        f"{which} is looked for and not found, and the image that the text names, {image.name}, holds none as it is "
        "published: of NVIDIA's images of CUDA only those with cudnn in their tag do (base lacks cuBLAS as well): "
        f'"{said}".'
    )
    return finding(
        title=_NOT_THERE,
        actual=f"{said[:80]}, in an image without cuDNN",
        expected=which,
        message=message,
        fix=_take_with_cudnn(image),
        explains=_OF_FILES,
        source="https://hub.docker.com/r/nvidia/cuda https://github.com/SYSTRAN/faster-whisper#gpu",
    )


def _take_with_cudnn(image: _cudnn_release.ImageWithoutCudnn) -> Remedy:
    return Remedy(
        text=f"Take the image with cuDNN ({image.with_cudnn}, or -devel-: those up to CUDA 12.2 hold cuDNN 8, from "
        f"12.4 on cuDNN 9), or install it in the image ({image.wheel} with its folder lib on LD_LIBRARY_PATH, or the "
        f"system's package). CTranslate2 (faster-whisper) {image.ctranslate2}",
        commands=("ldconfig -p | grep -E 'cudnn|cublas'",),
    )


def _not_found(said: str, file: str, major: str, others: bool, eleven: bool) -> Finding:
    which = f"cuDNN {major}".rstrip()
    asker = " by what asks for it, which is not torch" if others else ""
    other = " Another major version of it does not serve." if major else ""
    message = f'{which} is looked for and not found{asker}: "{said}".{other}'
    text = _BY_WHAT_ASKS.format(which) + ("" if others else _BY_TORCH)
    fix = Remedy(text=text, commands=("ldconfig -p | grep cudnn", _wheel("cu11" if eleven else "cu12", major)))
    gone = f"{file} not found"
    return finding(title=_NOT_THERE, actual=gone, expected=which, message=message, fix=fix, explains=_OF_FILES)


_BY_WHAT_ASKS = (
    "Install {} for the CUDA line of what asks for it (a wheel nvidia-cudnn-cu11, -cu12 or -cu13, conda, or the "
    "system's package), put its folder on LD_LIBRARY_PATH where that runs (on every machine), or take a release that "
    "was built for the cuDNN that is here."
)
_BY_TORCH = " torch brings its own: install torch again if it is the one that asks."


_FIRST_WHEEL = 8  # of NVIDIA's packages of cuDNN on PyPI


def _wheel(line: str, major: str) -> str:
    if major and int(major) < _FIRST_WHEEL:
        return f"conda install -c conda-forge 'cudnn={major}.*'"
    return f"python -m pip install 'nvidia-cudnn-{line}{f'=={major}.*' if major else ''}'"


def _asked_for(said: str, part: tuple[str, str, str, str, str], fix: Remedy) -> Finding:
    title, need, message, usually, url = part
    message, files = f"{message}: {said}.", ("torch/cuda-libraries", "packages/")
    return finding(
        title=title, actual=said, expected=need, message=message, usually=usually, fix=fix, explains=files, source=url
    )


_EIGHTH = (
    "A part of cuDNN 8 is asked for and does not load",
    "cuDNN 8, or what asks for 9",
    "What was started asks for a part of cuDNN 8, which does not load",
    "it is a library that was built with cuDNN 8 (faster-whisper's CTranslate2 before 4.5, onnxruntime-gpu before "
    "1.18.1, an old torch or TensorFlow), and cuDNN 8 is here where the loader does not look (torch's folder lib, "
    "nvidia/cudnn/lib of site-packages), only cuDNN 9 is here, or none is",
    "https://github.com/SYSTRAN/faster-whisper#gpu",
)
_EIGHT_HERE = 'find "$(python -c "import site; print(site.getsitepackages()[0])")" -name "libcudnn_ops_infer.so.8*"'
"""torch's wheels before 2.4 bring one, in torch/lib or in nvidia/cudnn/lib, for torch alone."""
_UPGRADE = Remedy(
    text="Where a libcudnn_ops_infer.so.8 is there already (below), put its folder on LD_LIBRARY_PATH before Python "
    "starts. Else upgrade what asks for it to a release for cuDNN 9, which torch brings from 2.4 on; to stay, install "
    "nvidia-cudnn-cu12<9 (of CUDA 11: nvidia-cudnn-cu11<9) and put its folder lib on LD_LIBRARY_PATH.",
    commands=(
        _EIGHT_HERE,
        "python -m pip install --upgrade ctranslate2 faster-whisper",
    ),
)
_STAY_AT_8 = Remedy(  # releases for cuDNN 9 want CUDA 12
    text="Where a libcudnn_ops_infer.so.8 is there already (below), put its folder on LD_LIBRARY_PATH before Python "
    "starts. Else install cuDNN 8 for CUDA 11 (nvidia-cudnn-cu11<9, or the system's libcudnn8) and put its folder lib "
    "there; CTranslate2 for CUDA 11 is 3.24.0 and before. Or bring all to CUDA 12: releases that ask for "
    "cuDNN 9 need it, and a driver for it.",
    commands=(_EIGHT_HERE, "ldconfig -p | grep cudnn", "python -m pip install 'nvidia-cudnn-cu11<9'"),
)
_NINTH = (
    "Parts of cuDNN 9 are asked for and not found",
    "cuDNN 9 where it looks",
    "What was started asks for parts of cuDNN 9 and does not find them",
    "it is a library that was built with cuDNN 9 (faster-whisper's CTranslate2 from 4.5, onnxruntime-gpu from 1.18.1), "
    "and only cuDNN 8 is here, or its folder is not on the path of libraries",
    "https://github.com/OpenNMT/CTranslate2/releases/tag/v4.5.0",
)
_OLD_TORCH = Remedy(
    text="torch before 2.4 brings cuDNN 8: take torch 2.4 or later, or a release for cuDNN 8 (ctranslate2 4.4.0).",
    commands=("python -m pip install 'ctranslate2==4.4.0'",),
)
_ITS_FOLDER = Remedy(
    text="Put the folder of nvidia-cudnn-cu12 on the path of libraries before Python starts; where torch is older than "
    "2.4, which brings cuDNN 8, take a newer torch, or ctranslate2 4.4.0.",
    commands=(
        "python -m pip install --upgrade 'nvidia-cudnn-cu12>=9'",
        "export LD_LIBRARY_PATH=$(python -c 'import nvidia.cudnn; print(nvidia.cudnn.__path__[0])')/lib",
    ),
)
