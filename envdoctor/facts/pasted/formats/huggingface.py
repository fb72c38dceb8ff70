"""``transformers env``, ``accelerate env``, ``diffusers-cli env``, ``trl env``, ``llamafactory-cli env`` and the like:
bullets of "`X` version: ..." for X a distribution. The keys are those of their commands' sources, old and new."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import LISTED, STATED, Draft
from envdoctor.facts.pasted.formats.collect_env import Field
from envdoctor.facts.pasted.page import Page, normal, pair

_FORMATS = {"transformers": "transformers-env", "accelerate": "accelerate-env", "diffusers": "diffusers-env",
            "vllm": "vllm", "trl": "trl-env", "llamafactory": "llamafactory-env"}  # fmt: skip
_NO_PACKAGE = frozenset(
    """python cuda gcc g++ clang cmake libc glibc os driver nvidia-driver nvcc cudnn rocm hip kernel nccl cann opencl
    mpi triton-inference-server bash conda docker platform schema cuda-runtime cuda-toolkit node go rust java file model
    dataset script miopen neuron-sdk intel-gpu-driver tensorrt-engine windows linux ubuntu macos app application server
    client api previous current old new latest image container compiler c++ nvidia-smi library kernel-module release
    base runtime toolkit git tensorflow-gpu tensorflow flax jax jaxlib nccl-net""".split()
)


def accelerator(draft: Draft, value: str) -> None:
    """accelerate 1.10 and later: "PyTorch accelerator: CUDA"; "N/A" is no accelerator at all."""
    word = value.strip().upper()
    if word == "CUDA":
        draft.claim("torch.cuda_available", True)
    elif word in ("N/A", "NA", "CPU", "MPS", "XPU", "NPU", "HPU", "MLU"):
        draft.claim("torch.cuda_available", False)


def ignore(draft: Draft, value: str) -> None:
    """Known to the tool, of no use to a rule."""


FIELDS: Mapping[str, Field] = {
    "pytorch accelerator": accelerator,
    "using gpu in script": ignore,
    "using distributed or parallel set-up in script": ignore,
    "using distributed or parallel set-up": ignore,
    "tensorflow version": ignore,
    "flax version": ignore,
    "jax version": ignore,
    "jaxlib version": ignore,
    "running on google colab": ignore,
    "running on a notebook": ignore,
    "pytorch xpu available": ignore,
    "pytorch npu available": ignore,
    "pytorch mlu available": ignore,
    "pytorch musa available": ignore,
    "pytorch sdaa available": ignore,
    "pytorch neuron available": ignore,
    "accelerate bash location": ignore,
}


def read(page: Page, draft: Draft) -> None:
    for number, text in page.left():
        found = pair(text)
        if found is None:
            continue
        key, value = normal(found[0]), found[1]
        if key in FIELDS:
            FIELDS[key](draft, value)
            page.take(number)
        elif package := _package_key(found[0]):
            page.take(number)
            version = words.version(value) if not words.is_unknown(value.partition("(")[0]) else None
            if version is not None:
                draft.package(package, version, STATED)
            if package in _FORMATS:
                draft.format(_FORMATS[package])
        elif (package := key.replace(" ", "-")) in PACKAGES and (version := words.whole_version(value)):
            page.take(number)
            draft.package(package, version, LISTED)


def _package_key(key: str) -> str | None:
    """The distribution in "Huggingface_hub version", or None: of several words only known names are one."""
    found = re.fullmatch(
        r"([A-Za-z][\w+-]*) version|([A-Za-z][\w+ -]*) version", re.sub(r"\s{0,40}\([^)]{0,80}\)", "", key).strip()
    )
    if not found:
        return None
    name = (found[1] or found[2]).lower().replace(" ", "-").replace("_", "-")
    name = _NAMES.get(name, name)
    return None if name in _NO_PACKAGE or (found[2] and name not in PACKAGES) else name


_NAMES = {"hf-hub": "huggingface-hub", "hub": "huggingface-hub", "flash-attention": "flash-attn",
          "sklearn": "scikit-learn", "flash-attn-2": "flash-attn", "flash-attention-2": "flash-attn",
          "hugging-face-hub": "huggingface-hub", "pytorch": "torch"}  # fmt: skip

PACKAGES = frozenset(
    """accelerate bitsandbytes datasets deepspeed diffusers flash-attn huggingface-hub lightning numpy onnx onnxruntime
    onnxruntime-gpu openai peft pytorch-lightning safetensors sentence-transformers tokenizers torchaudio torchmetrics
    torchtext torchvision transformers triton trl unsloth unsloth-zoo vllm xformers apex scipy pandas pydantic protobuf
    mmcv mmcv-full mmdet mmengine opencv-python timm torchdata torchao torchtune liger-kernel fairscale sentencepiece
    einops llamafactory axolotl sglang flashinfer ray gradio fsspec packaging setuptools pip wheel optree torchcodec
    nvidia-cudnn-cu12 nvidia-nccl-cu12 xgrammar outlines optimum auto-gptq autoawq evaluate wandb pillow
    pyarrow""".split()
)
"""Distributions that people name alone ("numpy: 1.26.4"); others need "version", "==" or a list around them."""
