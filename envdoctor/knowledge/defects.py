"""What is known of single releases: defects that break, and regressions that slow down.

A version alone is weak evidence, so each row says what must come together for it to matter: other packages, a GPU, a
line of the report, a hint that the model has the layer in question. Without that it is worth a note.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from envdoctor.pattern import Pattern
from envdoctor.rule import Severity


class Defect(NamedTuple):
    """One known defect of ``name`` in ``versions`` (PEP 440 specifiers)."""

    name: str
    versions: str
    effect: str
    use: str  # requirement to install instead
    source: str
    severity: Severity  # when everything below holds
    otherwise: Severity | None = Severity.NOTE  # when only the version does; None: not worth a word
    beside: Mapping[str, str] = {}  # packages that must be installed, with specifiers
    capability: tuple[tuple[int, int], tuple[int, int]] | None = None  # least and greatest, of any GPU
    hint: Pattern | None = None  # in messages, remarks or scripts
    cuda: bool = False  # concerns CUDA builds of torch only


_UNSLOTH = "https://github.com/unslothai/unsloth/blob/main/pyproject.toml"
_LLAMAFACTORY = "https://github.com/hiyouga/LlamaFactory/blob/main/src/llamafactory/extras/misc.py"
_TRL = "https://github.com/huggingface/trl/blob/main/pyproject.toml"


def _excluded(name: str, versions: str, use: str, source: str, by: str) -> Defect:
    """A release that a trainer refuses, without a public reason: an error beside that trainer, else a note."""
    return Defect(
        name,
        versions,
        f"{by} excludes this release",
        use,
        source,
        Severity.ERROR,
        beside={by: ""},
    )


BROKEN = (
    Defect(
        "torch",
        "==2.5.0",
        "scaled_dot_product_attention tries cuDNN first, which raises for some shapes instead of stepping aside",
        "torch==2.5.1",
        "https://github.com/huggingface/diffusers/issues/9704 https://github.com/pytorch/pytorch/issues/140930",
        Severity.ERROR,
        hint=Pattern(r"no (valid )?execution plans? supports? the graph|cudnn[_ ]frontend", re.IGNORECASE),
        cuda=True,
    ),
    Defect(
        "torch",
        "==2.10.*",
        "training with cuDNN attention was seen to corrupt the CUDA context on B200",
        "torch>=2.11",
        "https://github.com/unslothai/unsloth/blob/main/unsloth/import_fixes.py",
        Severity.WARNING,
        otherwise=None,
        capability=((10, 0), (10, 9)),
        cuda=True,
    ),
    Defect(
        "transformers",
        "==5.1.0",
        "training with DeepSpeed fails",
        "transformers>=5.2",
        f"https://github.com/huggingface/transformers/issues/43780 {_TRL}",
        Severity.ERROR,
        otherwise=None,
        beside={"deepspeed": ""},
    ),
    Defect(
        "datasets",
        ">=4.4.0,<=4.5.0",
        "mapping over a data set ends in a recursion error",
        "datasets==4.3.0",
        "https://github.com/unslothai/unsloth/blob/main/unsloth/import_fixes.py",
        Severity.ERROR,
        beside={"unsloth": ""},
    ),
    Defect(
        "datasets",
        ">=4.4.0,<=4.5.0",
        "mapping over a data set ends in a recursion error",
        "datasets==4.3.0",
        "https://github.com/unslothai/unsloth/blob/main/unsloth/import_fixes.py",
        Severity.ERROR,
        otherwise=None,
        hint=Pattern(r"RecursionError|maximum recursion depth", re.IGNORECASE),
    ),
    Defect(
        "sentence-transformers",
        ">=5.5.0,<5.6.1",
        "embeddings of RoBERTa models with flash attention are wrong under transformers 5",
        "sentence-transformers>=5.6.1",
        "https://github.com/huggingface/sentence-transformers/releases",
        Severity.WARNING,
        beside={"transformers": ">=5", "flash-attn": ""},
    ),
    Defect(
        "liger-kernel",
        "==0.8.1",
        "TRL excludes this release",
        "liger-kernel<0.8.1",
        f"https://github.com/huggingface/trl/pull/6516 {_TRL}",
        Severity.ERROR,
        beside={"trl": ""},
    ),
    _excluded("transformers", ">=4.52.0,<=4.52.3", "transformers>=4.52.4", _UNSLOTH, "unsloth"),
    _excluded("transformers", "==4.53.0", "transformers>=4.53.1", _UNSLOTH, "unsloth"),
    _excluded("transformers", "==4.54.0", "transformers>=4.54.1", _UNSLOTH, "unsloth"),
    _excluded("transformers", ">=4.55.0,<=4.55.1", "transformers>=4.55.2", _UNSLOTH, "unsloth"),
    _excluded("transformers", "==4.57.0", "transformers>=4.57.1", _LLAMAFACTORY, "llamafactory"),
    _excluded("transformers", ">=4.57.4,<=4.57.5", "transformers>=4.57.6", _UNSLOTH, "unsloth"),
    _excluded("transformers", ">=5.0.0,<=5.1.0", "transformers>=5.2", _UNSLOTH, "unsloth"),
    _excluded("transformers", "==5.6.0", "transformers>=5.6.1", _LLAMAFACTORY, "llamafactory"),
    _excluded("datasets", ">=4.0.0,<=4.1.0", "datasets==4.3.0", _UNSLOTH, "unsloth"),
    _excluded("bitsandbytes", "==0.46.0", "bitsandbytes>=0.46.1", _UNSLOTH, "unsloth"),
    _excluded("bitsandbytes", "==0.48.0", "bitsandbytes>=0.48.1", _UNSLOTH, "unsloth"),
    _excluded("trl", "==0.19.0", "trl>=0.19.1", _UNSLOTH, "unsloth"),
    _excluded("peft", "==0.11.0", "peft>=0.11.1", _UNSLOTH, "unsloth"),
)

_VISION = Pattern(r"conv3d|[-_/ ]vl\b|\bvl[-_]|\bvideo|\bvision|wan2|hunyuan|cosmos|\bomni", re.IGNORECASE)

SLOW = (
    Defect(
        "torch",
        "==2.9.0",
        "Conv3d in bf16 never uses cuDNN: 4 to 20 times slower vision and video models, and much more memory",
        "torch>=2.10",
        "https://github.com/pytorch/pytorch/issues/166122 https://github.com/pytorch/pytorch/issues/174051 "
        "https://github.com/nvidia-cosmos/cosmos-transfer2.5/pull/227",
        Severity.WARNING,
        hint=_VISION,
        cuda=True,
    ),
    Defect(
        "torch",
        "==2.9.1",
        "with cuDNN before 9.15, Conv3d in bf16 does not use cuDNN: 4 to 20 times slower vision and video models",
        "torch>=2.10",
        "https://github.com/pytorch/pytorch/issues/166643 https://github.com/pytorch/pytorch/issues/174051",
        Severity.WARNING,
        hint=_VISION,
        cuda=True,
    ),
    Defect(
        "torch",
        "==2.5.1",
        "conv2d was seen 8 times slower than in 2.3.1 for some shapes; cudnn.benchmark = True undoes it",
        "torch>=2.6",
        "https://github.com/pytorch/pytorch/issues/146096",
        Severity.WARNING,
        otherwise=None,
        hint=Pattern(r"conv(?:olution)?2d.{0,80}(?:slow|times|longer)|slow.{0,80}conv(?:olution)?2d", re.IGNORECASE),
        cuda=True,
    ),
    Defect(
        "xformers",
        "<0.0.29",
        "its CUTLASS attention splits keys badly (num_splits_key=-1); GPUs before Ampere use that kernel",
        "xformers>=0.0.29",
        "https://github.com/facebookresearch/xformers/issues/1176 "
        "https://github.com/unslothai/unsloth/blob/main/unsloth/import_fixes.py",
        Severity.WARNING,
        capability=((6, 0), (7, 9)),
        hint=Pattern(r"\bslow", re.IGNORECASE),
    ),
    Defect(
        "flash-attn",
        ">=2.8.0,<2.8.4",
        "one report has it 20 % slower than 2.7.4.post1 on an H100; measure before choosing",
        "flash-attn==2.7.4.post1",
        "https://github.com/Dao-AILab/flash-attention/issues/1903",
        Severity.NOTE,
        otherwise=None,
        capability=((9, 0), (9, 0)),
    ),
)
