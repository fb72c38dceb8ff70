"""Compiled extensions of torch: what each was built for, and whether that is what is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from envdoctor.facts.model import Distribution, Facts
from envdoctor.facts.need import known
from envdoctor.knowledge import versions
from envdoctor.knowledge.pairs import torch_of_torchao, torch_of_xformers
from envdoctor.knowledge.requirements import demanded_specifier
from envdoctor.knowledge.torch_builds import is_label, line_of
from envdoctor.values.once import once
from envdoctor.values.pattern import Pattern

STABLE = frozenset({"torchvision", "torchaudio", "triton", "pytorch-triton", "torch", "torchcodec"})
"""Judged by rules of their own, or bound to no torch."""

BOUND = frozenset({"torchao", "xformers"})
"""Their releases are made for one torch each, which their version's label does not say."""

BUILT_AT_HOME = frozenset(
    "apex causal-conv1d detectron2 flash-attn mamba-ssm mmcv natten pytorch3d sageattention torch-cluster "
    "torch-scatter torch-sparse torch-spline-conv transformer-engine".split()
)
"""Built from source where no wheel fits, and then only where torch can be seen: without build isolation."""

MODULES = {
    "flash_attn": "flash-attn",
    "flash-attn": "flash-attn",
    "flash_attn_3": "flash-attn-3",
    "xformers": "xformers",
    "torchao": "torchao",
    "vllm": "vllm",
    "bitsandbytes": "bitsandbytes",
    "deepspeed": "deepspeed",
    "causal_conv1d": "causal-conv1d",
    "selective_scan": "mamba-ssm",
    "mamba_ssm": "mamba-ssm",
    "mamba-ssm": "mamba-ssm",
    "transformer_engine": "transformer-engine",
    "transformerengine": "transformer-engine",
    "amp_c": "apex",
    "apex": "apex",
    "torch_scatter": "torch-scatter",
    "torch_sparse": "torch-sparse",
    "torch_cluster": "torch-cluster",
    "torch_spline_conv": "torch-spline-conv",
    "pyg_lib": "pyg-lib",
    "mmcv": "mmcv",
    "detectron2": "detectron2",
    "pytorch3d": "pytorch3d",
    "natten": "natten",
    "flashinfer": "flashinfer-python",
    "sageattention": "sageattention",
    "exllamav2": "exllamav2",
    "auto_gptq": "auto-gptq",
    "autogptq": "auto-gptq",
    "gptqmodel": "gptqmodel",
    "fbgemm": "fbgemm-gpu",
}
"""Words of an error line -> the distribution they belong to."""


class ExtensionBuild(NamedTuple):
    """torch as "2.8", CUDA as "12" or "12.4" ("" for CPU), Python as "3.11"; None where nothing says it."""

    torch: str | None = None
    cuda: str | None = None
    python: str | None = None
    cxx11_abi: bool | None = None

    def text(self, *, guessed: bool = False) -> str:
        """For people: "torch 2.8, CUDA 12.8, the new C++ ABI"; without a CUDA that is ``guessed``."""
        parts = [f"torch {self.torch}" if self.torch else "", f"CUDA {self.cuda}" if self.cuda and not guessed else ""]
        parts += [f"Python {self.python}" if self.python else ""]
        parts += [f"the {'new' if self.cxx11_abi else 'old'} C++ ABI" if self.cxx11_abi is not None else ""]
        return ", ".join(filter(None, parts))


def labelled_torch(facts: Facts) -> str | None:
    """The installed torch, with its label where something says it."""
    torch, packages = known(facts.torch), known(facts.packages)
    return (torch.version if torch else None) or (packages.version("torch") if packages else None)


@once
def build_of_torch(facts: Facts) -> ExtensionBuild | None:
    """The installed torch in the same terms; None when its version is not known."""
    torch, interpreter = known(facts.torch), known(facts.interpreter)
    version = labelled_torch(facts)
    release = versions.release(version or "")
    if version is None or release is None:
        return None
    python = versions.release(interpreter.version) if interpreter else None
    abi = torch.cxx11_abi if torch and torch.cxx11_abi is not None else _abi_of_wheel(version, release)
    abi = True if abi is None and is_of_conda_forge(facts) else abi
    return ExtensionBuild(
        torch=None if versions.prerelease(version) else f"{release[0]}.{release[1]}",
        cuda=line_of(version, torch.cuda if torch else None),
        python=f"{python[0]}.{python[1]}" if python else None,
        cxx11_abi=abi,
    )


_CONDA_FORGE = Pattern(r"(?:cpu|cuda\d{2,3})_(?:generic_|mkl_|openblas_)?py\d{2,3}_?h[0-9a-f]{6}")


@once
def is_of_conda_forge(facts: Facts) -> bool:
    """Is torch conda-forge's build, which has the new C++ ABI, as all of its packages? Its build strings say so."""
    packages = known(facts.packages)
    torch = packages.find("torch") if packages else None
    build = f"{packages.conda.get('pytorch', '')} {(torch.build if torch else None) or ''}" if packages else ""
    return _CONDA_FORGE.search(build) is not None


def _abi_of_wheel(version: str, release: tuple[int, int, int]) -> bool | None:
    """Linux wheels have the new ABI from 2.7 on, and in 2.6 for CUDA 12.6 (release notes of 2.6); other builds:
    unknown."""
    label = versions.label(version)
    if label is None or not is_label(label) or release < (2, 0, 0):
        return None
    return release >= (2, 7, 0) or (release[:2] == (2, 6) and label == "cu126")


@once
def builds(facts: Facts) -> Mapping[str, ExtensionBuild]:
    """What each extension was built for, by distribution; those for which nothing says it are left out."""
    found: dict[str, ExtensionBuild] = {}
    packages = known(facts.packages)
    for distribution in packages.distributions if packages else ():
        name, version = distribution.name, distribution.version
        if "+" not in version and distribution.build is None and name not in BOUND:
            continue
        torch, bound = _of_wheel(distribution)
        torch = torch if bound else _release_of_torch(name, version)
        label = ",".join(filter(None, (versions.label(version), distribution.build)))
        if name not in STABLE and (torch or re.search(r"torch|pt\d\d", label)):
            built = read_label(label)
            found[name] = ExtensionBuild(built.torch or torch, built.cuda, None, built.cxx11_abi)
    for extension in known(facts.extensions) or ():
        if extension.name in STABLE:
            continue
        other = found.get(extension.name, ExtensionBuild())
        wheel = packages.find(extension.name) if packages else None
        torch, bound = _of_wheel(wheel) if wheel else (None, False)
        # A wheel that asks for a range of torch, or is made for any Python, says so itself: what it happened to
        # be compiled with binds it to nothing.
        free = bound and torch is None
        torch = torch if bound else _release_of_torch(extension.name, extension.version or "")
        stable = wheel is not None and any("-abi3-" in tag or "-none-" in tag for tag in wheel.tags)
        found[extension.name] = ExtensionBuild(
            None if free else _minor(extension.torch) or other.torch or torch,
            extension.cuda if extension.cuda is not None else other.cuda,
            None if stable else extension.python,
            extension.cxx11_abi if extension.cxx11_abi is not None else other.cxx11_abi,
        )
    return found


def _of_wheel(distribution: Distribution) -> tuple[str | None, bool]:
    """The torch that a wheel says it is bound to (``torch==2.10.0``: "2.10"), and whether it says anything of that: one
    that asks for a range is bound to none. Of others than `BOUND` the requirement says nothing of their kernels."""
    wanted = demanded_specifier(distribution.requires, "torch", {}) if distribution.name in BOUND else None
    if not wanted:
        return None, False
    exact = re.fullmatch(r"==\s*(\d[\w.+]*)", wanted)
    return (_minor(exact[1]) if exact else None), True


def _release_of_torch(name: str, version: str) -> str | None:
    """torch that a release was compiled with, where a table says it and its label does not."""
    if name == "xformers":
        return torch_of_xformers(version)
    return torch_of_torchao(version) if name == "torchao" and "git" not in version else None


def _minor(version: str | None) -> str | None:
    release = versions.release(version or "")
    return f"{release[0]}.{release[1]}" if release and release[:2] != (0, 0) else None


_TORCH = (
    Pattern(r"torch[ _=]*(\d+)\.(\d+)"),
    Pattern(r"pt(\d)(\d{1,2})(?=cu|\.|$)"),  # pt25, pt210: torch 2.5, 2.10
    Pattern(r"torch(\d)(\d{1,2})\d(?=cu|\.|$)"),  # torch260: torch 2.6.0
)


def read_label(label: str) -> ExtensionBuild:
    """Read "cu12torch2.8cxx11abitrue" (flash-attn), "pt25cu124" (PyG) or "cuda 12.1, torch 2.1" (a report)."""
    torch = next((found for pattern in _TORCH if (found := pattern.search(label))), None)
    cuda = re.search(r"\bcuda[ _=]*(\d+)(?:\.(\d))?", label) or re.search(r"cu(\d\d)(\d)?(?!\d)", label)
    abi = re.search(r"cxx11_?abi[ _=]*(true|1|false|0)", label, re.IGNORECASE)
    return ExtensionBuild(
        torch=f"{torch[1]}.{torch[2]}" if torch else None,
        cuda=".".join(filter(None, cuda.groups())) if cuda and cuda[1] != "0" else None,
        cxx11_abi=None if abi is None else abi[1].lower() in ("true", "1"),
    )


def difference(built: ExtensionBuild, torch: ExtensionBuild) -> str | None:
    """In what the extension's build differs from torch's, or None."""
    if built.torch and torch.torch and built.torch != torch.torch:
        return f"it was built for torch {built.torch}, torch {torch.torch} is installed"
    if built.cuda and torch.cuda is not None and _major(built.cuda) != _major(torch.cuda):
        return f"it was built for CUDA {built.cuda}, torch for {'CUDA ' + torch.cuda if torch.cuda else 'the CPU'}"
    if None not in (built.cxx11_abi, torch.cxx11_abi) and built.cxx11_abi != torch.cxx11_abi:
        return f"it has the {'new' if built.cxx11_abi else 'old'} C++ ABI, torch the other one"
    if built.python and torch.python and not built.python.endswith("+"):
        python = _minor(built.python)
        if python and python != torch.python:
            return f"it was built for Python {python}, this is {torch.python}"
    return None


def _major(cuda: str) -> str:
    return cuda.partition(".")[0]


def named_in(text: str) -> list[str]:
    """The distributions of which the text holds a module's name, one for each such name.

    Of an installed file the way inside site-packages counts, and not the environment's own name (envs/mamba2).
    """
    inside = [found["inside"] for found in _INSTALLED.finditer(text)]
    lower = _OF_OTHERS.sub("", (" ".join(inside) or text).lower())
    return [
        name
        for word, name in MODULES.items()
        if word in lower and re.search(rf"(?<![a-z0-9])(?:lib)?{re.escape(word)}", lower)
    ]


_INSTALLED = Pattern(r"(?:site|dist)[-_]packages[/\\](?P<inside>[^\s:'\"]{1,200}\.(?:so|pyd|dll))\b")
_OF_OTHERS = Pattern(r"selective_scan_(?:cuda_)?(?:core|oflex|ndstate|n|vim|rot)\w*|libmamba\w*")
"""VMamba's kernels and their kin, which no distribution on the index holds (mamba-ssm's is selective_scan_cuda), and
conda's solver."""


def extension_named(text: str, candidates: Iterable[str] = ()) -> str | None:
    """The distribution that an error line is about, preferring those that are installed."""
    found = named_in(text)
    return next((name for name in found if name in set(candidates)), found[0] if found else None)
