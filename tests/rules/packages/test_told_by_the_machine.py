"""Causes that the text beside an error tells: the machine, the command line, what was installed."""

from __future__ import annotations

import pytest

from tests.rules.told import errors, root, whole

BNB = "/opt/env/lib/python3.10/site-packages/bitsandbytes/"
NO_GPU_PART = (
    f"{BNB}cextension.py:31: UserWarning: The installed version of bitsandbytes was compiled without GPU support.",
    f"AttributeError: {BNB}libbitsandbytes_cpu.so: undefined symbol: cadam32bit_grad_fp32",
)
MISSED = (
    f"{BNB}cuda_setup/main.py:136: UserWarning: /opt/env did not contain ['libcudart.so'] as expected!",
    "CUDA_SETUP: WARNING! libcudart.so not found in any environmental path. Searching in backup paths...",
    "CUDA SETUP: Solution 1: the libcudart.so location needs to be added to the LD_LIBRARY_PATH variable",
)


@pytest.mark.parametrize("missed", MISSED)
def test_bitsandbytes_that_finds_no_run_time(missed: str) -> None:
    found = root(missed, *NO_GPU_PART)
    assert found.rule == "packages/extension-binary"
    assert "Usually it found CUDA's run-time library (libcudart.so) in none of the folders" in found.message
    assert "LD_LIBRARY_PATH" in whole(found)
    assert "0.43" in found.remedy.text


def test_bitsandbytes_that_found_it_after_all() -> None:
    found = root(MISSED[0], "CUDA SETUP: CUDA runtime path found: /usr/local/cuda/lib64/libcudart.so", *NO_GPU_PART)
    assert "in none of the folders" not in found.message


SLOTS = "There are not enough slots available in the system to satisfy the 4 slots"


@pytest.mark.parametrize(
    "command",
    [
        "horovodrun -np 4 -H localhost python train.py",
        "mpirun -np 4 --host node01,node02 python train.py",
        "$ mpiexec -n 4 -host localhost python train.py",
    ],
)
def test_a_host_without_a_number_is_one_slot(command: str) -> None:
    assert "counts for one slot" in root(command, SLOTS).message


@pytest.mark.parametrize("command", ["mpirun -np 4 python train.py", "horovodrun -np 4 -H localhost:2 python train.py"])
def test_hosts_with_numbers_or_none(command: str) -> None:
    assert "counts for one slot" not in root(command, SLOTS).message


FULL = "OSError: [Errno 28] No space left on device"


@pytest.mark.parametrize(
    "place",
    ["The tests run on GitHub Actions.", "runs-on: ubuntu-latest", "/home/runner/work/app/app/requirements.txt"],
)
def test_a_runner_whose_disk_is_small(place: str) -> None:
    found = root(place, f"ERROR: Could not install packages due to an OSError: {FULL}", FULL)
    assert "Usually the runner's disk is small" in found.message
    assert "whl/cpu" in whole(found)


def test_a_disk_elsewhere() -> None:
    assert "runner" not in root("We train on a server with ubuntu-20.04", FULL).message
    assert "runner's disk" not in root("GitHub Actions on a self-hosted runner", FULL).message


DLL = "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: A dynamic link library failed"


@pytest.mark.parametrize(
    "processor",
    ["Intel(R) Xeon(R) CPU E5430 @ 2.66GHz", "CPU: Intel Core 2 Quad Q9550", "my Celeron N3350", "AMD Phenom II X6"],
)
def test_a_processor_without_avx(processor: str) -> None:
    assert "has no AVX" in root(processor, DLL).message
    assert "has no AVX" in root(processor, "Illegal instruction (core dumped)").message


@pytest.mark.parametrize(
    "processor", ["Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "Intel Core i7-9700K", "Ryzen 5 3600"]
)
def test_a_processor_with_avx(processor: str) -> None:
    assert "the processor that the text names has no AVX" not in root(processor, DLL).message


def test_a_virtual_processor() -> None:
    assert "CPU type host" in whole(root("Model name: Common KVM processor", "Illegal instruction (core dumped)"))


@pytest.mark.parametrize("where", ["It is a box without GPU, Ubuntu 22.04.", "My workstation has no NVIDIA GPU."])
def test_a_library_of_the_driver_where_no_gpu_is(where: str) -> None:
    found = root(where, "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory")
    assert "there is no NVIDIA GPU in this machine" in found.message
    assert "a machine with an NVIDIA GPU" in found.remedy.text


def test_a_build_in_an_empty_environment() -> None:
    found = root(
        "$ uv sync --no-build-isolation",
        "  x Failed to build `mamba-ssm==2.2.4`",
        "The build backend returned an error",
        "ModuleNotFoundError: No module named 'setuptools'",
    )
    assert "for setuptools first, then for torch, and then for nvcc" in found.message
    assert found.remedy.commands[0] == "uv pip install setuptools wheel packaging ninja psutil torch"


def test_an_older_cudnn_that_the_installer_chose() -> None:
    found = root(
        "conda create -n jx jax",
        "E0101 cuda_dnn.cc:456] Loaded runtime CuDNN library: 9.8.0 but source was compiled with: 9.12.0.",
    )
    assert "Usually the installer chose that older cuDNN" in found.message
    assert "cudnn>=9.12.0" in found.remedy.text


@pytest.mark.parametrize(("name", "release"), [("classification", "1.0.10"), ("segmentation", "1.0.7")])
def test_the_last_release_for_keras_2(name: str, release: str) -> None:
    found = root(
        f'  File "/env/lib/python3.10/site-packages/{name}_models_3D/models/_common_blocks.py", line 2, in <module>',
        "    from keras.src.legacy.backend import int_shape",
        "ModuleNotFoundError: No module named 'keras.src.legacy'",
    )
    assert release in whole(found)


def test_onnxruntime_without_its_cuda_part() -> None:
    line = "get_available_providers() -> ['AzureExecutionProvider', 'CPUExecutionProvider']"
    found = root("I ran pip install onnxruntime.", line)
    assert "for the processor alone" in found.message
    assert "python -m pip uninstall -y onnxruntime onnxruntime-gpu" in found.remedy.commands


def test_variables_of_a_cluster_are_no_error() -> None:
    assert not errors(
        "PyTorch version: 2.5.1", "KUBERNETES_PORT=tcp://10.96.0.1:443", "REDIS_PORT=tcp://10.96.0.9:6379"
    )


def test_a_processor_of_amd_is_no_card() -> None:
    missing = "OSError: CUDA_HOME environment variable is not set"
    for machine in ("Dell server, AMD Opteron 6272, 2x Quadro P4000", "AMD host with eight A100"):
        assert "the text speaks of AMD" not in root(missing, machine).message
    assert "the text speaks of AMD" in root(missing, "my card is an AMD RX 7900 XTX").message


def test_a_core_s_number_is_no_old_processor() -> None:
    found = root("rank 3 is bound to core 2, atom coordinates follow", "Illegal instruction (core dumped)")
    assert "the processor that the text names" not in found.message
