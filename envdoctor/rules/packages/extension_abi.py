import re
from collections.abc import Mapping

from envdoctor.knowledge.extensions import ExtensionBuild
from envdoctor.knowledge.installed_torch import line_is_guessed
from envdoctor.knowledge.questions import circumstances, extensions, messages, names, normal, pairs, versions
from envdoctor.rules.finding import Finding
from envdoctor.rules.packages import _strings
from envdoctor.rules.packages._callers import CALLER
from envdoctor.rules.packages._xformers_says import BuiltFor, built_for
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Skip, Target, finding, known, remedies, rule
from envdoctor.values import shell

_SAYS = (
    Pattern(r"undefined symbol:?\s*(?:_Z\w*(?:3c10|5torch|2at|6caffe2)\w*|THP[A-Z]\w+)"),
    Pattern(r"undefined symbol:?\s*aoti_torch\w*"),
    Pattern(r"ImportError: (?:flash_attn\w*_cuda|xformers\S{0,40}|dropout_layer_norm) undefined symbol"),
    Pattern(r"(?i)xFormers was built for"),
    Pattern(r"(?i)xFormers can'?t load C\+\+/CUDA extensions"),
    Pattern(r"(?i)cpp extensions.*(?:incompatible|not imported|skipp)"),
    Pattern(r"(?i)skipping import of cpp extensions"),
    Pattern(r"(?i)ops were compiled and installed with a different version"),
    Pattern(r"(?i)PyTorch version mismatch! DeepSpeed"),
    Pattern(r"(?i)(?:built|compiled) for (?:another|a different|an? (?:older|newer)) (?:torch|ABI|Python)"),
    Pattern(r"(?i)DLL load failed while importing (?:flash_attn\w*|_C\w*|_ext\w*|_?fused\w*|_qattn\w*|amp_C)"),
    Pattern(r"(?i)lib(?:torch_(?:cpu|cuda\w*)|c10_cuda)\.so\S*:? .*(?:cannot open|no such)"),
    Pattern(r"(?i)PyTorch and (?!torchvision|torchaudio)\w+ were compiled with different CUDA"),
    Pattern(r"(?i)flash_attn.{0,400}(?:libcudart|libcublas)\.so\.\d\S{0,80}:? .{0,200}(?:cannot open|no such)"),
)
_SKIPS = Pattern(r"(?i)cpp extensions")  # torchao's words, which do not name it
_PINS_TORCH = frozenset("flashinfer-python lmdeploy sgl-kernel sglang tensorrt-llm torch-tensorrt vllm".split())
_LIBRARY = Pattern(r"(?i)lib(?:cudart|cublas|cublasLt)\.so\.(\d{1,9})\S{0,80}:? .*(?:cannot open|no such)")
_LIBC = Pattern(r"(?i)version [`'\"]?GLIBC(?:XX)?_[\d.]+[`'\"]? not found")
_SOURCES = {  # what no package index has: the name alone installs nothing, or a stranger (PyPI's apex)
    "apex": "git+https://github.com/NVIDIA/apex.git",
    "detectron2": "git+https://github.com/facebookresearch/detectron2.git",
    "pytorch3d": "git+https://github.com/facebookresearch/pytorch3d.git",
}
_BOUND = frozenset(extensions.MODULES.values()) - {"bitsandbytes", "deepspeed"}
_MATES = Pattern(r"libtorchaudio|_torchaudio|torchaudio/lib/|torchvision/(?:_C|image)")  # `packages/torch-pair`
_STOPS = Pattern(r"(?i)no operator found for|wasn'?t build with CUDA")
_COMPILED = Pattern(r"\S{0,300}[/\\][\w.-]{1,120}\.(?:so|pyd)\b")
_MODULE = Pattern(r"-packages[/\\](?!torch[/\\])(?P<name>[A-Za-z]\w{0,60})[/\\]\S{0,200}\.(?:so|pyd)\b")
_FALLS_BACK = frozenset({"torchao", "xformers"})  # without their kernels they still import, and are slower


@rule(ERROR, kind="extension-abi-mismatch")
def extension_abi(facts: Facts, target: Target) -> Findings:
    """A compiled extension was built for another torch, CUDA, Python or C++ ABI.

    Why: extensions call torch's C++ code, which promises no compatibility between releases. Built for another one
    they do not load ("undefined symbol: _ZN3c10..."), or load without their kernels. CUDA must agree in the major
    version.
    Fix: a wheel for exactly this torch, CUDA, Python and ABI; or do without: scaled_dot_product_attention needs
    no extension.
    Source: https://github.com/Dao-AILab/flash-attention/issues/1644
    https://github.com/huggingface/open-r1/issues/684 https://github.com/axolotl-ai-cloud/axolotl/issues/3142
    https://github.com/facebookresearch/xformers/issues/1176 https://github.com/pytorch/ao/issues/2919
    """
    torch = extensions.build_of_torch(facts)
    said = messages.in_report(facts, *_SAYS) or _other_cuda(facts, torch)
    if said is not None and _MATES.search(said.string):
        said = None
    built = extensions.builds(facts)
    failed = {e.name: e.error for e in known(facts.extensions) or () if e.error}
    if said is None and (torch is None or not built) and not failed:
        if known(facts.packages) is None and known(facts.extensions) is None:
            raise Skip("the extensions are not known")
        return
    packages = known(facts.packages)
    bound = [d.name for d in packages.distributions if d.name in _BOUND] if packages else []
    blamed = extensions.extension_named(said.string, built) if said else None
    blamed = "torchao" if said and blamed is None and _SKIPS.search(said.string) else blamed
    if said and blamed is None and (module := _MODULE.search(said.string)):
        blamed = names.distribution_of(module["name"]) or normal(module["name"])
    if said and blamed is None and (told_of := _told_of(facts)):
        blamed = told_of
    alone = said is not None and len(bound) == 1 and not _lies_elsewhere(said.string)
    unnamed = blamed is None and alone
    blamed = blamed or (bound[0] if alone else None)
    told = False
    for name, build in sorted(built.items()):
        reason = extensions.difference(build, torch) if torch else None
        error = failed.get(name) or (said.string if said and name == blamed else None)
        error = error if error is None or _about_abi(error) else None
        if reason is None and error is None:
            continue
        told = told or name == blamed
        only = unnamed and reason is None and name == blamed
        yield _finding(target, facts, name, built, reason or error or "", proven=error is not None, unnamed=only)
    if said is not None and blamed is None and "THPVariableClass" in said.string:
        return  # which says no more than that torch was not there first: packages/known-errors
    if said is not None and not told and not (blamed is None and _OF_TORCH.search(said.string)):
        name = blamed or "a compiled extension"
        yield _finding(target, facts, name, built, said.string, proven=True, unnamed=unnamed)


_OF_TORCH = Pattern(r"torch[\\/]{1,2}lib[\\/]{1,2}lib(?:torch|c10)\w{0,16}\.\w{2,5}: undefined symbol")
"""torch's own library, which no extension brought: `packages/known-errors` says that two builds of it meet."""


def _other_cuda(facts: Facts, torch: ExtensionBuild | None) -> re.Match[str] | None:
    """A library of another CUDA than torch's is looked for: by an extension, since torch has its own; or an extension
    wants a later C library. bitsandbytes finds its library by itself, and has a rule of its own."""
    libc = messages.in_report(facts, _LIBC)
    if libc is not None and extensions.extension_named(libc.string) in _BOUND:
        return libc
    found = messages.in_report(facts, _LIBRARY)
    said = " ".join(messages.everything(facts))
    if found is None or "bitsandbytes" in said or "ninja: no work to do" in said:  # the last: what torch built earlier
        return None
    if extensions.extension_named(found.string) in _BOUND:
        return found
    packages = known(facts.packages)
    present = {d.name for d in packages.distributions} if packages else set()
    if torch is None or not torch.cuda:
        return found if present & _BOUND else None
    return found if torch.cuda.partition(".")[0] != found[1] else None


def _told_of(facts: Facts) -> str | None:
    """The one extension that anything names that was said, by the program or by a person."""
    people = (facts.remarks.get(key, "") for key in ("complaint", "question"))
    named = set(extensions.named_in(" ".join((*facts.messages, *people)).replace("-", "_")))
    return named.pop() if len(named) == 1 else None


def _lies_elsewhere(line: str) -> bool:
    """Does it name a file outside any installation? It is a program's own, which no listed extension need have
    brought."""
    found = _COMPILED.search(line)
    return found is not None and "-packages" not in found[0]


def _about_abi(error: str) -> bool:
    return any(pattern.search(error) for pattern in _SAYS)


def _finding(
    target: Target,
    facts: Facts,
    name: str,
    built: Mapping[str, ExtensionBuild],
    reason: str,
    proven: bool,
    unnamed: bool = False,
) -> Finding:
    """``unnamed``: the line names no extension, and the text lists this one alone."""
    packages = known(facts.packages)
    version = packages.version(name) if packages else None
    torch = extensions.build_of_torch(facts)
    locked = remedies.locked_pins(target, packages, "torch", name)
    told = built_for(facts) if name == "xformers" and proven and _BUILT_FOR.search(reason) else None
    anew = "undefined symbol" in reason and circumstances.BUILT_ANEW.stands(facts)
    advice = told.advice(facts) if told else _advice(name, version, extensions.labelled_torch(facts))
    strings = _strings.of(facts, name, version, reason)
    if strings is not None:
        advice = strings.advice or advice
    if "undefined symbol" in reason and not told and name not in _PINS_TORCH:
        advice = (advice[0] + _CLEAN, *advice[1:])
    who = f"{name.replace('a compiled', 'A compiled')} {version or ''}".rstrip()
    if unnamed:
        who = f"A compiled extension (the text lists {who} alone)"
    same = told is not None and not told.differs
    weak = name in _FALLS_BACK and not reason.startswith("undefined") and messages.in_report(facts, _STOPS) is None
    return finding(
        subject=name,
        title=_NOT_PROVED if _NOT_LOADED.search(reason) or _NOT_FOUND.search(reason) else "",
        actual=f"{version or 'unknown version'}{_for(built.get(name))}",
        expected=f"built for {torch.text(guessed=line_is_guessed(facts))}" if torch else "built for this torch",
        severity=WARNING if weak else None,
        certain=proven or weak,
        message=_unlike(told)
        if told
        else f"{who}{_meaning(reason)}: {CALLER.sub('', reason).rstrip('.')}.{strings.proved if strings else ''}",
        usually=(_SAME_NUMBERS if same else "")
        or _usually(reason)
        or (strings.usually if strings else "")
        or (_OF_NEW_BUILD if anew else ""),
        fix=remedies.choose(
            target,
            locked,
            *advice[:2],
            instead=advice[2:],
        ),
        repair=locked,
        explains=(
            "packages/import-mismatch",
            "packages/known-errors a compiled package",
            f"packages/conflicts {name} torch",
            "attention/flash-unavailable",
            "attention/operators-refused",
        ),
    )


_CLEAN = (
    " Before building from a source tree delete its folder build and its .so files, which otherwise are used again."
)
_OF_NEW_BUILD = (
    "what was built before was used again (the folder build, a .so beside the sources, another copy that is imported "
    "first), the build saw another torch than the run (isolation, another environment), or its sources are of another "
    "time than this torch"
)
_BUILT_FOR = Pattern(r"xFormers (?:was built for|can'?t load)|with (?:CUDA|HIP) \w{1,12}\S{0,12} \(you have")


def _unlike(told: BuiltFor) -> str:
    what = f"The kernels of xformers do not load: it was built for {told.text}"
    if told.differs:
        return f"{what}; what differs here: {', '.join(told.differs)}."
    return f"{what}, and here are releases of the same numbers."


_SAME_NUMBERS = (
    "torch's CUDA line or build is another, or a library that the kernels need does not load (CUDA's, Visual C++'s "
    "runtime)"
)


_NOT_LOADED = Pattern(r"(?i)DLL load failed")
_NOT_FOUND = Pattern(r"(?i)lib(?P<lib>torch|c10|cud|cub)\S{0,60}:? .{0,200}(?:cannot open|no such)")


_NOT_PROVED = "A compiled extension does not load"


def _meaning(reason: str) -> str:
    if _NOT_LOADED.search(reason):
        return " does not load"
    if _LIBC.search(reason):
        return " was built for a newer C or C++ library than the one that is found here"
    if found := _NOT_FOUND.search(reason):
        whose = "of CUDA" if found["lib"].lower() in ("cud", "cub") else "of torch"
        return f" asks for a library {whose} that is not found"
    return " does not fit this torch"


def _usually(reason: str) -> str:
    if _NOT_LOADED.search(reason):
        return (
            "it was built for another torch, CUDA or Python than these; else it was imported before torch, or Visual "
            "C++'s runtime or CUDA's libraries are missing"
        )
    if found := _NOT_FOUND.search(reason):
        if found["lib"].lower() in ("cud", "cub"):
            return "it was built for another major version of CUDA than torch's; else it was imported before torch"
        return (
            "it was imported before torch, this torch is a build for the CPU, or it was built for another release of "
            "torch"
        )
    return ""


def _advice(name: str, version: str | None, torch: str | None) -> tuple[str, ...]:
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
    install = f"uv pip install --torch-backend={label if re.fullmatch(r'cpu|cu[0-9]+', label) else 'auto'}"
    if name in extensions.BUILT_AT_HOME:
        text = (
            f"Take a wheel of {name} made for this very torch, CUDA, Python and C++ ABI, build it here, or remove it."
        )
        if name == "flash-attn":
            text += " FLASH_ATTENTION_FORCE_BUILD=TRUE builds it where the ready wheel is the one that does not fit."
        options = "--no-deps --no-cache-dir --no-build-isolation"
        build = remedies.again(exact, options)
        if name in _SOURCES:
            build = f"python -m pip install --force-reinstall {options} {_SOURCES[name]}"
        return (text, build, remedies.uninstall(name)) if build else (text, remedies.uninstall(name))
    if name == "xformers" and torch and (made := pairs.xformers_for(torch)):
        command = shell.with_requirements(f"{install} --no-deps", f"xformers=={made}")
        return (
            f"Install xformers {made}, which was made for this torch, or remove it.",
            command,
        )
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
    again = remedies.again(exact, "--no-deps --no-cache-dir")
    return f"Install a build of {name} made for this torch, or remove it.", again or remedies.uninstall(name)


def _for(build: ExtensionBuild | None) -> str:
    return f", built for {build.text()}" if build and build.text() else ""
