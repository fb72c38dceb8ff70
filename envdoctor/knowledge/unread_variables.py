"""Variables of public launch files that nothing reads."""

from __future__ import annotations

from collections.abc import Mapping

UNREAD: Mapping[str, str] = {
    "TORCH_CUDNN_BENCHMARK": "torch.backends.cudnn.benchmark = True",
    "TORCH_BACKENDS_CUDNN_BENCHMARK": "torch.backends.cudnn.benchmark = True",
    "CUDNN_BENCHMARK": "torch.backends.cudnn.benchmark = True",
    "TORCH_ALLOW_TF32": 'torch.set_float32_matmul_precision("high")',
    "PYTORCH_ALLOW_TF32": 'torch.set_float32_matmul_precision("high")',
    "TORCH_FLOAT32_MATMUL_PRECISION": 'torch.set_float32_matmul_precision("high")',
    "PYTORCH_CUDA_ALLOC_CONFIG": "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOCATOR_CONF": "PYTORCH_ALLOC_CONF",
    "TORCH_USE_FLASH_ATTENTION": 'attn_implementation="sdpa" or "flash_attention_2" when the model is loaded',
    "USE_FLASH_ATTENTION": 'attn_implementation="sdpa" or "flash_attention_2" when the model is loaded',
    "TORCH_NUM_THREADS": "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICE": "CUDA_VISIBLE_DEVICES",
}
"""Variables found in public launch files that no library reads, and what does what they seem to promise."""
