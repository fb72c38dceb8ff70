"""Which build of a compiled extension goes with the torch that is here, and how to get it."""

from envdoctor.knowledge.questions import extensions, is_label, pairs, versions
from envdoctor.rules.rule import remedies, shell

_PINS_TORCH = frozenset("flashinfer-python lmdeploy sgl-kernel sglang tensorrt-llm torch-tensorrt vllm".split())
_SOURCES = {  # what no package index has: the name alone installs nothing, or a stranger (PyPI's apex)
    "apex": "git+https://github.com/NVIDIA/apex.git",
    "detectron2": "git+https://github.com/facebookresearch/detectron2.git",
    "pytorch3d": "git+https://github.com/facebookresearch/pytorch3d.git",
    # which lie within the repositories that use them, each with its own
    "diff-gaussian-rasterization": "./submodules/diff-gaussian-rasterization",
    "simple-knn": "./submodules/simple-knn",
}
_CLEAN = (
    " Before building from a source tree delete its folder build and its .so files, which otherwise are used again."
)


def after_cleaning(name: str, advice: tuple[str, ...]) -> tuple[str, ...]:
    """The advice for what is compiled anew: what is left of an earlier build would be used again."""
    return advice if name in _PINS_TORCH else (advice[0] + _CLEAN, *advice[1:])


def advice(name: str, version: str | None, torch: str | None) -> tuple[str, ...]:
    """A sentence, what to install, and what to type instead.

    To install is the release made for this torch where a table names it; what is compiled at home is compiled again,
    where torch is seen; and what pins torch brings its own.
    """
    exact = name if version is None else f"{name}=={versions.public(version)}"
    if name in ("mmcv", "mmcv-full"):
        old = torch is not None and versions.below(torch, "2.0")
        text = (
            "Take the wheel made for this torch and CUDA from OpenMMLab's own index, which mim (python -m pip install "
            "openmim) finds; mmdetection and the others of before 2023 want mmcv-full 1.x, those since then mmcv 2.x. "
            "Remove mmcv and mmcv-full first: the two lie in one folder."
        )
        return text, f"mim install {'mmcv-full' if old else 'mmcv'}", "python -m pip uninstall -y mmcv mmcv-full"
    if name not in extensions.BUILT_AT_HOME and "torch" in (versions.label(version or "") or ""):
        text = (
            f"Take the file of {name} that is named for this torch, its CUDA and this Python from its project's own "
            "releases (no index has them), or the torch that the present file is named for, of the build that the "
            "project names: PyTorch's own of one release differ in their C++ ABI (2.6 with cu126 has the new one)."
        )
        return text, remedies.uninstall(name)
    label = versions.label(torch or "") or ""
    install = f"uv pip install --torch-backend={label if is_label(label) else 'auto'}"
    if name in extensions.BUILT_AT_HOME:
        text = (
            f"Take a wheel of {name} made for this very torch, CUDA, Python and C++ ABI, build it here, or remove it."
        )
        if name == "flash-attn":
            text += " FLASH_ATTENTION_FORCE_BUILD=TRUE builds it where the ready wheel is the one that does not fit."
        build = _built_again(name, exact)
        return (text, build, remedies.uninstall(name)) if build else (text, remedies.uninstall(name))
    if name == "xformers" and torch and (made := pairs.xformers_for(torch)):
        command = shell.with_requirements(f"{install} --no-deps", f"xformers=={made}")
        return f"Install xformers {made}, which was made for this torch, or remove it.", command
    if name == "torchao" and torch and (made := pairs.torchao_for(torch)):
        use = "torchao>=0.17" if made == "0.17" else f"torchao=={made}.*"
        text = f"Install {use}, whose kernels are for this torch, or remove it."
        return text, remedies.install(use)
    if torch and (made := pairs.release_for_torch(name, torch)):
        text = f"Install {name} {made}, which is compiled for this torch, or remove it."
        return text, shell.with_requirements(f"{install} --no-deps", f"{name}=={made}.*")
    if by_torch := pairs.releases_by_torch(name):
        told = ", ".join(f"{release} for torch {minor}" for minor, release in by_torch.items())
        return f"Install the {name} that is compiled for this torch ({told}), or remove it.", remedies.uninstall(name)
    if name in _PINS_TORCH:
        text = f"Install {name} in an environment of its own, with the torch that it pins and was built for."
        return text, shell.with_requirements(install, exact)
    if not shell.is_name(name):
        return ("Install a build of it made for this torch, or remove it.",)
    return _FROM_WHERE_IT_CAME.format(name), _built_again(name, exact) or remedies.uninstall(name)


def _built_again(name: str, exact: str) -> str:
    """The command that compiles it here for this torch, from its sources where no index has it."""
    options = "--no-deps --no-cache-dir --no-build-isolation"
    if name in _SOURCES:
        return f"python -m pip install --force-reinstall {options} {_SOURCES[name]}"
    return remedies.again(exact, options)


_FROM_WHERE_IT_CAME = (
    "Install a build of {} made for this torch, or remove it. What came from a repository or a folder is built again "
    "from there, without build isolation, which would take a torch of its own."
)
