"""Whose build it is, where it looks and what is listed beside it: the lines around an error name its usual cause."""

from __future__ import annotations

import pytest

from tests.rules.packages.test_told_by_the_surroundings import root

NO_NVCC = "/bin/sh: 1: /usr/bin/nvcc: not found\nninja: build stopped: subcommand failed.\n"


@pytest.mark.parametrize(
    ("beside", "home"),
    [
        ("which nvcc\n/opt/cuda-12.4/bin/nvcc\n", "/opt/cuda-12.4"),
        ('export PATH="/usr/local/cuda-12.4/bin:$PATH"\n', "/usr/local/cuda-12.4"),
        ("", "/usr/local/cuda"),
    ],
)
def test_cuda_home_is_set_to_where_an_nvcc_is(beside: str, home: str) -> None:
    found = root(NO_NVCC + beside)
    assert "CUDA_HOME (or CUDA_PATH" in found.message
    assert found.remedy.commands[0] == f"export CUDA_HOME={home}"


@pytest.mark.parametrize("path", ["/opt/conda/envs/a/bin/nvcc", "/usr/local/cuda/bin/nvcc"])
def test_what_conda_or_an_image_lacks_is_no_wrong_folder(path: str) -> None:
    assert "whole path" not in root(f"/bin/sh: 1: {path}: not found\n").message


XGBOOST = "xgboost.core.XGBoostError: [10:01:02] {}src/learner.cc:180: XGBoost version not compiled with GPU support."


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (XGBOOST.format("/home/u/dev/xgboost/"), True),
        (XGBOOST.format("/workspace/") + '\n  File "/usr/lib/python3/xgboost-1.6.0-py3.8.egg/xgboost/core.py"\n', True),
        (XGBOOST.format("/workspace/") + "\nOn a Jetson Xavier.\n", True),
        (XGBOOST.format("/home/conda/feedstock_root/build_artifacts/xgboost/"), False),
        (XGBOOST.format("/workspace/"), False),
    ],
)
def test_a_build_of_ones_own_is_built_anew(text: str, own: bool) -> None:
    found = root(text)
    assert ("without USE_CUDA" in found.message) is own
    assert any("USE_CUDA=ON" in command for command in found.remedy.commands) is own


def test_lightgbm_s_option_is_the_one_that_it_asks_for() -> None:
    said = "lightgbm.basic.LightGBMError: CUDA Tree Learner was not enabled in this build.\n"
    found = root(f"{said}cmake -B build -S . && make -j4\n")
    assert "built from source" in found.message
    assert any("cmake.define.USE_CUDA=ON" in command for command in found.remedy.commands)
    assert "built from source" not in root(said).message


DGL = "dgl._ffi.base.DGLError: [10:00:00] /opt/dgl/src/runtime/c_runtime_api.cc:82: Device API cuda is not enabled.\n"


@pytest.mark.parametrize(
    ("torch", "wanted"),
    [
        ("torch==1.10.2+cu113\n", "'dgl-cu113<1' -f https://data.dgl.ai/wheels/repo.html"),
        ("torch==1.13.1+cu116\n", "'dgl<2' -f https://data.dgl.ai/wheels/cu116/repo.html"),
        ("torch==2.2.1+cu118\n", "dgl -f https://data.dgl.ai/wheels/torch-2.2/cu118/repo.html"),
        ("torch==2.3.0+cu121\n", "dgl -f https://data.dgl.ai/wheels/torch-2.3/cu121/repo.html"),
        ("torch==2.4.0+cu124\n", "dgl -f https://data.dgl.ai/wheels/torch-2.4/cu124/repo.html"),
        ("torch==2.6.0+cu124\n", "'torch==2.4.1' dgl -f https://data.dgl.ai/wheels/torch-2.4/cu121/repo.html"),
        ("", "dgl -f https://data.dgl.ai/wheels/torch-2.4/cu124/repo.html"),
    ],
)
def test_dgl_goes_by_torch_and_its_cuda(torch: str, wanted: str) -> None:
    found = root(f"{torch}dgl==1.1.0\n{DGL}")
    assert found.remedy.commands[-1] == f"python -m pip install {wanted}"
    assert "ended with builds for torch 2.4" in found.remedy.text


RAY = "(autoscaler +15s) Error: No available node types can fulfill resource request {'GPU': 1.0}.\n"


@pytest.mark.parametrize(
    ("status", "none"),
    [(" 0.0/16.0 CPU\n 0B/9.10GiB memory\n", True), (" 0.0/16.0 CPU\n 2.0/2.0 GPU\n", False), ("", False)],
)
def test_a_ray_without_gpus_is_told_from_one_whose_gpus_are_taken(status: str, none: bool) -> None:
    found = root(f"{RAY}Usage:\n{status}")
    assert ("no GPU at all" in found.message) is none
    assert ("num_gpus=1" in found.remedy.text) is none


def test_the_names_that_coqui_asks_for() -> None:
    said = "ImportError: cannot import name 'BeamSearchScorer' from 'transformers' (/v/transformers/__init__.py)\n"
    found = root(f"{said}- TTS Version: 0.22.0\n")
    assert found.remedy.commands[-1] == "python -m pip install coqui-tts"
    assert "below 4.50" in found.remedy.text
    assert "coqui" not in root(said).remedy.text


def test_a_port_that_the_code_sets() -> None:
    said = "torch.distributed.DistNetworkError: The server socket has failed to listen. port: 12355, EADDRINUSE\n"
    found = root(f"os.environ['MASTER_PORT'] = '12355'\n{said}")
    assert "the code itself sets the port" in found.message
    assert "the code itself" not in root(said).message


def test_ctranslate2_is_built_for_another_cuda_than_torch() -> None:
    said = "RuntimeError: CUDA failed with error CUDA driver version is insufficient for CUDA runtime version\n"
    found = root(f'  File "/v/site-packages/faster_whisper/transcribe.py", line 133, in __init__\n{said}')
    assert "CTranslate2 4 is built for CUDA 12" in found.message
    assert "3.24.0" in found.remedy.text
