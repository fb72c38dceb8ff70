"""What a line alone leaves open, and the lines around it decide: the command, the path, the settings, the system."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding
from tests.rules.packages.test_known_errors import judged


def root(text: str) -> Finding:
    found = judged(text).root_cause
    assert found is not None
    return found


def test_a_c_library_that_uv_remembers() -> None:
    found = root(
        "error: Distribution `torch==2.9.0 @ registry+https://index.example/simple` can't be installed because it "
        "doesn't have a source distribution or wheel for the current platform\n\nhint: You're on Linux "
        "(`manylinux_2_26_x86_64`), but `torch` (v2.9.0) only has wheels for the following platforms: "
        "`manylinux_2_28_aarch64`, `manylinux_2_28_x86_64`, `win_amd64`\n"
    )
    assert "glibc 2_26" in found.message
    assert "uv cache clean" in found.remedy.commands


def test_another_processor_is_no_matter_of_the_c_library() -> None:
    found = root(
        "hint: You're on Linux (`manylinux_2_35_ppc64le`), but `torch` (v2.9.0) only has wheels for the following "
        "platforms: `manylinux_2_28_aarch64`, `manylinux_2_28_x86_64`\n"
    )
    assert "glibc" not in found.message


NOT_AVAILABLE = "AssertionError: CUDA is not available\n>>> torch.cuda.is_available()\nFalse\n"


@pytest.mark.parametrize("command", ["singularity run seg.sif infer", "apptainer exec seg.sif python x.py"])
def test_singularity_without_nv(command: str) -> None:
    found = root(f"On the GPU node I ran:\n$ {command}\n{NOT_AVAILABLE}")
    assert "--nv" in found.message
    assert any("--nv" in one for one in found.remedy.commands)


@pytest.mark.parametrize("command", ["singularity run --nv seg.sif infer", "docker run seg python x.py"])
def test_no_word_of_nv_where_it_is_given_or_not_meant(command: str) -> None:
    assert "which the command that is shown does not have" not in root(f"$ {command}\n{NOT_AVAILABLE}").message


def test_ranks_that_meet_through_a_file() -> None:
    said = "NCCL WARN Connect to 10.1.2.3<4711> failed : Connection refused\n"
    assert root(f"{said}dist_init_method: file:///scratch/run/meet\n").subject == "init_method"
    assert root(said).subject == "NCCL_SOCKET_IFNAME"


def test_a_repository_that_was_removed_is_no_matter_of_a_login() -> None:
    url = "https://huggingface.co/{}/resolve/main/config.json"
    said = "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: "
    gone = root(said + url.format("decapoda-research/llama-13b-hf"))
    assert "removed" in gone.message
    assert "login" not in " ".join(gone.remedy.commands)
    other = root(said + url.format("somebody/some-model"))
    assert "there is no repository of this name" in other.message


@pytest.mark.parametrize(
    "line",
    [
        "The command cmake --build . --parallel 40 exited with code 137",
        "make[2]: *** [x.o] Error 137",
        "[proc] 命令“cmake --build out --parallel 26 --”已退出，代码为 137",
    ],
)
def test_a_build_that_was_killed(line: str) -> None:
    found = root(f"ninja: build stopped: subcommand failed.\n{line}\n")
    assert (found.kind, found.subject) == ("host-limited", "memory")


def test_slurm_that_shows_each_task_one_gpu() -> None:
    said = "RuntimeError: CUDA error: invalid device ordinal\n"
    one_each = root(f"#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-task=1\nsrun python t.py\n{said}")
    assert "--gpus-per-task=1 shows each task one GPU" in one_each.message
    assert "--gpus-per-task=1 shows" not in root(f"#SBATCH --gpus-per-node=4\nsrun python t.py\n{said}").message


def test_labels_beyond_the_classes_that_are_shown() -> None:
    said = "RuntimeError: CUDA error: device-side assert triggered\n"
    assert "NUM_CLASSES 3" in root(f"MODEL:\n  NUM_CLASSES: 3\n{said}").message
    assert "settings" not in root(said).message


SYMBOL = "ImportError: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs\n"


def test_the_one_extension_that_is_spoken_of() -> None:
    assert root(f"{SYMBOL}How do I get rid of this flash-attn problem?\n").subject == "flash-attn"
    assert root(f"{SYMBOL}Is it flash-attn or xformers, an error anyway?\n").subject == "a compiled extension"


def test_bitsandbytes_on_a_mac() -> None:
    said = "UserWarning: The installed version of bitsandbytes was compiled without GPU support.\n"
    place = "jo/venv/lib/python3.11/site-packages/bitsandbytes/cextension.py:31"
    mac = root(f"/Users/{place}: {said}")
    assert "Mac" in mac.message
    assert not mac.remedy.commands
    assert "Mac" not in root(f"/home/{place}: {said}").message


def test_an_intel_python_on_a_mac() -> None:
    offered = "2.1.0, 2.1.1, 2.1.2, 2.2.0, 2.2.1, 2.2.2"
    found = root(
        f"ERROR: Could not find a version that satisfies the requirement torch==2.6.0 (from versions: {offered})\n"
        "ERROR: No matching distribution found for torch==2.6.0\n"
    )
    assert "arm64" in found.remedy.text


def test_a_conda_release_that_never_was() -> None:
    lacks = "ResolvePackageNotFound: \n  - pytorch-cuda={}\n"
    assert "goes from 11.6 to 12.4" in root(lacks.format("11.1")).message
    assert "cudatoolkit=11.1" in root(lacks.format("11.1")).remedy.text
    assert "goes from" not in root(lacks.format("12.1")).message
    assert "up to 11.8" in root("ResolvePackageNotFound: \n  - cudatoolkit=12.1\n").message


TREE = """Could not solve for environment specs
The following packages are incompatible
├─ pytorch {asked}** is requested and can be installed;
└─ torchvision 0.12.0** is not installable because there are no viable options
   └─ torchvision 0.12.0 would require
      └─ pytorch 1.11.0 , which conflicts with any installable versions previously reported.
"""


def test_two_pins_of_a_solvers_tree_that_exclude_each_other() -> None:
    found = root(TREE.format(asked="1.12"))
    assert found.subject == "torchvision and pytorch"
    assert "torchvision 0.12.0 needs pytorch 1.11.0" in found.message
    assert judged(TREE.format(asked="1.11")).root_cause != found
    assert "torchvision and pytorch" not in {one.subject for one in judged(TREE.format(asked="1.11")).findings}


def test_an_argument_of_a_class_that_is_known_has_its_releases() -> None:
    found = root("TypeError: Accelerator.__init__() got an unexpected keyword argument 'use_seedable_sampler'\n")
    assert found.rule == "packages/changed-calls"
    assert found.severity is not None
    assert found.severity.word == "error"
    assert found.expected == "accelerate>=0.26.0,<1.0.0"


def test_files_of_a_fork_that_took_the_same_name() -> None:
    said = "ImportError: cannot import name 'is_safe' from 'transformers.utils' (/x/transformers/utils/__init__.py)\n"
    assert root(f"!pip install adapter-transformers peft\n{said}").subject == "adapter-transformers"
    assert root(f"!pip install adapters peft\n{said}").subject != "adapter-transformers"


def test_a_firewall_that_is_told_of() -> None:
    said = "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268, ncclSystemError: System call failed\n"
    assert "ip_local_port_range" in " ".join(root(f"{said}Only the ports 4000-4050 are open here.\n").remedy.commands)
    assert "NCCL_DEBUG" in " ".join(root(said).remedy.commands)


def test_an_index_for_rocm_that_was_asked() -> None:
    said = "AssertionError: Torch is not able to use GPU; add --skip-torch-cuda-test to COMMANDLINE_ARGS\n"
    asked = "Looking in indexes: https://index.example/simple, https://wheels.example/whl/rocm6.0\n"
    assert "ROCm" in root(f"{asked}{said}").message
    assert "ROCm" not in root(said).message


def test_a_gpu_of_a_fixed_number_in_a_job() -> None:
    assert "cuda:0" in root("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n").remedy.text


def test_no_device_as_numba_says_it() -> None:
    said = "numba.cuda.cudadrv.error.CudaSupportError: Error at driver init: Call to cuInit results in {}\n"
    found = root(f"Ubuntu in WSL2 here.\n{said.format('CUDA_ERROR_NO_DEVICE (100)')}")
    assert "libcuda than the one of WSL" in found.message


def test_a_python_that_has_wheels_on_other_systems_alone() -> None:
    found = root(
        "Python 3.11\nERROR: Could not find a version that satisfies the requirement torch==1.13.1 (from versions: "
        "2.0.0, 2.0.1, 2.1.0)\nERROR: No matching distribution found for torch==1.13.1\n"
    )
    assert found.rule == "interpreter/unsupported"
    assert found.remedy.commands == ("uv venv --python 3.10 .venv",)


def test_tensorflow_that_nobody_asked_for() -> None:
    said = "ImportError: DLL load failed while importing _pywrap_tf2: The specified module could not be found.\n"
    found = root(f"C:\\py\\Lib\\site-packages\\transformers\\utils\\import_utils.py\n{said}")
    assert found.subject == "tensorflow"


def test_zlib_of_cudnn_8() -> None:
    assert "zlibwapi" in root("Could not load library cudnn_cnn_infer64_8.dll. Error code 126\n").message
    assert "zlibwapi" not in root("Could not load library cudnn_cnn_infer64_9.dll. Error code 126\n").message


def test_a_compiler_that_a_person_looked_for() -> None:
    assert (
        "Microsoft's C++ compiler" in root("# error installing\nI see that `cl.exe` is called but not found.\n").message
    )


def test_a_heading_is_no_gpu() -> None:
    found = root(
        "# Pytorch and my P100 do not work\nTesla P100-PCIE-16GB with CUDA capability sm_60 is not compatible with the "
        "current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_70 sm_75 sm_80.\n"
    )
    assert "for Tesla P100" in found.message


FULL = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. "


@pytest.mark.parametrize(
    "counts",
    [
        "(GPU 0; 39.45 GiB total capacity; 3.00 GiB already allocated; 95.25 MiB free; 3.04 GiB reserved in total by "
        "PyTorch)",
        "GPU 0 has a total capacity of 23.64 GiB of which 33.12 MiB is free. Process 77 has 21.00 GiB memory in use. "
        "Including non-PyTorch memory, this process has 2.50 GiB memory in use.",
    ],
)
def test_memory_that_others_hold(counts: str) -> None:
    found = root(f"{FULL}{counts}\n")
    assert "other processes hold about" in found.message
    assert "LOCAL_RANK" in found.remedy.text


def test_memory_that_this_process_holds() -> None:
    counts = "(GPU 0; 39.45 GiB total capacity; 36.00 GiB already allocated; 1.25 MiB free; 37.04 GiB reserved in total"
    assert "other processes hold" not in root(f"{FULL}{counts} by PyTorch)\n").message


def test_a_torch_for_amd_on_windows() -> None:
    said = (
        'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\p\\torch\\lib\\{}.dll"\n'
    )
    assert "ROCm" in root(said.format("c10_hip")).message
    assert "ROCm" not in root(said.format("c10")).message


@pytest.mark.parametrize("callee", ["Trainer.init", "Trainer.**init**", "Trainer.__init__"])
def test_underscores_that_bold_print_took(callee: str) -> None:
    found = root(f"TypeError: {callee}() got an unexpected keyword argument 'processing_class'\n")
    assert found.subject == "transformers"


def test_a_library_of_a_newer_cuda_than_tensorflows() -> None:
    line = "W tensorflow/x.cc:60] Could not load dynamic library 'libcusolver.so.11'; dlerror: libnvJitLink.so.12:"
    assert root(f"{line} cannot open shared object file\n").subject == "TensorFlow"


def test_nvml_that_the_system_below_refuses() -> None:
    found = root("Failed to initialize NVML: GPU access blocked by the operating system\n")
    assert "dxgkrnl" in found.message
    assert "No NVIDIA driver" not in found.message


def test_a_schedule_that_goes_on_without_its_optimizer() -> None:
    said = "KeyError: \"param 'initial_lr' is not specified in param_groups[0] when resuming an optimizer\"\n"
    assert "last_epoch=-1" in root(said).remedy.text


APPLE = "`macosx_11_0_arm64`, `manylinux_2_28_aarch64`"


@pytest.mark.parametrize(
    ("mine", "others", "expected"),
    [
        ("You're on macOS (`macosx_14_0_x86_64`)", APPLE, "uv python install cpython-3.12-macos-aarch64"),
        (
            "You're on macOS (`macosx_14_0_x86_64`)",
            "`manylinux_2_28_aarch64`, `win_amd64`",
            "uv lock --upgrade-package",
        ),
        ("You're on macOS (`macosx_14_0_arm64`)", "`macosx_10_9_x86_64`", "uv lock --upgrade-package"),
    ],
)
def test_a_mac_s_processor_is_told_from_its_system(mine: str, others: str, expected: str) -> None:
    line = f"hint: {mine}, but `onnx` (v1.19.0) only has wheels for the following platforms: {others}"
    found = root(line)
    assert any(command.startswith(expected) for command in found.remedy.commands)
    assert "this is a Mac" not in found.message


CUDA_HOME = "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.\n"


@pytest.mark.parametrize("card", ["My card is an RX 7900 XTX", "Linux, AMD 6900 XT GPU", "target gfx1100"])
def test_no_cuda_toolkit_is_needed_for_an_amd_card(card: str) -> None:
    found = root(f"{card}\n{CUDA_HOME}")
    assert "AMD" in found.message
    assert "is needed" not in found.message
    assert "ROCm" in found.remedy.text


@pytest.mark.parametrize(
    "card", ["AMD Ryzen 9 5950X and an NVIDIA GeForce RTX 3080", "GTX 1080, Radeon in the processor"]
)
def test_a_cuda_toolkit_is_needed_for_nvidias(card: str) -> None:
    assert "needed to compile" in root(f"{card}\n{CUDA_HOME}").message
