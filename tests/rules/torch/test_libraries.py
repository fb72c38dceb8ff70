"""Reading library paths as the process map and reports spell them."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.rules.torch._libraries import is_environments, read, short


@pytest.mark.parametrize(
    ("path", "stem", "version"),
    [
        ("/a/libcudart.so.12", "libcudart", "12"),
        ("/a/libcudart-d0da41ae.so.11.0", "libcudart", "11.0"),
        ("/a/libcudnn_engines_precompiled.so.9", "libcudnn_engines_precompiled", "9"),
        ("libnccl.so.2", "libnccl", "2"),
        ("/a/libiomp5.so", "libiomp5", ""),
        ("/a/libgomp-a34b3233.so.1.0.0", "libgomp", "1.0.0"),
        ("/a/libcublasLt.so.12", "libcublasLt", "12"),
    ],
)
def test_read(path: str, stem: str, version: str) -> None:
    (library,) = read((path, path))
    assert (library.stem, library.version, library.path) == (stem, version, path)


def test_other_files_are_left_out() -> None:
    assert read(("/lib/ld-linux-x86-64.so.2", "[vdso]", "/env/bin/python3.12", "")) == ()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/srv/x/lib/python3.10/site-packages/nvidia/cudnn/lib/libcudnn.so.9", True),
        ("/usr/lib/python3/dist-packages/torch/lib/libcudart.so.12", True),
        ("/env/lib/libcudart.so.12", True),
        ("/usr/local/cuda/lib64/libcudart.so.12", False),
        ("/environment/lib/libcudart.so.12", False),
    ],
)
def test_whose(path: str, expected: bool) -> None:
    facts = Facts(interpreter=Interpreter(version="3.12", prefix="/env", base_prefix="/usr"))
    assert is_environments(read((path,))[0], facts) is expected


def test_short() -> None:
    assert short("/usr/lib/libcuda.so") == "/usr/lib/libcuda.so"
    assert short("/a/b/c/d/e/f.so") == "…/c/d/e/f.so"
