"""Logs of installs and builds whose decisive line stands in the middle, or whose end is cut: which cause is named, and
whether the remedy is one of the text's own system."""

from __future__ import annotations

import pytest

from envdoctor.rules.diagnose import Diagnosis
from envdoctor.rules.finding import Finding
from tests.rules.packages.test_known_errors import judged


def root(text: str) -> Finding:
    found = judged(text).root_cause
    assert found is not None, "nothing explains it"
    return found


def first(found: Diagnosis) -> str:
    return found.root_cause.subject if found.root_cause else ""


# -------------------- what a build asks for before it compiles

ISOLATED = [
    "Getting requirements to build wheel ... error\n  error: subprocess-exited-with-error\n"
    "  × Getting requirements to build wheel did not run successfully.\n  Traceback (most recent call last):\n"
    '    File "/tmp/pip-build-env-a1/overlay/lib/python3.11/site-packages/setuptools/build_meta.py", line 331, in '
    "get_requires_for_build_wheel\n",
    "  × Failed to build `causal-conv1d==1.4.0`\n  ├─▶ The build backend returned an error\n"
    "  ╰─▶ Call to `setuptools.build_meta:__legacy__.get_requires_for_build_wheel` failed (exit status: 1)\n",
    "#9 7.30   Getting requirements to build editable: started\n"
    "#9 7.50   Getting requirements to build editable: finished with status 'error'\n"
    'ERROR: failed to solve: process "pip install -e ." did not complete successfully: exit code: 1\n',
    "ChefBuildError\nBackend subprocess exited when trying to invoke get_requires_for_build_wheel\nNote: This error "
    "originates from the build backend, and is likely not a problem with poetry but with flash-attn (2.5.8)\n",
    "Collecting mamba-ssm\n  Preparing metadata (setup.py) ... error\n  error: subprocess-exited-with-error\n"
    "  × python setup.py egg_info did not run successfully.\n",
]


@pytest.mark.parametrize("log", ISOLATED)
def test_a_cut_log_of_what_a_build_asks_for_is_no_compilers_fault(log: str) -> None:
    cause = root(f"Cannot install flash-attn, nor mamba-ssm\n\n{log}")
    assert (cause.kind, cause.subject) == ("package-conflict", "build isolation")
    assert "torch" in cause.message.partition("Usually")[2]
    assert "without build isolation" in cause.remedy.text
    assert "gcc" not in cause.message


def test_of_a_package_that_needs_no_torch_its_age_is_what_is_likely() -> None:
    cause = root("pip install scikit-image==0.17\n\n× Getting requirements to build wheel did not run successfully.\n")
    assert "older than this Python" in cause.message
    assert "install torch first" not in cause.remedy.text.lower()


@pytest.mark.parametrize(
    ("end", "subject"),
    [
        ("ModuleNotFoundError: No module named 'torch'", "build isolation"),
        ("AttributeError: module 'pkgutil' has no attribute 'ImpImporter'", "python"),
        ("error: can't find Rust compiler", "a Rust package"),
    ],
)
def test_a_log_that_has_its_end_is_judged_by_it(end: str, subject: str) -> None:
    found = judged(f"flash-attn\n× Getting requirements to build wheel did not run successfully.\n{end}\n")
    assert first(found) == subject
    assert "before the error itself" not in found.root_cause.message  # type: ignore[union-attr]


# -------------------- compilers


def test_a_compiler_that_is_not_found_comes_before_what_a_person_says_of_cuda() -> None:
    text = (
        "I set CUDA_PATH to the conda package, and then\n"
        "`/home/me/miniconda3/pkgs/cudatoolkit-11.3.1-h2bc3f7f_2/bin/nvcc: not found`\n\n"
        "CUDA is not available in the system.\n"
    )
    cause = root(text)
    assert (cause.kind, cause.subject) == ("nvcc-mismatch", "nvcc")
    assert "no compiler" in cause.message
    assert "cuda-nvcc" in cause.remedy.text


@pytest.mark.parametrize(
    "line",
    [
        "sh: 1: /opt/conda/envs/x/bin/nvcc: not found",
        "/home/me/mambaforge/envs/x/bin/nvcc: command not found",
    ],
)
def test_an_environment_of_conda_without_nvcc_is_named(line: str) -> None:
    assert "folder of conda" in root(f"{line}\nerror: command 'nvcc' failed with exit status 127\n").message


def test_nvcc_elsewhere_is_no_matter_of_conda() -> None:
    assert "conda" not in root("/bin/sh: 1: nvcc: not found\nmake: *** [all] Error 127\n").message


def test_nvcc_that_is_no_file_is_no_c_compiler() -> None:
    cause = root("error: command '/usr/local/cuda/bin/nvcc' failed: No such file or directory\n")
    assert cause.subject == "nvcc"
    assert root("error: command '/usr/bin/gcc' failed: No such file or directory\n").subject == "the C compiler"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "host_config.h:82:2: error: #error -- unsupported\nGNU version! gcc 4.5 and up are not supported!",
            "of 4.5 or",
        ),
        (
            "host_config.h:105:2: error: #error -- unsupported GNU version! gcc 4.7 and up are not supported!",
            "of 4.7 or",
        ),
        ("#error -- unsupported GNU version! gcc versions later than 4.9 are not supported!", "newer than 4.9"),
        ("#error -- unsupported GNU version! gcc versions later than 6 are not supported!", "newer than 6"),
    ],
)
def test_the_compiler_that_a_toolkit_takes_is_read_from_its_words(line: str, words: str) -> None:
    cut = 'Traceback (most recent call last):\n  File "setup.py", line 175, in <module>\n  File "/usr/li\n'
    cause = root(f"building the extension\n{line}\n{cut}")
    assert words in cause.message
    assert "10.1 and 10.2: gcc 8" in cause.remedy.text or "4.0: 4.4" in cause.remedy.text


def test_a_compiler_that_was_killed_is_given_fewer_jobs() -> None:
    log = "[57/73] /usr/local/cuda/bin/nvcc -c a.cu\nKilled\nninja: build stopped: subcommand failed.\n"
    cause = root(log)
    assert cause.rule == "host/memory"
    assert "MAX_JOBS" in cause.remedy.text
    assert "low_cpu_mem_usage" in root("python train.py\nKilled\n").remedy.text


def test_a_setup_that_asks_for_a_gpu_is_told_apart_from_a_run_without_one() -> None:
    cause = root('  File "setup.py", line 30, in get_extensions\nNotImplementedError: Cuda is not availabel\n')
    assert cause.kind == "nvcc-mismatch"
    assert "CUDA_HOME" in cause.remedy.text


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("fatal error: 'hipblas/hipblas.h' file not found", "ROCm"),
        ("fatal error: 'jpeglib.h' file not found", "jpeglib.h"),
        ("fatal error C1083: Cannot open include file: 'type_traits': No such file or directory", "Visual C++"),
        ("Your installed Caffe2 version uses CUDA but I cannot find the CUDA", "nvcc"),
    ],
)
def test_a_header_or_toolkit_that_is_missing_is_named(line: str, subject: str) -> None:
    assert root(f"{line}\nninja: build stopped: subcommand failed.\n").subject == subject


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('error: namespace "at::cuda" has no member "getCurrentCUDAStream"', "getCurrentCUDAStream of at::cuda"),
        ("x.cpp:9:12: error: 'IntList' is not a member of 'at'", "IntList of at"),
        ("x.cpp(9): error C2039: 'nullopt': is not a member of 'c10'", "nullopt of c10"),
    ],
)
def test_sources_of_another_time_than_torch_are_named(line: str, words: str) -> None:
    cause = root(f"{line}\nerror: command '/usr/local/cuda/bin/nvcc' failed with exit code 1\n")
    assert cause.subject == "the extension's sources"
    assert words in cause.message


def test_a_file_of_a_submodule_that_was_not_fetched() -> None:
    line = "error: [Errno 2] No such file or directory: 'third_party/cutlass/include/gemm.h'"
    assert root(line).subject == "a submodule"
    assert first(judged("error: [Errno 2] No such file or directory: 'data/train.json'")) != "a submodule"


def test_pybind_in_a_file_for_nvcc_on_windows() -> None:
    header = r"C:/v/lib/site-packages/torch/include\pybind11/cast.h(1429)"
    cause = root(f'{header}: error: too few arguments for template template parameter "Tuple"\nninja: build stopped\n')
    assert "torch/types.h" in cause.remedy.text


def test_apexs_comparison_without_its_end_is_hedged() -> None:
    frames = (
        'Traceback (most recent call last):\n  File "/w/apex/setup.py", line 137, in <module>\n'
        "    check_cuda_torch_binary_vs_bare_metal(CUDA_HOME)\n"
    )
    cause = root(f"apex does not install\n{frames}")
    assert (cause.severity.word if cause.severity else "", cause.kind) == ("warning", "nvcc-mismatch")


# -------------------- DeepSpeed


@pytest.mark.parametrize(
    "title",
    ["CPU offload: CUDAVersionError", "CUDA Version Mismatch Error with ZeRO-3", "CUDAVersionMismatchException"],
)
def test_a_title_names_the_check_that_a_launchers_line_hides(title: str) -> None:
    frame = '  File "/v/site-packages/deepspeed/runtime/engine.py", line 1230, in _configure_optimizer\n'
    cause = root(f"{title}\n{frame}torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n")
    assert (cause.kind, cause.subject) == ("nvcc-mismatch", "nvcc")
    assert "torch.version.cuda" in cause.message.partition("Usually")[2]


def test_a_run_that_ends_where_deepspeed_compiles_is_a_warning() -> None:
    text = (
        '  File "/v/site-packages/deepspeed/ops/adam/fused_adam.py", line 94, in __init__\n'
        "    fused_adam_cuda = FusedAdamBuilder().load()\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
    )
    cause = root(text)
    assert cause.subject == "DeepSpeed's operators"
    assert cause.severity is not None
    assert cause.severity.word == "warning"
    known = judged(f"{text}torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    assert "DeepSpeed's operators" not in {one.subject for one in known.findings}


# -------------------- Windows


def test_on_windows_nothing_of_linux_is_advised() -> None:
    path = r"C:\Users\me\AppData\Local\Temp\pip-install-x\flash-attn_1\setup.py:78"
    cause = root(f"{path}: UserWarning: flash_attn was requested, but nvcc was not found.\n")
    assert "/usr/local" not in cause.remedy.text
    assert "%CUDA_HOME%" in cause.remedy.text
    linux = root("/tmp/pip-install-x/flash-attn_1/setup.py:78: UserWarning: nvcc was not found.\n")
    assert "/usr/local/cuda" in linux.remedy.text


def test_a_build_for_windows_is_told_of_wsl_and_the_native_prompt() -> None:
    line = "ERROR: Failed building wheel for flash-attn\n"
    assert "x64 Native Tools" in root(f"{line}C:\\w\\setup.py\n").remedy.text
    assert "x64 Native Tools" not in root(line).remedy.text


def test_deepspeeds_setup_without_torch_is_told_without_its_end() -> None:
    line = "[WARNING] Unable to import torch, pre-compiling ops will be disabled.\n"
    assert root(f"{line}Traceback (most recent call last):\n").subject == "build isolation"
    done = judged(f"{line}Successfully installed deepspeed-0.14.4\n")
    assert "build isolation" not in {one.subject for one in done.findings}


def test_the_loaders_variable_is_path_on_windows() -> None:
    line = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n"
    assert "LD_LIBRARY_PATH" in root(line).remedy.text
    windows = root(rf'  File "C:\work\train.py", line 3, in <module>{chr(10)}{line}').remedy.text
    assert "LD_LIBRARY_PATH" not in windows
    assert "PATH" in windows


@pytest.mark.parametrize(
    "line",
    [
        "CUDA SETUP: WARNING! libcuda.so not found! Do you have a CUDA driver installed?",
        "[WinError 193] %1 is not a valid Win32 application",
    ],
)
def test_an_old_bitsandbytes_has_no_build_for_windows(line: str) -> None:
    cause = root(f"{line}\nD:\\ui\\venv\\lib\\site-packages\\bitsandbytes\\libbitsandbytes_cuda116.dll\n")
    assert cause.subject == "bitsandbytes"
    assert "ldconfig" not in cause.remedy.text
    assert "0.43" in cause.remedy.text


def test_bitsandbytes_on_linux_is_not_told_of_windows() -> None:
    cause = root("CUDA SETUP: WARNING! libcuda.so not found! Do you have a CUDA driver installed?\n")
    assert cause.subject == "libcuda.so"
    assert root("OSError: [WinError 193] %1 is not a valid Win32 application\n").subject == "a library"


# -------------------- TensorFlow


@pytest.mark.parametrize(
    ("library", "cuda", "release"),
    [
        ("cudart64_100.dll", "10.0", "1.13"),
        ("cudart64_110.dll", "11", "2.4"),
        ("cudart64_90.dll", "9.0", "1.5 to 1.12"),
        ("libcudart.so.10.1", "10.1", "2.1 to 2.3"),
        ("libcublas.so.10.0", "10.0", "1.13"),
    ],
)
def test_tensorflow_names_its_cuda_by_the_librarys_number(library: str, cuda: str, release: str) -> None:
    place = "tensorflow/stream_executor/platform/default/dso_loader.cc:55"
    cause = root(f"W {place}] Could not load dynamic library '{library}'; dlerror: {library}: not found\n")
    assert cause.subject == "TensorFlow"
    assert f"built for CUDA {cuda} " in cause.message
    assert release in cause.remedy.text
    assert "torch" not in cause.message + cause.remedy.text
    assert ("LD_LIBRARY_PATH" in cause.remedy.text) is library.endswith(("0", "1"))


def test_a_library_that_torchs_extension_asks_for_is_none_of_tensorflows() -> None:
    cause = root("ImportError: libcudart.so.10.1: cannot open shared object file: No such file or directory\n")
    assert "TensorFlow" not in cause.message


# -------------------- AMD


@pytest.mark.parametrize(
    "text",
    [
        "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)\n#0 in () at libamdhip64.so.5\n",
        "Segmentation fault (core dumped)\npython3: segfault at 20 error 4 in libamdhip64.so[7f3e]\nRadeon 680M\n",
        "webui exited with code 139\nRX 7900 XTX, rocm/pytorch:rocm5.4.3\n",
    ],
)
def test_a_crash_on_rocm_is_of_a_gpu_without_code(text: str) -> None:
    cause = root(text)
    assert (cause.kind, cause.subject) == ("no-kernels-for-gpu", "the AMD GPU")
    assert "9.0.0 for gfx90c" in cause.remedy.text


@pytest.mark.parametrize(
    "text",
    [
        "Segmentation fault (core dumped)\nROCM used to build PyTorch: N/A\n",
        "$ rocminfo\nROCk module is loaded\nSegmentation fault\nStarting program: /usr/bin/rocminfo\n/opt/rocm\n",
        "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)\nRTX 3090, cu118\n",
    ],
)
def test_a_crash_elsewhere_is_not(text: str) -> None:
    assert "the AMD GPU" not in {one.subject for one in judged(text).findings}


@pytest.mark.parametrize("card", ["GPU: RX 7900 XTX", "GPU 0: AMD Radeon RX 6800"])
def test_a_card_of_amd_is_not_said_to_be_nvidias(card: str) -> None:
    rocm = judged(f"{card}\ntorch 2.2.0+rocm5.7\nRuntimeError: HIP error: invalid device function\n")
    assert not any("NVIDIA's (" in one.message for one in rocm.findings)
    cuda = judged(f"{card}\nPyTorch version: 2.2.0+cu121\nIs CUDA available: False\nCUDA used to build PyTorch: 12.1\n")
    assert cuda.root_cause is not None
    assert cuda.root_cause.kind == "torch-cpu-only"
    assert "ROCm" in cuda.root_cause.remedy.text


# -------------------- what the project itself compiles


@pytest.mark.parametrize(
    "script",
    ["nvcc -c nms.cu -arch=sm_52", "CUDA_MODELS=(61)", "'-gencode', 'arch=compute_70,code=sm_70'"],
)
def test_a_script_that_names_one_architecture_is_where_to_look(script: str) -> None:
    text = f"cudaCheckError() failed : no kernel image is available for execution on the device\nmake.sh has {script}\n"
    cause = root(text)
    assert "build script" in cause.message
    assert "compute capability" in cause.remedy.text
    assert "Blackwell" not in cause.remedy.text


def test_an_extension_beside_a_torch_that_covers_the_gpu_has_scripts_of_its_own() -> None:
    line = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    facts = f"torch 1.12.1+cu113, Tesla V100\n{line}"
    assert "every build script" in root(f"{facts}setup.py has arch=compute_80,code=sm_80\n").remedy.text
    assert "every build script" not in root(facts).remedy.text


def test_without_such_a_script_the_build_of_the_program_is_blamed() -> None:
    cause = root("cudaCheckError() failed : no kernel image is available for execution on the device\n")
    assert "build script" not in cause.message


@pytest.mark.parametrize("told", ["I simply run `python build.py` after the upgrade.", "Then I recompiled it."])
def test_what_was_built_just_now_was_not_built_for_another_release(told: str) -> None:
    line = "ImportError: /w/_ext/my_lib/_my_lib.so: undefined symbol: state"
    built = [one for one in judged(f"{line}\n\n{told}\n").findings if one.rule == "packages/known-errors"]
    assert built
    assert "no longer gives it out" in built[0].message
    assert "another release" not in built[0].message
    assert "another release" in judged(line).findings[0].message


def test_a_new_build_that_does_not_load_may_have_used_old_objects() -> None:
    line = "ImportError: /home/me/mmcv/mmcv/_ext.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZNK3c107SymBool\n"
    cause = root(f"{line}I cloned it and compiled it again under torch 2.1.0.\n")
    assert "used again" in cause.message
    assert "delete its folder build" in cause.remedy.text
    assert "used again" not in root(line).message
