"""Pairs of releases that do not work together although their metadata allows it.

Each row names both sides as requirements, what happens, and what to install instead. ``said`` is what a report of it
says.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from envdoctor.pattern import Pattern


class Quarrel(NamedTuple):
    """``one`` (of ``of``) and ``other`` (of ``with_``) must not meet; a matching line proves that they did."""

    one: str
    of: str
    other: str
    with_: str
    effect: str
    use: str
    source: str
    said: Pattern | None = None


QUARRELS = (
    Quarrel(
        "transformers",
        ">=4.52",
        "accelerate",
        "<1.3",
        "the trainer passes keep_torch_compile to accelerate's unwrap_model, which knows it from 1.3.0 on",
        "accelerate>=1.3",
        "https://github.com/huggingface/transformers/blob/v4.52.3/src/transformers/trainer.py",
        said=Pattern(r"keep_torch_compile"),
    ),
    Quarrel(
        "transformers",
        ">=5",
        "accelerate",
        "<1.1",
        "the trainer needs accelerate 1.1 or later",
        "accelerate>=1.1",
        "https://github.com/huggingface/transformers/blob/main/setup.py",
    ),
    Quarrel(
        "torch",
        ">=2.4.0a0",
        "deepspeed",
        "<0.14.3",
        "deepspeed imports names of torch's elastic agent that 2.4 renamed (log, _get_socket_with_port)",
        "deepspeed>=0.14.4",
        "https://github.com/deepspeedai/DeepSpeed/issues/5337 https://github.com/deepspeedai/DeepSpeed/issues/5603",
        said=Pattern(r"elastic\.agent\.server\.api|_get_socket_with_port"),
    ),
    Quarrel(
        "huggingface-hub",
        ">=0.26",
        "diffusers",
        "<0.29",
        "diffusers imports cached_download, which the hub library dropped in 0.26",
        "diffusers>=0.29",
        "https://github.com/easydiffusion/easydiffusion/issues/1851",
        said=Pattern(r"cached_download"),
    ),
    Quarrel(
        "huggingface-hub",
        ">=1.0",
        "transformers",
        "<5",
        "transformers 4 refuses huggingface-hub 1.x at import",
        "huggingface-hub<1.0",
        "https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/dependency_versions_table.py",
    ),
    Quarrel(
        "transformers",
        ">=5",
        "peft",
        "<0.18",
        "peft before 0.18 imports names that transformers 5 dropped",
        "peft>=0.18",
        "https://github.com/huggingface/peft/pull/2735 https://github.com/huggingface/trl/pull/4820",
        said=Pattern(r"HybridCache"),
    ),
    Quarrel(
        "transformers",
        ">=5",
        "liger-kernel",
        "<0.6.5",
        "liger-kernel before 0.6.5 imports names that transformers 5 dropped",
        "liger-kernel>=0.6.5",
        "https://github.com/huggingface/trl/pull/4820",
        said=Pattern(r"HybridCache"),
    ),
)

SCRIPTS = Pattern(
    r"dataset scripts (?:are )?no longer supported|trust_remote_code (?:is )?no(?:t| longer) supported", re.IGNORECASE
)
"""datasets 4 dropped data sets that come as Python scripts (https://github.com/huggingface/datasets/releases/tag/4.0.0)."""
