"""Where conda's packages of this field lie, and what PyPI's names are called there."""

from __future__ import annotations

import re

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


def name_in_conda(name: str) -> str:
    """What conda calls a distribution that PyPI calls so; "" where it is the same, or not known."""
    return _NAMES.get(re.sub(r"[_.]", "-", name.lower()), "")
