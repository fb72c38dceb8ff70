"""Errors that say by their words alone what is wrong: each with its kind, and with commands for its system."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read
from envdoctor.knowledge.errors import ERRORS
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.causes import KINDS
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.finding import ERROR
from envdoctor.rules.packages.known_errors import known_errors
from tests.rules.judging import skipped

RULES = load_rules()
CAUSES = [
    (
        "hint: This error likely indicates that `causal-conv1d@1.5.0` depends on `torch`, but doesn't "
        "declare it as a build dependency",
        "package-conflict",
        "causal-conv1d build isolation",
    ),
    (
        "ERROR: Cannot install a==1 and b==2 because these package versions have conflicting dependencies.",
        "package-conflict",
        "a==1 and b==2",
    ),
    (
        "ERROR: ResolutionImpossible: for help visit the documentation",
        "package-conflict",
        "requirements",
    ),
    (
        "Because foo==1.0 has no wheels with a matching Python ABI tag (e.g., `cp314`), foo==1.0 cannot be used.",
        "python-unsupported",
        "python",
    ),
    (
        "ERROR: torch-2.3.0-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.",
        "python-unsupported",
        "torch",
    ),
    (
        "ERROR: No matching distribution found for triton==2.1.0",
        "triton-mismatch",
        "triton",
    ),
    (
        "ERROR: No matching distribution found for xformers==0.0.20",
        "extension-binary-missing",
        "xformers",
    ),
    (
        "ERROR: Failed building wheel for tokenizers",
        "python-unsupported",
        "tokenizers",
    ),
    (
        "ERROR: Failed building wheel for mamba-ssm",
        "extension-binary-missing",
        "mamba-ssm",
    ),
    (
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
        "nvcc-mismatch",
        "nvcc",
    ),
    (
        "nvcc fatal   : Unsupported gpu architecture 'compute_120'",
        "nvcc-mismatch",
        "nvcc",
    ),
    (
        "#error -- unsupported GNU version! gcc versions later than 12 are not supported!",
        "nvcc-mismatch",
        "nvcc",
    ),
    (
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
        "triton-mismatch",
        "torch.compile",
    ),
    (
        "RuntimeError: Windows not yet supported for torch.compile",
        "triton-mismatch",
        "triton",
    ),
    (
        "RuntimeError: HIP error: invalid device function",
        "no-kernels-for-gpu",
        "the AMD GPU",
    ),
    (
        "nvrtc: error: invalid value for --gpu-architecture (-arch)",
        "no-kernels-for-gpu",
        "torch",
    ),
    (
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        "driver-too-old",
        "driver",
    ),
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.",
        "config-mismatch",
        "precision",
    ),
    (
        "RuntimeError: The server socket has failed to listen: errno: 98 - Address already in use",
        "config-mismatch",
        "port",
    ),
    (
        "RuntimeError: use_libuv was requested but PyTorch was built without libuv support",
        "config-mismatch",
        "USE_LIBUV",
    ),
    (
        "AttributeError: partially initialized module 'torchvision' has no attribute 'extension'",
        "torch-pair-mismatch",
        "torchvision",
    ),
    (
        'OSError: [WinError 1114] initialization routine failed. Error loading "C:\\e\\torch\\lib\\c10.dll"',
        "known-broken-version",
        "torch",
    ),
    (
        "ImportError: libmkl.so: undefined symbol: iJIT_NotifyEvent",
        "package-conflict",
        "mkl",
    ),
    (
        "RuntimeError: GET was unable to find an engine to execute this computation",
        "cudnn-mismatch",
        "cuDNN",
    ),
    (
        "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!",
        "cudnn-mismatch",
        "cuDNN",
    ),
    (
        "ModuleNotFoundError: No module named 'selective_scan_cuda'",
        "extension-binary-missing",
        "selective_scan_cuda",
    ),
    (
        "NameError: name '_C' is not defined [raised in groundingdino]",
        "extension-binary-missing",
        "an extension",
    ),
    (
        "Error named symbol not found at line 529 in file /src/csrc/ops.cu",
        "extension-binary-missing",
        "bitsandbytes",
    ),
    (
        "ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found",
        "extension-abi-mismatch",
        "the system's C or C++ library",
    ),
    (
        "ModuleNotFoundError: No module named 'triton.ops'",
        "package-conflict",
        "bitsandbytes",
    ),
    (
        "ModuleNotFoundError: No module named 'numpy._core'",
        "numpy-abi",
        "numpy",
    ),
    (
        "ValueError: Your currently installed version of Keras is Keras 3, but this is not yet supported in "
        "Transformers.",
        "package-conflict",
        "keras",
    ),
    (
        "GPU available: True (cuda), used: False",
        "config-mismatch",
        "accelerator",
    ),
    (
        "ValueError: Model architectures ['Qwen9ForCausalLM'] are not supported for now.",
        "package-conflict",
        "the library that loads the model",
    ),
    ("ModuleNotFoundError: No module named 'sentencepiece'", "package-missing", "sentencepiece"),
    ("ModuleNotFoundError: No module named 'cv2'", "package-missing", "opencv-python-headless"),
    ("ModuleNotFoundError: No module named 'torch'", "package-missing", "torch"),
    ("ImportError: No bitsandbytes / the optimizer cannot be made", "package-missing", "bitsandbytes"),
    ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "package-missing", "opencv"),
    ("error: externally-managed-environment", "interpreter", "the system's Python"),
    ("requests.exceptions.SSLError: certificate verify failed", "host-limited", "certificates"),
    ("RuntimeError: Ninja is required to load C++ extensions", "package-missing", "ninja"),
    ("a.cu:4:10: fatal error: cusparse.h: No such file or directory", "nvcc-mismatch", "the CUDA toolkit"),
    ("main.c:1:10: fatal error: Python.h: No such file or directory", "triton-mismatch", "torch.compile"),
    ("/usr/bin/ld: cannot find -lcurand", "nvcc-mismatch", "libcurand"),
    ("RuntimeError: Compiler: cl is not found.", "triton-mismatch", "Visual C++"),
    (
        "ImportError: /h/.cache/torch_extensions/a/a.so: undefined symbol: _ZNSt3foo",
        "extension-abi-mismatch",
        "torch_extensions",
    ),
    ("RuntimeError: CUDA error: operation not supported", "config-mismatch", "CUDA"),
    ("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'", "config-mismatch", "the device"),
    (
        "RuntimeError: Expected all tensors to be on the same device, but found cuda:0 and cpu!",
        "script-wrong",
        "devices",
    ),
    ("RuntimeError: expected scalar type Float but found Half", "script-wrong", "number formats"),
    ("ValueError: Attempting to unscale FP16 gradients.", "script-wrong", "fp16"),
    ("IndexError: index out of range in self", "script-wrong", "indices"),
    (
        "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        "script-wrong",
        "gradients",
    ),
    (
        "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
        "script-wrong",
        "a file of weights",
    ),
    ("ValueError: Target modules {'a'} not found in the base model.", "script-wrong", "target_modules"),
    ("RuntimeError: Dataset scripts are no longer supported, but found a.py", "package-conflict", "datasets"),
    ("huggingface_hub.errors.GatedRepoError: 403 Client Error.", "config-mismatch", "access to the Hub"),
    ("OSError: We couldn't connect to 'https://hub.example' to load this file", "host-limited", "the Hub"),
    ("ValueError: Default process group has not been initialized, please call", "config-mismatch", "the launcher"),
    (
        "ncclInvalidUsage: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device",
        "config-mismatch",
        "processes",
    ),
    ("RuntimeError: Distributed package doesn't have NCCL built in", "config-mismatch", "the backend"),
    ("failed (exitcode: -9) local_rank: 0 (pid: 12) of binary: python", "host-limited", "memory"),
    ("OSError: [WinError 1455] The paging file is too small for this operation", "host-limited", "memory"),
    (
        "ValueError: Free memory on device (1/24 GiB) is less than desired GPU memory utilization",
        "config-mismatch",
        "vLLM",
    ),
    (
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
        "gpu-not-visible",
        "NVIDIA Container Toolkit",
    ),
    (
        "RuntimeError: \"_amp_foreach_non_finite_check_and_unscale_cuda\" not implemented for 'BFloat16'",
        "config-mismatch",
        "mixed precision",
    ),
    ("TypeError: argument of type 'WindowsPath' is not iterable", "extension-binary-missing", "bitsandbytes"),
    ('sample_gpu.cu(77): error: identifier "THArgCheck" is undefined', "package-conflict", "torch"),
    (
        "host_config.h(153): fatal error C1189: #error: -- unsupported Microsoft Visual Studio version!",
        "nvcc-mismatch",
        "nvcc",
    ),
    (
        "RuntimeError: Unable to initialize backend 'cuda': INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version "
        "(0.61) and framework PJRT API version 0.54).",
        "package-conflict",
        "JAX",
    ),
    ("ResourceExhaustedError: OOM when allocating tensor with shape[8,512,64,64]", "script-wrong", "GPU memory"),
    (
        "RuntimeError: Error in faiss::FileIOWriter at io.cpp:98: 'f' failed: could not open logs/名/a.index for "
        "writing: Illegal byte sequence",
        "config-mismatch",
        "the path",
    ),
]


def judged(text: str) -> Diagnosis:
    return diagnose(read(text), no_target(), RULES)


@pytest.mark.parametrize(("line", "kind", "subject"), CAUSES, ids=[line[:40] for line, _, _ in CAUSES])
def test_the_line_alone_names_the_cause(line: str, kind: str, subject: str) -> None:
    found = judged(line)
    assert found.crashed == ()
    assert found.root_cause is not None
    assert (found.root_cause.kind, found.root_cause.subject) == (kind, subject)
    assert found.root_cause.remedy.text


def test_each_row_has_what_it_needs() -> None:
    rows = list(ERRORS)
    assert len(rows) > 50
    for row in rows:
        assert row.kind in KINDS, row
        assert row.pattern.search("") is None, row
        assert row.source.startswith("https://"), row
        assert not row.meaning.endswith("."), row
        assert not row.usually.endswith("."), row
        assert not (row.usually and row.guess), f"what is likely is said twice: {row}"
        assert row.remedy.endswith("."), row
        groups = set(row.pattern._compiled.groupindex) | {
            "built",
            "distribution",
            "cuda",
            "headers",
            "name",
            "older",
            "python",
        }
        groups |= {"gxx", "distribution", "gcc_bound", "with_wheels", "toolkit", "dgl", "dgl_for"}
        for text in (row.subject, row.meaning, row.usually, row.remedy, *row.commands, *row.windows):
            assert set(_holes(text)) <= groups, row


def _holes(text: str) -> list[str]:
    import re

    return re.findall(r"\{(\w+)\}", text)


def test_what_is_likely_is_told_from_what_is_certain() -> None:
    root = judged("ValueError: num_samples should be a positive integer value, but got num_samples=0").root_cause
    assert root is not None
    assert root.severity is ERROR
    certain, likely = root.message.split(". Usually ")
    assert certain.startswith("The dataset is empty: ")
    assert "filter" in likely
    assert "filter" not in certain


def test_windows_gets_windows_commands() -> None:
    line = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable."
    linux, windows = judged(line).root_cause, judged(f"C:\\env\\Lib\\site-packages\\torch\\x.py\n{line}").root_cause
    assert linux is not None
    assert windows is not None
    assert linux.remedy.commands[0].startswith("apt-get")
    assert windows.remedy.commands[0].startswith("winget")


def test_a_name_from_outside_becomes_no_command() -> None:
    found = judged("hint: This error likely indicates that x;reboot@1.0 depends on `torch`, but doesn't declare it")
    commands = [command for one in found.findings for command in one.remedy.commands]
    assert not any("reboot" in command for command in commands)


def test_without_error_lines_nothing_is_judged() -> None:
    from envdoctor.facts.model import Facts

    assert skipped(known_errors, Facts())


@pytest.mark.parametrize(
    ("line", "subject", "word"),
    [
        (
            "size mismatch for a.lora_B.weight: copying a param with shape torch.Size([0]) from checkpoint, the shape "
            "in current model is torch.Size([64, 8]).",
            "the checkpoint",
            "ZeRO-3",
        ),
        (
            "size mismatch for a.lora_B.weight: copying a param with shape torch.Size([64, 8]) from checkpoint, the "
            "shape in current model is torch.Size([64, 16]).",
            "the checkpoint",
            "rank 8",
        ),
        ("AttributeError: 'Accelerator' object has no attribute 'deepspeed_engine_wrapped'", "accelerate", "prepare"),
        ("ImportError: cannot import name 'LlavaConfig' from 'llava.model'", "llava", "swallows"),
        ("AttributeError: 'FieldInfo' object has no attribute 'required'", "pydantic", "pydantic 1"),
    ],
)
def test_what_a_model_of_another_time_or_place_says(line: str, subject: str, word: str) -> None:
    found = [one for one in judged(line).findings if one.severity.word in ("error", "warning")]
    assert [one.subject for one in found] == [subject]
    assert word in found[0].message
    assert (found[0].severity.word == "warning") == ("most often" in found[0].message)  # a guess is said as one


@pytest.mark.parametrize(
    ("release", "version"), [("1.19.3", "3.9"), ("1.24.4", "3.11"), ("1.26.4", "3.12"), ("1.16.0", "3.8")]
)
def test_sources_of_an_old_release_get_the_python_of_its_wheels(release: str, version: str) -> None:
    log = f"Collecting numpy\n  Using cached numpy-{release}.tar.gz (7 MB)\n  error: subprocess-exited-with-error\n"
    root = judged(log).root_cause
    assert root is not None
    assert (root.kind, root.subject) == ("python-unsupported", "numpy")
    assert root.remedy.commands == (f"uv venv --python {version} .venv",)


@pytest.mark.parametrize(
    ("module", "package"), [("cv2", "opencv-python-headless"), ("Crypto", "pycryptodome"), ("hydra", "hydra-core")]
)
def test_a_module_that_is_missing_is_installed_by_its_distribution(module: str, package: str) -> None:
    root = judged(f"ModuleNotFoundError: No module named '{module}'").root_cause
    assert root is not None
    assert (root.subject, root.remedy.commands) == (package, (f"python -m pip install {package}",))


def test_a_log_that_lists_onnxruntime_for_the_processor_tells_whose_files_are_imported() -> None:
    log = "ONNX Runtime CPU package installed with version: 1.16.3\n"
    warning = "WARNING:CUDAExecutionProvider not available in ONNXruntime, acceleration will NOT be enabled\n"
    (found,) = judged(log + warning).findings
    assert "for the processor alone, is installed" in found.message


def test_no_mmcv_fits_packages_of_both_its_times() -> None:
    older = "AssertionError: MMCV==2.1.0 is used but incompatible. Please install mmcv>=1.3.8, <=1.7.0.\n"
    newer = "AssertionError: MMCV==1.7.0 is used but incompatible. Please install mmcv>=2.0.0rc4, <2.2.0.\n"
    (found,) = judged(older + newer).findings
    assert "no release of mmcv fits both" in found.message


@pytest.mark.parametrize(
    ("text", "subject", "word"),
    [
        (
            "Complete output from command python setup.py egg_info:\nSyntaxError: invalid syntax\n",
            "python",
            "the Python that pip belongs to",
        ),
        (
            'File "/w/llm-awq/awq/entry.py", line 9, in <module>\nModuleNotFoundError: No module named '
            "'awq_inference_engine'\n",
            "awq-inference-engine",
            "awq/kernels",
        ),
    ],
)
def test_what_stands_beside_an_error_tells_whose_it_is(text: str, subject: str, word: str) -> None:
    root = judged(text).root_cause
    assert root is not None
    assert root.subject == subject
    assert word in root.message
