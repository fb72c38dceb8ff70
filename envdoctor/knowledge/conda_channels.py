"""Where conda's packages of this field lie, and what PyPI's names are called there."""

from __future__ import annotations

import re

from envdoctor.knowledge import versions
from envdoctor.values.pattern import Pattern

_HOMES = (
    # https://anaconda.org/pytorch: ended with PyTorch 2.5 (its release notes)
    (Pattern(r"pytorch|torchvision|torchaudio|torchtext|torchdata|pytorch-cuda|cpuonly|faiss-gpu|magma-cuda\d+"),
     "pytorch"),
    (Pattern(r"cuda|cuda-(?!version)[\w-]+|libcu(?:blas|fft|rand|solver|sparse)(?:-dev)?"), "nvidia"),
    (Pattern(r"pytorch3d"), "pytorch3d"),
    (Pattern(r"xformers"), "xformers"),
    (Pattern(r"pyg|pytorch-(?:scatter|sparse|cluster|spline-conv)"), "pyg"),
    (Pattern(r"dgl(?:-cuda[\d.]+)?"), "dglteam"),
    # https://conda-forge.org/packages/
    (Pattern(r"cudatoolkit(?:-dev)?|cudnn|cuda-version|pytorch-gpu|blas|mkl|libblas|nccl|opencv|py-opencv|ffmpeg|ninja"
             r"|gcc|gxx|cxx-compiler|gcc_linux-64|gxx_linux-64|sysroot_linux-64|cutensor|cupy|faiss|jaxlib"),
     "conda-forge"),
)  # fmt: skip
_RANGES = {
    # Files of https://anaconda.org/pytorch/pytorch-cuda and https://anaconda.org/conda-forge/cudatoolkit
    "pytorch-cuda": ("11.6", "12.4", "before it the CUDA line is told by cudatoolkit, after it torch comes from "
                     "conda-forge (pytorch-gpu with cuda-version) or from PyPI"),
    "cudatoolkit": ("", "11.8", "later toolkits are called cuda-toolkit; the channel pytorch tells the line of its "
                    "torch 1.13 and later by pytorch-cuda (=11.7, with -c nvidia)"),
}  # fmt: skip
NO_CUDA_ON_MAC = Pattern(r"cuda.*|cudnn|nccl|pytorch-cuda|pytorch-gpu|cutensor")
_NAMES = {
    "torch": "pytorch",
    "opencv-python": "opencv",
    "opencv-contrib-python": "opencv",
    "opencv-python-headless": "opencv",
    "sklearn": "scikit-learn",
    "msgpack": "msgpack-python",
    "tables": "pytables",
    "protobuf-compiler": "libprotobuf",
}


def home_of(name: str) -> str:
    """The channel that has this package; "" where none is known to."""
    return next((channel for pattern, channel in _HOMES if pattern.fullmatch(name)), "")


def outside(name: str, version: str) -> str:
    """What to say of a release that conda never had of this package; "" where it may have had it."""
    first, last, instead = _RANGES.get(name, ("", "", ""))
    early, late = first and versions.below(version, first), last and versions.below(f"{last}.99", version)
    if not (early or late):
        return ""
    reach = f"from {first} to {last}" if first else f"up to {last}"
    return f"there is no {name} {version} for any system: it goes {reach}; {instead}"


def name_in_conda(name: str) -> str:
    """What conda calls a distribution that PyPI calls so; "" where it is the same, or not known."""
    return _NAMES.get(re.sub(r"[_.]", "-", name.lower()), "")
