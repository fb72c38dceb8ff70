"""What packages are for: some take part in every training step, some never. What is listed in neither may matter.

Source: the packages' own descriptions. Literals and not TOML: every check asks for both sets.
"""

from __future__ import annotations

TRAINING = frozenset(
    """
    accelerate adam-mini apex axolotl bitsandbytes colossalai composer cut-cross-entropy datasets deepspeed diffusers
    evaluate fairscale flash-attn flash-attn-3 flash-attn-4 flash-linear-attention gritlm huggingface-hub
    kernels lightning
    liger-kernel litgpt llamafactory llm-foundry mamba-ssm megatron-core ms-swift mosaicml-streaming nemo-toolkit numpy
    open-clip-torch optimum peft pyarrow pytorch-lightning safetensors sentence-transformers sentencepiece setfit swift
    timm tokenizers torch torchao torchaudio torchdata torchmetrics torchtitan torchtune torchvision transformer-engine
    transformers triton triton-windows trl unsloth unsloth-zoo verl vllm xformers xtuner
    """.split()
)
"""Take part in a training run: an unmet demand of theirs is an error, one of a notebook's is not."""

PLUMBING = frozenset(
    """
    aiohappyeyeballs aiohttp aiosignal annotated-doc annotated-types anyio async-timeout attrs certifi
    charset-normalizer click colorama dill exceptiongroup filelock frozenlist fsspec h11 hf-transfer hf-xet httpcore
    httpcore2 httpx httpx2 idna importlib-metadata iniconfig jinja2 markdown-it-py markupsafe mdurl mpmath multidict
    multiprocess networkx packaging pandas pip pluggy propcache psutil pydantic pydantic-core pygments
    python-dateutil pytz pyyaml regex requests rich setuptools shellingham six sniffio socksio sympy tomli tqdm
    truststore typer typer-slim typing-extensions typing-inspection tzdata urllib3 wheel xxhash yarl zipp
    """.split()
)
"""Run during a download, a prompt, a test, or once before the first step: a version of theirs that differs from the
lock is worth a note, not a warning, since it cannot be slower training."""
