"""What ComfyUI, web UIs, speech programs, 3D code and servers of language models say, and what that means."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding
from tests.rules.packages.test_known_errors import judged


def root(text: str) -> Finding:
    found = judged(text).root_cause
    assert found is not None
    return found


ERROR, WARNING = "error", "warning"

SAID = [  # message, severity, words of the sentence, words of the remedy or its commands
    (
        "FileNotFoundError: [Errno 2] No such file or directory: "
        "'D:\\\\ComfyUI\\\\custom_nodes\\\\Glow\\\\__init__.py'\n",
        ERROR,
        "Glow has none directly in it",
        "directly into custom_nodes",
    ),
    (
        "Cannot execute because node GlowApply does not exist.: Node ID '#7'\n",
        ERROR,
        "does not have",
        "Install Missing",
    ),
    (
        "Failed to validate prompt for output 9:\n  - Value not in list: vae_name: 'a.pt' not in ['b.safetensors']\n",
        ERROR,
        "vae_name",
        "Choose an entry",
    ),
    (
        "RuntimeError: ERROR: Could not detect model type of: /c/models/checkpoints/big.safetensors\n",
        ERROR,
        "what kind of model",
        "models/diffusion_models",
    ),
    ("RuntimeError: ERROR: clip input is invalid: None\n", ERROR, "no text encoder", "Load CLIP"),
    ("RuntimeError: ERROR: VAE is invalid: None\n", ERROR, "no VAE", "Load VAE"),
    ("AssertionError: You do not have T5 state dict!\n", ERROR, "found no T5", "VAE / Text Encoder"),
    ("Exception: ClipVision model not found.\n", ERROR, "ClipVision model under a fixed name", "models/clip_vision"),
    (
        "ValueError: Unexpected architecture type in GGUF file: 'lumen'\n",
        ERROR,
        "does not take the architecture lumen",
        "ComfyUI-GGUF",
    ),
    (
        "ERROR: This error is happening because the ComfyUI frontend is no longer shipped as part of the main repo\n",
        ERROR,
        "packages of their own",
        "requirements.txt",
    ),
    (
        "fatal: detected dubious ownership in repository at '/srv/ui'\n",
        ERROR,
        "belongs to another user",
        "safe.directory /srv/ui",
    ),
    (
        'File "/v/gradio_client/utils.py", line 880, in get_type\n    if "const" in schema:\n'
        "TypeError: argument of type 'bool' is not iterable\n",
        ERROR,
        "pydantic 2.11",
        "pydantic<2.11",
    ),
    (
        "File \"/v/starlette/templating.py\", line 148, in TemplateResponse\nTypeError: unhashable type: 'dict'\n",
        ERROR,
        "request as the first argument",
        "starlette<1",
    ),
    (
        "ValueError: When localhost is not accessible, a shareable link must be created. Please set "
        "share=True or check "
        "your proxy settings\n",
        ERROR,
        "asked its own server",
        "NO_PROXY",
    ),
    ("OSError: Cannot find empty port in range: 7860-7860.\n", ERROR, "7860-7860", "another port"),
    ("AttributeError: 'Gallery' object has no attribute 'style'\n", ERROR, "gradio 4 dropped", "gradio<4"),
    (
        "ValueError: This CTranslate2 package was not compiled with CUDA support\n",
        ERROR,
        "no CUDA in it",
        'device="cpu"',
    ),
    ("RuntimeError: Unable to open file 'model.bin' in model '/c/large'\n", ERROR, "no model.bin", "download it again"),
    (
        "av.error.InvalidDataError: [Errno 1094995529] Invalid data found when processing input: 'a.wav'\n",
        ERROR,
        "cannot be decoded",
        "",
    ),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'ffprobe'\n", ERROR, "program ffprobe", "FFmpeg"),
    ("RuntimeError: espeak not installed on your system\n", ERROR, "espeak-ng", "espeak-ng"),
    (
        "LookupError:\n  Resource punkt_tab not found.\n  Please use the NLTK Downloader to obtain the resource:\n",
        ERROR,
        "punkt_tab",
        "nltk.download('punkt_tab')",
    ),
    ("ModuleNotFoundError: No module named 'pyaudioop'\n", ERROR, "3.13", "audioop-lts"),
    (
        "[h264_nvenc @ 0x55] Error: Driver does not support the required nvenc API version. Required: 13.0 "
        "Found: 12.1\n",
        ERROR,
        "driver has 12.1",
        "Update the ",
    ),
    (
        "cv2.error: OpenCV(4.8.0) c.cpp:182: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'\n",
        ERROR,
        "empty ",
        "imread",
    ),
    (
        "AttributeError: module 'cv2.dnn' has no attribute 'DictValue'\n",
        ERROR,
        "more than one OpenCV",
        "uninstall -y opencv-python",
    ),
    (
        "AttributeError: module 'onnxruntime' has no attribute 'InferenceSession'\n",
        ERROR,
        "share one folder",
        "uninstall -y onnxruntime",
    ),
    ("InvalidProtobuf: [ONNXRuntimeError] : 7 : INVALID_PROTOBUF : Load failed\n", ERROR, "no whole ONNX", "size"),
    ("AttributeError: module 'mediapipe' has no attribute 'solutions'\n", ERROR, "0.10.30", "mediapipe<0.10.30"),
    (
        "ImportError: cannot import name 'Config' from 'mmcv' (/v/mmcv/__init__.py)\n",
        ERROR,
        "mmcv 2.0 gave its configuration",
        "mmcv-full<1.7.1",
    ),
    (
        "OSError: Could not find compatible tinycudann extension for compute capability 89.\n",
        ERROR,
        "another GPU's compute capability",
        "TCNN_CUDA_ARCHITECTURES=89",
    ),
    (
        "AttributeError: 'NoneType' object has no attribute 'CameraModelType'\n",
        ERROR,
        "no compiled kernels",
        "CUDA toolkit",
    ),
    ("RuntimeError: Cuda error: 304[cudaGraphicsGLRegisterBuffer(x)]\n", ERROR, "OpenGL", "RasterizeCudaContext"),
    ("AssertionError: Could not recognize scene type!\n", ERROR, "transforms_train.json", "COLMAP"),
    (
        "ValueError: Quantization method specified in the model config (gptq) does not match the quantization method "
        "specified in the `quantization` argument (awq).\n",
        ERROR,
        "quantised with gptq",
        "Leave the argument",
    ),
    ("ValueError: LoRA rank 64 is greater than max_lora_rank 16.\n", ERROR, "rank 64", "--max-lora-rank 64"),
    (
        "Exception: sgl-kernel is installed with version 0.1.0, which is less than the minimum required version 0.1.4. "
        "Please reinstall\n",
        ERROR,
        "at least 0.1.4",
        "sgl-kernel>=0.1.4",
    ),
    (
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc failed: "
        "out of memory\n",
        ERROR,
        "was refused memory of the GPU",
        "",
    ),
    ("nvcc fatal   : Unsupported gpu architecture 'compute_native'\n", ERROR, "3.24", "CUDA_ARCHITECTURES=89"),
    ("ValueError: Failed to load model from file: ./m.gguf\n", ERROR, "llama.cpp could not load", "llama_model_load"),
    (
        "'CUDA_VISIBLE_DEVICES' is not recognized as an internal or external command\n",
        ERROR,
        "as Linux's shells take it",
        "$env:NAME",
    ),
    ("Error: llama runner process has terminated: exit status 2\n", WARNING, "server's log", "Update Ollama"),
    ("Error: llama runner process has terminated: signal: killed\n", ERROR, "killed", "smaller model"),
    ("Error: model 'tiny:1b' not found, try pulling it first\n", ERROR, "tiny:1b", "ollama pull tiny:1b"),
    (
        "[TRT] [E] Error Code 6: API Usage Error (The engine plan file is generated on an incompatible device, "
        "expecting compute 8.9 got compute 8.6, please rebuild.)\n",
        ERROR,
        "GPU of another kind",
        "Build it again",
    ),
    ("AttributeError: 'ICudaEngine' object has no attribute 'num_bindings'\n", ERROR, "TensorRT 10", "8.6"),
    (
        "AttributeError: 'GPT2InferenceModel' object has no attribute 'generate'\n",
        ERROR,
        "GenerationMixin",
        "below 4.50",
    ),
    (
        "python.exe: can't open file 'D:\\\\kit-master\\\\scripts\\\\run.py': [Errno 2] No such file or directory\n",
        ERROR,
        "submodule",
        "git submodule update",
    ),
    (
        "ValueError: The component <class 'transformers.models.t5.x._LazyModule.__getattr__.<locals>.Placeholder'> of "
        "<class 'diffusers.P'> cannot be loaded\n",
        ERROR,
        "stand-in",
        "sentencepiece",
    ),
    (
        "ValueError: Cannot load <class 'diffusers.m.AutoencoderKL'> from /m because the following keys are missing: \n"
        " decoder.a.weight.\n",
        ERROR,
        "lacks weights that diffusers.m.AutoencoderKL",
        "from_single_file",
    ),
    (
        "ValueError: You are trying to load the model files of the `variant=fp16`, but no such modeling files are "
        "available.\n",
        ERROR,
        "no files of the variant fp16",
        "Leave out variant",
    ),
    (
        'File "/v/unet.py", line 9, in get_aug_embed\n    if "text_embeds" not in added_cond_kwargs:\n'
        "TypeError: argument of type 'NoneType' is not iterable\n",
        ERROR,
        "SDXL model",
        "StableDiffusionXLPipeline",
    ),
    ("lora key not loaded: lora_unet_a.alpha\n", WARNING, "another base model", "that very base model"),
    (
        "RuntimeError: \"addmm_cuda\" not implemented for 'Float8_e4m3fn'\n",
        ERROR,
        "no code in this operation",
        "bf16 or fp16",
    ),
    ("ValueError: Unsupported CUDA architecture: sm61\n", ERROR, "no kernels for this GPU", "SageAttention 1"),
    (
        '  File "/v/awq/models/auto.py", line 30, in check\nTypeError: glow_vl isn\'t supported yet.\n',
        ERROR,
        "of the kind glow_vl",
        "gptqmodel",
    ),
    ("ModuleNotFoundError: No module named 'awq_ext'\n", ERROR, "not there", "autoawq-kernels"),
    (
        "OSError: [Errno 10048] error while attempting to bind on address ('127.0.0.1', 8188): only one usage of each "
        "socket address\n",
        ERROR,
        "port is taken",
        "--port",
    ),
    ("ImportError: No prodigyopt / prodigyopt\n", ERROR, "ask for prodigyopt", "pip install prodigyopt"),
    (
        "NotADirectoryError: [WinError 267] The directory name is invalid: 'C:\\a.wav'\n",
        ERROR,
        "that of a file",
        "folder",
    ),
    ("KeyError: 'mxfp8'\n", ERROR, "format mxfp8", "Update"),
    (
        "RuntimeError: torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9\n",
        ERROR,
        "another generation of GPUs",
        "precision",
    ),
    (
        "ERROR    Executing callback: C:\\ui\\extensions\\glow\\scripts\\glow.py\n"
        "AttributeError: 'OptionInfo' object has no attribute 'needs_reload_ui'\n",
        ERROR,
        "another of the web UIs",
        "Update the web UI",
    ),
    (
        "ERROR: Could not install packages due to an OSError: [Errno 2] No such file or directory: "
        "'/opt/lib/python3.10/site-packages/glow-3.9.1.dist-info/METADATA'\n",
        ERROR,
        "installation of glow is damaged",
        "same release of glow",
    ),
    (
        "RuntimeError: Calculated padded input size per channel: (3). Kernel size: (4). Kernel size can't be greater "
        "than actual input size\n",
        ERROR,
        "too small for this network",
        "",
    ),
    (
        "NotImplementedError: Unsloth currently only works on NVIDIA GPUs and Intel GPUs.\n"
        "ImportError: Unsloth: Please install unsloth_zoo via `pip install unsloth_zoo`\n",
        ERROR,
        "that is the cause",
        "first error",
    ),
    ("fatal: destination path 'Glow' already exists and is not an empty directory.\n", ERROR, "earlier try", "Remove"),
    (
        "AttributeError: Can't get attribute 'C9' on <module 'ultralytics.nn.modules.block' from '/v/block.py'>\n",
        ERROR,
        "no such class",
        "upgrade ultralytics",
    ),
    (
        "RuntimeError: nms_impl: implementation for device cuda:0 not found.\n",
        ERROR,
        "no code of nms for cuda",
        "mim install mmcv",
    ),
    (
        "RuntimeError: stft requires the return_complex parameter be given for real inputs\n",
        ERROR,
        "complex numbers",
        "view_as_real",
    ),
    (
        "glfw.GLFWError: (65550) b'X11: The DISPLAY environment variable is missing'\n",
        ERROR,
        "there is no screen",
        "xvfb-run",
    ),
]


@pytest.mark.parametrize(("text", "severity", "sentence", "remedy"), SAID)
def test_what_it_means_and_what_helps(text: str, severity: str, sentence: str, remedy: str) -> None:
    found = root(text)
    assert found.severity is not None
    assert found.severity.word == severity
    assert sentence in found.message
    assert remedy in " ".join((found.remedy.text, *found.remedy.commands, *found.remedy.instead))


OTHER = [  # resembles one of the above and means something else: words that must not be said of it
    ("Exception: ClipVision model not found.\n", "C++ compiler"),
    ("TypeError: argument of type 'bool' is not iterable\n", "pydantic"),
    ("TypeError: unhashable type: 'dict'\n", "Starlette"),
    ("AttributeError: 'Options' object has no attribute 'glow'\n", "web UI"),
    ("AttributeError: Can't get attribute 'f' on <module '__main__' (built-in)>\n", "A saved file"),
    ("AttributeError: Can't get attribute 'C9' on <module 'glow.block' from '/v/block.py'>\n", "worker process"),
    ("LookupError: Resource disk_quota not found\n", "NLTK"),
    ("ModuleNotFoundError: No module named 'resource'\n", "Linux and macOS only"),
    ("'activate' is not recognized as an internal or external command\n", "Linux's shells"),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/c/custom_nodes/Glow/models/a.pth'\n",
        "one folder deeper",
    ),
    ("2024-01-01 W tensorflow: TF-TRT Warning: Could not find TensorRT: libnvinfer.so.8\n", "was built with TensorRT"),
    (
        "tvm.error.InternalError: Check failed: (f != nullptr) is false: Cannot find function vm.x\n",
        "Do what the message",
    ),
    ('msg="no compatible GPUs were discovered"\nError: timed out waiting for llama runner\n', "torch"),
]


@pytest.mark.parametrize(("text", "words"), OTHER)
def test_what_only_resembles_it(text: str, words: str) -> None:
    assert all(words not in found.message for found in judged(text).findings)


@pytest.mark.parametrize(
    ("demand", "python"),
    [(">=3.9.0, <3.12", "3.11"), (">=3.8,<=3.10", "3.10"), (">=3.9", "3.12"), (">=3.13", "3.13")],
)
def test_a_python_that_the_bound_allows(demand: str, python: str) -> None:
    found = root(
        "ERROR: Ignored the following versions that require a different python version: 0.22.0 "
        f"Requires-Python {demand}\nERROR: No matching distribution found for glow\n"
    )
    assert f"uv venv --python {python} .venv" in found.remedy.commands


def test_a_name_that_moved_twice_is_told_of_the_module_that_is_asked() -> None:
    found = root("AttributeError: module 'torchaudio' has no attribute 'AudioMetaData'\n")
    assert "2.9.0" in found.message
    assert "2.1.0" not in found.message


def test_a_program_that_ends_without_a_word() -> None:
    log = "Total VRAM 4096 MB\nWorking with z of shape (1, 4, 32, 32)\n{}Press any key to continue . . .\n"
    assert "without a word" in root(log.format("")).message
    said = judged(log.format("ModuleNotFoundError: No module named 'einops'\n")).findings
    assert all("without a word" not in found.message for found in said)


def test_what_a_system_lacks_is_said_where_the_system_is_seen() -> None:
    found = root("File \"C:\\w\\serve.py\", line 1, in <module>\nModuleNotFoundError: No module named 'resource'\n")
    assert "Linux and macOS only" in found.message
