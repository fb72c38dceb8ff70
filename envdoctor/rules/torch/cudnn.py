from envdoctor.knowledge.circumstances import IMAGE_WITHOUT_CUDNN, ON_CUDA_11
from envdoctor.knowledge.questions import Numbers, anywhere, messages, numbers, torch_version, versions
from envdoctor.rules.finding import Finding, Remedy, Severity
from envdoctor.rules.rule import ERROR, NOTE, Facts, Findings, Match, Pattern, Skip, finding, known, rule
from envdoctor.rules.torch._libraries import is_environments, mapped_libraries, short

_SAYS = (
    Pattern(r"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"),
    Pattern(r"CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"),
    Pattern(r"(?i)cuDNN version incompatibility.*"),
    Pattern(r"Could not load library libcudnn\S*"),
    Pattern(r"libcudnn\S*: undefined symbol\S*|undefined symbol: cudnn\w+"),
    Pattern(r"libcudnn\S*: cannot open shared object file"),
    Pattern(r"Unable to load any of \{?libcudnn\S*"),
    Pattern(r"(?i)CUDNN_STATUS_VERSION_MISMATCH|cuDNN (?:library )?version mismatch"),
    Pattern(r"(?i)cuDNN\b.{0,40}(?:compiled|built) (?:against|with|for) .{0,40}(?:found|loaded|run ?time|instead).*"),
)

_EIGHT = Pattern(
    r"(?!.{0,300}undefined)(?:Could not (?:load|locate) (?:library )?)?\w{0,12}cudnn\w{0,24}_(?:infer|train)"
    r"(?:\.so\.8|64_8\.dll)\S*(?: .{0,60})?"
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
    r"libcudnn\S{0,60} Error: lib(?:cuda|nvrtc)\.so: cannot open|Loaded runtime CuDNN library: \d"
)
"""cuDNN 8 is there and misses another library under its short name, or XLA's own words: packages/known-errors."""
_ONLY_NOT_LOADED = Pattern(r"SUBLIBRARY_LOADING_FAILED|^Could not load library|^Unable to load any of")
"""A part of cuDNN does not load: that another release is met is not said."""
_OTHERS = Pattern(r"(?i)dso_loader|\b(?:jaxlib|tensorflow|stream_executor|paddle)\b")


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
    torch = known(facts.torch)
    said = anywhere(facts, *_SAYS)
    if (outdated := _older_library(facts)) is not None:
        yield outdated
        return
    if anywhere(facts, _WITHOUT_ITS_OWN) is not None:
        return
    libraries = [library for library in mapped_libraries(facts) if library.stem.startswith("libcudnn")]
    folders = sorted({library.folder for library in libraries})
    loaded, built = _number(torch.cudnn if torch else None), _number(torch.cudnn_built if torch else None)
    if said is None and len(folders) < 2 and not (loaded and built):
        raise Skip("cuDNN's versions are not reported")
    two = said is not None and "undefined symbol" in said.string
    if len(folders) < 2 and not two and (eight := anywhere(facts, _EIGHT)) and (loaded or (9,))[0] != 8:
        yield _without_cudnn(facts, eight, "8") or _eight_missing(eight, ON_CUDA_11.stands(facts))
    elif said is not None and len(folders) < 2 and (absent := _ABSENT.search(said[0])) and _may_miss(absent, loaded):
        without = _without_cudnn(facts, absent, absent["major"] or "")
        yield without or _not_found(absent, anywhere(facts, _OTHERS) is not None, ON_CUDA_11.stands(facts))
    elif len(folders) < 2 and (nine := anywhere(facts, _NINE)) is not None:
        yield _without_cudnn(facts, nine, "9") or _nine_missing(nine, torch_version(facts))
    elif said is not None and len(folders) < 2 and _ONLY_NOT_LOADED.search(said[0]):
        yield _not_loaded(said)
    elif said is not None or len(folders) > 1:
        outside = [library.path for library in libraries if not is_environments(library, facts)]
        yield _mixed_libraries(said, [short(folder) for folder in folders], [short(path) for path in outside])
    elif loaded and built and (loaded[0] != built[0] or loaded < built):
        spelled = tuple(".".join(map(str, version)) for version in (loaded, built))
        yield _older(spelled[0], spelled[1], ERROR)
    elif loaded and built and loaded[:2] != built[:2]:
        spelled = tuple(".".join(map(str, version)) for version in (loaded, built))
        yield _older(spelled[0], spelled[1], NOTE)


def _may_miss(absent: Match[str], loaded: Numbers) -> bool:
    """Is the file that is not found none of another major version than the one that torch has?"""
    return not loaded or absent["major"] in (None, str(loaded[0]))


def _number(text: str | None) -> Numbers:
    """``"9.10.2"``, or cuDNN's integer as torch reports it: 91002 is 9.10.2, 8902 is 8.9.2."""
    parts = numbers(text)
    if len(parts) != 1:
        return parts[:3]
    code = parts[0]
    if code >= 90000:
        return code // 10000, code % 10000 // 100, code % 100
    return (code // 1000, code % 1000 // 100, code % 100) if code >= 1000 else ()


_NOT_THERE = "cuDNN is asked for and not found"
_TWO = "Two releases of cuDNN meet in one process"
_FOUND_FIRST = (
    "another cuDNN than torch's own is found first (LD_LIBRARY_PATH, the system's, conda's), or the package "
    "nvidia-cudnn was changed without torch"
)


def _mixed_libraries(said: Match[str] | None, folders: list[str], outside: list[str]) -> Finding:
    where = " and ".join(folders) if len(folders) > 1 else ""
    reason = f'"{said[0]}"' if said else f"cuDNN is loaded from {where}"
    one = said is not None and not where and "SUBLIBRARY" not in said[0]
    told = "The cuDNN that is loaded is of another release than is asked for" if one else _TWO
    usually = _FOUND_FIRST if said is not None and not where else ""
    if one and said is not None and "undefined symbol" in said[0]:
        told = "cuDNN and what is loaded with it do not fit together"
        usually = f"{usually}, or it meets a cuBLAS of another line of CUDA than its own"
    return finding(
        title=told,
        actual=where or (said[0] if said else "two releases"),
        expected="one cuDNN, the one installed with torch",
        message=f"{told}: {reason}"
        + (f"; {', '.join(outside)} comes from outside the environment." if outside else "."),
        usually=usually,
        fix=_remedy(),
        explains=("torch/cuda-error", "torch/cuda-libraries", "torch/import-fails", "packages/"),
    )


def _not_loaded(said: Match[str]) -> Finding:
    return finding(
        actual=said[0],
        title="A part of cuDNN does not load",
        expected="one cuDNN, whole, the one installed with what asks for it",
        message=f'cuDNN is there, and a part of it does not load: "{said[0]}".',
        usually="another cuDNN (LD_LIBRARY_PATH, the system's or conda's) is found first for that part, the "
        "installation is not whole, or the part misses a library of CUDA (libcublas, libnvrtc) of its own line",
        fix=Remedy(
            text="Start the job without LD_LIBRARY_PATH; where that does not help, install torch and its "
            "nvidia-cudnn package again, and see what the part lacks.",
            commands=("env -u LD_LIBRARY_PATH python train.py", "ldconfig -p | grep cudnn", "python -m pip list"),
        ),
        explains=("torch/cuda-error", "torch/cuda-libraries", "torch/import-fails", "packages/"),
    )


_OUTDATED = Pattern(r"(?i)Outdated (?P<library>\w{3,20}) installation")
_INSTALLED = Pattern(r"^Installed version: (?P<have>\d{3,7})")
_BUILT_AGAINST = Pattern(r"Version JAX was built against: (?P<built>\d{3,7})")


def _older_library(facts: Facts) -> Finding | None:
    """JAX compares the libraries of CUDA that it finds with the ones that it needs, and prints both as numbers."""
    needed = facts.remarks.get("Minimum supported", "")
    said = next((found for text in messages.everything(facts) if (found := _OUTDATED.search(text))), None)
    built = anywhere(facts, _BUILT_AGAINST)
    if said is None or (built is None and not needed):
        return None
    library = said["library"]
    have = next((one["have"] for text in messages.everything(facts) if (one := _INSTALLED.search(text))), "")
    as_shown = _as_release if library.lower() == "cudnn" else str
    least = as_shown(needed) if needed else as_shown(built["built"]) if built else ""
    return finding(
        subject=library,
        title=f"{library} is too old for this JAX",
        actual=f"{library} {as_shown(have)}" if have else f"an older {library}",
        expected=f"{library} {least} or later",
        message=f"The {library} that JAX finds{f' ({as_shown(have)})' if have else ''} is too old for this JAX, which "
        f"needs {least} or later: its CUDA backend does not start.",
        usually=f"another package pinned or brought the old one (torch, conda's {library.lower()}), or LD_LIBRARY_PATH "
        "leads to the system's",
        fix=f"Install a {library} of at least {least}, for its line of CUDA, into the environment, or "
        "JAX with its own (the extra cuda12 or cuda13 for pip), or take the JAX that goes with the old one; start "
        "without LD_LIBRARY_PATH.",
        run=("env -u LD_LIBRARY_PATH python -c 'import jax; print(jax.devices())'",),
        explains=("packages/known-errors", "torch/cuda-libraries"),
    )


def _as_release(number: str) -> str:
    return ".".join(map(str, _number(number))) or number


def _without_cudnn(facts: Facts, said: Match[str], major: str) -> Finding | None:
    """The image that the text names is one of CUDA alone."""
    if not IMAGE_WITHOUT_CUDNN.stands(facts) or torch_version(facts) is not None:
        return None  # torch's wheels bring a cuDNN of their own
    image = next(found for text in messages.everything(facts) if (found := IMAGE_WITHOUT_CUDNN.said.search(text)))
    cuda, system = image["cuda"], image["rest"].partition("-")[2] or "ubuntu22.04"
    part = {"8": "cudnn8", "9": "cudnn"}.get(major, "cudnn8" if cuda.startswith("11.") else "cudnn")
    if part == "cudnn8" and versions.at_least(cuda, "12.3"):
        cuda, system = "12.2.2", "ubuntu22.04"  # the last with cuDNN 8
    elif part == "cudnn" and versions.below(cuda, "12.4"):
        cuda, system = "12.4.1", "ubuntu22.04"  # the first with cuDNN 9 under this name
    tag = f"nvidia/cuda:{cuda}-{part}-runtime-{system}"
    eleven = image["cuda"].startswith("11.")
    which = f"cuDNN {major}".rstrip()
    by_pip = f"nvidia-cudnn-cu{image['cuda'].partition('.')[0]}{f'=={major}.*' if major else ''}"
    suits = (
        " CTranslate2 (faster-whisper) for CUDA 11 is 3.24.0 and before: later releases are for CUDA 12."
        if eleven
        else " CTranslate2 (faster-whisper) up to 4.4.0 asks for cuDNN 8, from 4.5 on for 9."
    )
    return finding(
        title=_NOT_THERE,
        actual=f"{said[0][:80]}, in an image without cuDNN",
        expected=which,
        message=f"{which} is looked for and not found, and the image that the text names, {image[0]}, holds "
        f"none as it is published: of NVIDIA's images of CUDA only those with cudnn in their tag do (base lacks cuBLAS "
        f'as well): "{said[0]}".',
        fix=Remedy(
            text=f"Take the image with cuDNN ({tag}, or -devel-: those up to CUDA 12.2 hold cuDNN 8, from 12.4 on "
            f"cuDNN 9), or install it in the image ({by_pip} with its folder lib on LD_LIBRARY_PATH, or the system's "
            f"package).{suits}",
            commands=("ldconfig -p | grep -E 'cudnn|cublas'",),
        ),
        explains=("torch/cuda-libraries", "torch/import-fails", "packages/"),
        source="https://hub.docker.com/r/nvidia/cuda https://github.com/SYSTRAN/faster-whisper#gpu",
    )


def _not_found(said: Match[str], others: bool, eleven: bool) -> Finding:
    major = said["major"]
    which = f"cuDNN {major}" if major else "cuDNN"
    return finding(
        title=_NOT_THERE,
        actual=f"{said['file']} not found",
        expected=which,
        message=f"{which} is looked for and not found"
        + (" by what asks for it, which is not torch" if others else "")
        + f': "{said[0]}".'
        + (" Another major version of it does not serve." if major else ""),
        fix=f"Install {which} for the CUDA line of what asks for it (a wheel nvidia-cudnn-cu11, -cu12 or -cu13, "
        "conda, or the system's package), put its folder on LD_LIBRARY_PATH where that runs (on every machine), or "
        "take a release that was built for the cuDNN that is here."
        + ("" if others else " torch brings its own: install torch again if it is the one that asks."),
        run=(
            "ldconfig -p | grep cudnn",
            f"python -m pip install 'nvidia-cudnn-{'cu11' if eleven else 'cu12'}{f'=={major}.*' if major else ''}'",
        ),
        explains=("torch/cuda-libraries", "torch/import-fails", "packages/"),
    )


def _eight_missing(said: Match[str], eleven: bool) -> Finding:
    """Releases for cuDNN 9 want CUDA 12: on CUDA 11 the remedy is a cuDNN 8 for it."""
    text = (
        "Upgrade what asks for it to a release for cuDNN 9, which torch brings from 2.4 on; to stay, install "
        "nvidia-cudnn-cu12<9 and put its folder lib on LD_LIBRARY_PATH."
    )
    commands: tuple[str, ...] = ("python -m pip install --upgrade ctranslate2 faster-whisper",)
    if eleven:
        text = (
            "Install cuDNN 8 for CUDA 11 (nvidia-cudnn-cu11<9, or the system's libcudnn8) and put its folder lib on "
            "LD_LIBRARY_PATH; CTranslate2 for CUDA 11 is 3.24.0 and before. Or bring all to CUDA 12: releases that ask "
            "for cuDNN 9 need it, and a driver for it."
        )
        commands = ("ldconfig -p | grep cudnn", "python -m pip install 'nvidia-cudnn-cu11<9'")
    return finding(
        actual=said[0],
        title="A part of cuDNN 8 is asked for and does not load",
        expected="cuDNN 8, or what asks for 9",
        message=f"What was started asks for a part of cuDNN 8, which does not load: {said[0]}.",
        usually="it is a library that was built with cuDNN 8 (faster-whisper's CTranslate2 before 4.5, onnxruntime-gpu "
        "before 1.18.1, an old torch or TensorFlow), and only cuDNN 9 is here, or none",
        fix=Remedy(text=text, commands=commands),
        explains=("torch/cuda-libraries", "packages/"),
        source="https://github.com/SYSTRAN/faster-whisper#gpu",
    )


def _nine_missing(said: Match[str], torch: str | None) -> Finding:
    old = torch is not None and versions.below(torch, "2.4")
    after = (
        "torch before 2.4 brings cuDNN 8: take torch 2.4 or later, or a release for cuDNN 8 (ctranslate2 4.4.0)."
        if old
        else "Put the folder of nvidia-cudnn-cu12 on the path of libraries before Python starts; where torch is older "
        "than 2.4, which brings cuDNN 8, take a newer torch, or ctranslate2 4.4.0."
    )
    commands = (
        "python -m pip install 'ctranslate2==4.4.0'"
        if old
        else "python -m pip install --upgrade 'nvidia-cudnn-cu12>=9'",
        "" if old else "export LD_LIBRARY_PATH=$(python -c 'import nvidia.cudnn; print(nvidia.cudnn.__path__[0])')/lib",
    )
    return finding(
        actual=said[0],
        title="Parts of cuDNN 9 are asked for and not found",
        expected="cuDNN 9 where it looks",
        message=f"What was started asks for parts of cuDNN 9 and does not find them: {said[0]}.",
        usually="it is a library that was built with cuDNN 9 (faster-whisper's CTranslate2 from 4.5, onnxruntime-gpu "
        "from 1.18.1), and only cuDNN 8 is here, or its folder is not on the path of libraries",
        fix=Remedy(text=after, commands=tuple(filter(None, commands))),
        explains=("torch/cuda-libraries", "packages/"),
        source="https://github.com/OpenNMT/CTranslate2/releases/tag/v4.5.0",
    )


def _older(loaded: str, built: str, severity: Severity) -> Finding:
    worse = severity is ERROR
    return finding(
        actual=loaded,
        expected=f"{built} or a later {built.partition('.')[0]}.x",
        severity=severity,
        message=f"cuDNN {loaded} is loaded, torch was built with {built}"
        + (": torch refuses it." if worse else "; that is allowed, but not what was tested."),
        fix=_remedy(),
        explains=("torch/cuda-error", "torch/cuda-libraries") if worse else (),
    )


def _remedy() -> Remedy:
    return Remedy(
        text="Start the job without LD_LIBRARY_PATH, so that torch finds the cuDNN installed with it.",
        commands=("env -u LD_LIBRARY_PATH python train.py",),
    )
