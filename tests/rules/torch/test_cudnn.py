from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts, Torch
from envdoctor.rules.torch.cudnn import cudnn
from tests.rules.cuda_machines import brief, machine, only, pasted, torch
from tests.rules.judging import silent, skipped

OWN = "/env/lib/python3.12/site-packages/nvidia/cudnn/lib/"


@pytest.mark.parametrize(
    "facts",
    [
        machine(torch=torch(cudnn="90800", cudnn_built="91900")),
        machine(torch=torch(cudnn="8902", cudnn_built="90100")),
        machine(torch=torch(cudnn="9.1.0", cudnn_built="8.9.2")),
        machine(torch=torch(libraries=(OWN + "libcudnn.so.9", "/usr/lib/x86_64-linux-gnu/libcudnn_graph.so.9"))),
        pasted("RuntimeError: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"),
        pasted(
            "Could not load library libcudnn_cnn_train.so.8: /usr/local/cuda/lib64/libcudnn_cnn_train.so.8: undefined"
        ),
        pasted(
            "cuDNN version incompatibility: PyTorch was compiled against (9, 1, 0) but found runtime version (8, 9, 2)"
        ),
        pasted("libcudnn.so.9: cannot open shared object file: No such file or directory"),
    ],
)
def test_found(facts: Facts) -> None:
    assert brief(cudnn, facts) == ["error cudnn-mismatch cuDNN"]


@pytest.mark.parametrize(
    "facts",
    [
        machine(),
        machine(torch=torch(cudnn="91902", cudnn_built="91900")),
        machine(torch=torch(libraries=(OWN + "libcudnn.so.9", OWN + "libcudnn_graph.so.9"))),
        machine(torch=torch(libraries=("/usr/local/cuda/lib64/libcudnn.so.9",))),  # an image with one cuDNN
    ],
)
def test_healthy(facts: Facts) -> None:
    assert silent(cudnn, facts)


def test_a_newer_one_is_noted() -> None:
    assert brief(cudnn, machine(torch=torch(cudnn="92100", cudnn_built="91900"))) == ["note cudnn-mismatch cuDNN"]


def test_the_stranger_is_named() -> None:
    libraries = (OWN + "libcudnn.so.9", "/lib/x86_64-linux-gnu/libcudnn_engines_tensor_ir.so.9")
    found = only(
        cudnn, pasted("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", torch=Torch(version="", libraries=libraries))
    )
    assert "/lib/x86_64-linux-gnu/libcudnn_engines_tensor_ir.so.9 comes from outside the environment" in found.message
    assert found.remedy.commands == ("env -u LD_LIBRARY_PATH python train.py",)


def test_not_judged() -> None:
    assert skipped(cudnn, pasted(torch=Torch(version="2.6.0")))


def test_a_missing_cudnn_8_is_not_two_of_them() -> None:
    said = "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object"
    finding = only(cudnn, pasted(said))
    assert "which does not load" in finding.message
    assert "cuDNN 9" in finding.remedy.text
    assert "cuDNN 8 is here where the loader does not look" in finding.message
    assert any("getsitepackages" in command for command in finding.remedy.commands)


@pytest.mark.parametrize(
    "said",
    [
        "Could not load library libcudnn_cnn_train.so.8. Error: /usr/local/cuda/lib/libcudnn_cnn_train.so.8: symbol "
        "_ZN5cudnn3cnn4normE, version libcudnn_cnn_infer.so.8 not defined in file libcudnn_cnn_infer.so.8 with link "
        "time reference",
        "Could not load library libcudnn_cnn_infer.so.8. Error: /usr/lib/libcudnn_cnn_infer.so.8: undefined symbol: "
        "_ZN5cudnn3ops18GetInternalStreamsEP12cudnnContext, version libcudnn_ops_infer.so.8",
    ],
)
def test_a_symbol_that_another_part_lacks_is_of_two_releases(said: str) -> None:
    finding = only(cudnn, pasted(said))
    assert finding.title == "Two releases of cuDNN meet in one process"
    assert finding.remedy.commands == ("env -u LD_LIBRARY_PATH python train.py",)
