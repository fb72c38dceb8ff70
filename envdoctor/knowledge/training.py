"""Packages that take part in a training run: an unmet demand of theirs is an error, one of a notebook's is not."""

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
