"""The GPU beside torch: whose message it is comes from the text, and a notice is not told as the failure."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding
from tests.rules.packages.test_known_errors import judged


def root(text: str) -> Finding:
    found = judged(text).root_cause
    assert found is not None, "nothing explains it"
    return found


def said_of(text: str) -> str:
    return " ".join(f"{one.message} {one.remedy.text}" for one in judged(text).findings)


SAYS: list[tuple[str, str, str]] = [  # a message, a word of its explanation, a word of its remedy
    (
        "WARNING:jax: An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed.",
        "JAX",
        "jax",
    ),
    (
        "RuntimeError: Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present.",
        "JAX",
        "jax",
    ),
    (
        "RuntimeError: Found CUDA version 12010, but JAX was built against version 12020, which is newer.",
        "12020",
        "jax",
    ),
    ("RuntimeError: Found cuDNN version 8700, but JAX was built against version 8904, which is newer.", "8904", "jax"),
    ("RuntimeError: Unable to load cuPTI. Is it installed?", "cuPTI", "jax"),
    (
        "RuntimeError: jaxlib is version 0.4.30, but this version of jax requires version >= 0.4.34.",
        "jaxlib",
        "together",
    ),
    (
        "RuntimeError: This version of jaxlib was built using AVX instructions, which your CPU and/or operating system "
        "do not support.",
        "AVX",
        "arm64",
    ),
    ("InternalError: libdevice not found at ./libdevice.10.bc [Op:Cast]", "libdevice", "nvidia-cuda-nvcc"),
    ("XlaRuntimeError: FAILED_PRECONDITION: Couldn't get ptxas version string", "ptxas", "PATH"),
    ("XlaRuntimeError: INTERNAL: ptxas fatal   : Value 'sm_120a' is not defined for option 'gpu-name'", "XLA", "PATH"),
    (
        "Ignoring visible gpu device (device: 0, name: GeForce 840M, compute capability: 5.0) with Cuda compute "
        "capability 5.0. The minimum required Cuda capability is 6.0.",
        "begins at 6.0",
        "older TensorFlow",
    ),
    (
        "Ignoring visible gpu device (device: 0, name: RX, pci bus id: 0000:03:00.0) with AMDGPU version : gfx1031. "
        "The supported AMDGPU versions are gfx900, gfx1030.",
        "gfx1031",
        "HSA_OVERRIDE_GFX_VERSION",
    ),
    (
        "E cuda_diagnostics.cc:313] kernel version 470.82.1 does not match DSO version 460.91.3 -- cannot find working "
        "devices in this configuration",
        "470.82.1",
        "Reboot",
    ),
    (
        "UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize.",
        "TensorFlow",
        "memory",
    ),
    ("NvvmSupportError: libNVVM cannot be found. Do `conda install cudatoolkit`:", "Numba", "numba-cuda"),
    (
        "LinkerError: ptxas application ptx input, line 9; fatal : Unsupported .version 7.3; current version is '7.1'",
        "7.1",
        "driver",
    ),
    ("CudaSupportError: Error at driver init: CUDA driver library cannot be found.", "libcuda", "NUMBA_CUDA_DRIVER"),
    (
        "RuntimeError: CuPy failed to load nvrtc64_120_0.dll: FileNotFoundError: Could not find module",
        "nvrtc64_120_0.dll",
        "CUDA_PATH",
    ),
    (
        "UserWarning: CuPy may not function correctly because multiple CuPy packages are installed",
        "one folder",
        "Remove",
    ),
    (
        'cupy.cuda.compiler.CompileException: cannot open source file "cuda_fp16.h"',
        "cuda_fp16.h",
        "nvidia-cuda-runtime",
    ),
    (
        "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: x/cuda_memory_resource.hpp",
        "memory of the GPU",
        "spill",
    ),
    (
        'FAIL : LoadLibrary failed with error 126 "" when trying to load "C:\\x\\onnxruntime_providers_tensorrt.dll"',
        "TensorRT",
        "leave the provider out",
    ),
    ("FAIL : [ONNXRuntimeError] CUDNN failure 4: CUDNN_STATUS_INTERNAL_ERROR ; GPU=0", "ONNX Runtime", "memory"),
    (
        "ValueError: This ORT build has ['AzureExecutionProvider', 'CPUExecutionProvider'] enabled. Since ORT 1.9, you "
        "are required to explicitly set the providers parameter",
        "naming providers",
        "providers=",
    ),
    (
        "It does not use the GPU, only ['AzureExecutionProvider', 'CPUExecutionProvider'] is loaded",
        "processors",
        "onnxruntime-gpu",
    ),
    (
        "[TRT] [E] 6: The engine plan file is generated on an incompatible device, expecting compute 8.6",
        "of another kind",
        "Build it again",
    ),
    ("[TRT] [E] createInferBuilder: Error (CUDA initialization failure with error: 35)", "35", "driver"),
    (
        "ImportError: libnvinfer.so.8: cannot open shared object file: No such file or directory",
        "TensorRT",
        "LD_LIBRARY_PATH",
    ),
    ("UserWarning: XPU device count is zero! (Triggered internally at XPUFunctions.cpp:50.)", "Level Zero", "render"),
    ("RuntimeError: PyTorch is not linked with support for xpu devices", "xpu", "xpu build"),
    ("ImportError: libze_loader.so.1: cannot open shared object file: No such file or directory", "Intel", "libze1"),
    (
        "ImportError: libmkl_sycl_blas.so.4: cannot open shared object file: No such file or directory",
        "Intel",
        "oneAPI",
    ),
    ('RuntimeError: Check failed: Device with "GPU" name is not registered in the OpenVINO Runtime', "OpenVINO", "CPU"),
    ("LogicError: clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR", "OpenCL", "vendors"),
    ('"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"', "AMD GPU", "gfx"),
    ("hsa_init Failed, possibly no supported GPU devices", "/dev/kfd", "groups"),
    ("HW Exception by GPU node-1 (Agent handle: 0x5559) reason :GPU Hang", "hung", "override"),
    ("ImportError: libroctx64.so.4: cannot open shared object file: No such file or directory", "ROCm", "CUDA"),
    (
        'docker: Error response from daemon: error gathering device information while adding custom device "/dev/kfd": '
        "no such file or directory.",
        "/dev/kfd",
        "driver",
    ),
    ("Error: /dev/dri/renderD128: Permission denied", "may not open", "render"),
    ("Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "list of devices", "make the list"),
    ('Failed to create pod sandbox: desc = RuntimeHandler "nvidia" not supported', "runtime class", "containerd"),
    (
        "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu",
        "broken",
        "Xid",
    ),
    (
        "nvidia-container-cli: initialization error: WSL environment detected but no adapters were found: unknown",
        "WSL",
        "Windows",
    ),
    ("Cannot init NVML library; err: ERROR_LIBRARY_NOT_FOUND", "library NVML", "runtimeClassName"),
    ("Error: Could not resolve Linux kernel version", "headers", "kernel"),
    ("pynvml.NVMLError_NoPermission: Insufficient Permissions", "may not open", "rights"),
    ("pynvml.NVMLError_FunctionNotFound: Function Not Found", "nvidia-ml-py", "driver"),
    ("NVRM: GPU 0000:01:00.0 is already bound to vfio-pci.", "virtual machine", "modprobe.d"),
    (
        "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:1b06) installed in this system is not supported by the NVIDIA "
        "560.35 driver release.",
        "560.35",
        "branch",
    ),
    ("nvidia-gridd: Failed to acquire license", "licence", "ClientConfigToken"),
    ("Unable to create a GPU instance on GPU 0 using profile 9: Insufficient Resources", "no room", "destroy"),
    ("RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED\nMIG 3g.40gb Device 0:", "MIG", "UUID"),
    (
        "srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.",
        "memory",
        "Unset",
    ),
    ('error: The following module(s) are unknown: "cuda/12.1"', "no module", "spider"),
    (
        "error: There are not enough slots available in the system to satisfy the 4 slots that were requested",
        "slots",
        "OVERSUBSCRIBE",
    ),
    ("UCX  ERROR no active messages transport to <no debug data>: Destination is unreachable", "UCX", "UCX_TLS"),
    ("RuntimeError: cannot load MPI library", "mpi4py", "MPI"),
    ("modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument", "GPUDirect", "DMA-BUF"),
    ("FATAL: kernel too old", "newer Linux kernel", "image"),
    ("LightGBMError: CUDA Tree Learner was not enabled in this build.", "LightGBM", "build"),
    ("XGBoostError: XGBoost version not compiled with GPU support.", "XGBoost", "wheel"),
    (
        "cv2.error: (-216:No CUDA support) The library is compiled without CUDA support in function 'x'",
        "OpenCV",
        "WITH_CUDA",
    ),
    ("ValueError: This CTranslate2 package was not compiled with CUDA support", "CTranslate2", "ARM"),
    ("ImportError: Extension horovod.torch has not been built.", "Horovod", "cache"),
    (
        "Error: Could not load library libcudnn_cnn_infer.so.8. Error: libnvrtc.so: cannot open shared object file",
        "short name",
        "ln -s",
    ),
    (
        "Error: Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file",
        "short name",
        "WSL",
    ),
    ("[h264_cuvid @ 0x1ec8780] Cannot load libnvcuvid.so.1", "video", "NVIDIA_DRIVER_CAPABILITIES"),
    ("Error 0x80370102: The virtual machine could not be started", "WSL 2", "Switch"),
    (
        "RuntimeError: The MPS backend is supported on MacOS 12.3+.Current OS version can be queried using `sw_vers`",
        "12.3",
        "macOS",
    ),
    ("Illegal instruction (core dumped)\nNVIDIA Jetson TX2, Error", "NumPy", "OPENBLAS_CORETYPE"),
    (
        "ERROR: This container was built for NVIDIA Driver Release 535.86 or later, but version 470.82 was detected "
        "and compatibility mode is UNAVAILABLE.",
        "470.82",
        "driver",
    ),
    ("Error: Cuda driver error 804 in call at file 'x.h'", "forward compatibility", "cuda-compat"),
    ("CUDA error code=35(cudaErrorInsufficientDriver)", "newer CUDA", "nvidia-smi"),
    ("Error: code=700(cudaErrorIllegalAddress)", "outside its memory", "CUDA_LAUNCH_BLOCKING"),
    ("NVRM: Xid (PCI:0000:3b:00): 95, pid=1, Uncontained", "not contained", "Reset"),
]


@pytest.mark.parametrize(("message", "meaning", "remedy"), SAYS, ids=[str(number) for number in range(len(SAYS))])
def test_it_is_said_whose_it_is_and_what_helps(message: str, meaning: str, remedy: str) -> None:
    found = root(message)
    assert meaning in found.message
    assert remedy in f"{found.remedy.text} {' '.join(found.remedy.commands)}"


@pytest.mark.parametrize(
    "message",
    [
        "RuntimeError: CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: cannot open shared object file",
        "cupy.cuda.compiler.CompileException: nvrtc: error: invalid value for --gpu-architecture (-arch)",
        "[ONNXRuntimeError] : 1 : FAIL : CUDA failure 209: no kernel image is available for execution on the device",
        "cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available",
        "XGBoostError: Check failed: CUDA error: no kernel image is available for execution on the device",
        "E cuda_dnn.cc:429] Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED",
        "UnsupportedCUDAError: A GPU with NVIDIA Volta (Compute Capability 7.0) or newer architecture is required.",
        "CUDA error: the provided PTX was compiled with an unsupported toolchain.\nin function ggml_cuda_op",
    ],
)
def test_what_others_say_is_not_told_as_torchs(message: str) -> None:
    found = root(message)
    assert "torch" not in f"{found.message} {found.remedy.text} {' '.join(found.remedy.commands)}"


@pytest.mark.parametrize(
    "message",
    [
        "W py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
        "/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link",
        "UserWarning: expandable_segments not supported on this platform",
        "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas",
        "PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168",
        "libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs0",
        "pynvml.NVMLError_NotSupported: Not Supported (error while reading the utilisation)",
        "DEBUG    Could not load ANN shared libraries, using ONNX",
    ],
)
def test_a_notice_is_a_warning_at_most(message: str) -> None:
    assert {one.severity.word for one in judged(message).findings} <= {"warning", "note"}
    assert judged(message).findings


def test_ways_that_jax_tries_are_no_failure() -> None:
    said = "I0411 Unable to initialize backend 'rocm': module 'jaxlib.xla_extension' has no attribute 'X'"
    assert judged(said).root_cause is None


def test_a_gpu_that_jax_could_not_open_is_no_missing_build() -> None:
    said = (
        "RuntimeError: jaxlib/cuda/versions_helpers.cc:113: operation cuInit(0) failed: CUDA_ERROR_NO_DEVICE\n"
        "WARNING: An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed.\n"
    )
    assert "hold nothing for GPUs" not in said_of(said)


@pytest.mark.parametrize(
    ("message", "never"),
    [
        ("nvidia-container-cli: container error: cgroup subsystem devices not found: unknown.", "C++ compiler"),
        ("modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument", "headers are missing"),
        ("MemoryError: std::bad_alloc: out_of_memory: CUDA error at: x.hpp", "not the GPU's"),
        ("Failed to initialize NVML: Insufficient Permissions", "CUDA_VISIBLE_DEVICES names none"),
        ("CUDA error 209: no kernel image is available for execution on the device", "no name for"),
        ("ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory", "vLLM"),
        ("OSError: libcudnn.so: cannot open shared object file: No such file or directory\nPaddle", "Two releases"),
        ("RuntimeError: jaxlib version 0.4.36 is newer than and incompatible with jax version 0.4.30.", "cuDNN"),
        ("MemoryError: std::bad_alloc", "GPU: it is full"),
        ("Error: my module for cuda was not found", "modulefile"),
        ("error: docker run needs /dev/dri, see the guide", "may not open"),
    ],
)
def test_what_only_resembles_it(message: str, never: str) -> None:
    assert never not in said_of(message)


def test_an_instance_of_mig_is_number_0() -> None:
    said = "RuntimeError: cuda runtime error (101) : invalid device ordinal at x.cpp:33\n"
    assert root(f"On an A100 with MIG instances every process but the first stops.\n{said}").subject == "MIG"
    assert root(f"|  GPU  Name   | MIG M. |\n{said}").subject != "MIG"


def test_the_toolkits_own_call_is_no_ranks() -> None:
    said = "nvidia-container-cli: detection error: cuda error: invalid device ordinal: unknown\n"
    assert "container toolkit's own call" in said_of(said)
    assert "local rank: " not in said_of(said)


def test_memory_that_mps_could_not_share() -> None:
    said = (
        "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 205: mapping of buffer "
        "object failed (Triggered internally at x.cpp:109.)\n"
    )
    assert "Multi-Process Service" in root(said).message
    assert "sent to another process" not in said_of(said)


def test_an_operator_that_falls_back_is_not_what_stopped() -> None:
    said = (
        "UserWarning: The operator 'aten::nonzero' is not currently supported on the MPS backend and will fall back to "
        "run on the CPU.\nfailed assertion `[MPSNDArray, initWithBuffer:descriptor:] Error: buffer is not large enough"
    )
    assert "failed assertion" in root(said).message


@pytest.mark.parametrize("said", ["TensorFlow 2.16.1 fails to recognize GPUs", "TensorFlow: GPU not detected"])
def test_tensorflow_without_a_gpu_is_not_torch(said: str) -> None:
    assert "torch sees no GPU" not in said_of(said)


def test_tensorflow_that_sees_no_gpu() -> None:
    assert "and-cuda" in root("TensorFlow 2.16.1 fails to recognize GPUs on this machine\n").remedy.text
    assert "and-cuda" not in said_of("torch 2.4 fails to recognize GPUs on this machine\n")


@pytest.mark.parametrize(
    ("message", "says", "helps"),
    [
        (
            "The installed Paddle is compiled with CUDNN 7.6, but CUDNN version in your machine is 7.5, which may fail",
            "built with cuDNN 7.6",
            "paddlepaddle-gpu",
        ),
        ("F tensorflow/c/logging.cc:43] HRESULT failed with 0x887a0005: readback_heap->Map()", "DirectX", "TdrDelay"),
        ("RuntimeError: Expected one of cpu, cuda device type at start of device string: dml", "DirectML", "torch-dir"),
        ("F0124 17:45:50.528501 9 opengl_utils.cc:56] Check failed: context_.create()", "OpenGL", "xvfb-run"),
        ("Invalid argument: unable to load model, TensorRT backend supports only GPU device", "Triton", "--gpus all"),
        ("NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please", "470.xx", "branch"),
        ("ImportError: libnvdla_compiler.so: cannot open shared object file: No such file", "L4T", "--runtime nvidia"),
        ("/usr/lib/aarch64-linux-gnu/libcublas.so: file not recognized: File truncated", "empty", "default-runtime"),
        ("EL0003: The argument is invalid. Reason: rtGetDeviceCount failed, drv_devid open failed", "NPU", "npu-smi"),
    ],
)
def test_what_other_makers_systems_say(message: str, says: str, helps: str) -> None:
    found = root(message + "\n")
    assert says in f"{found.subject} {found.message}"
    assert helps in found.remedy.text
    assert "torch sees no GPU" not in said_of(message)


def test_a_library_cut_short_elsewhere_is_not_jetsons() -> None:
    said = "/usr/lib/x86_64-linux-gnu/libcublas.so: file not recognized: File truncated\n"
    assert "Jetson" not in said_of(said)
