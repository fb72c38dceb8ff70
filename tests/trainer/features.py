"""The trainer's speed features: the setting that switches each off, what runs only with it, how near its losses are.

    [torchrun --nproc-per-node 2] -m tests.trainer.features FEATURE SETTINGS.json FOLDER

trains with the feature and without, and writes the losses of both into FOLDER. Without pytest: one of them runs in the
kept environment (`tests.cuda.environment`), which has none.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from tests.trainer import standins
from tests.trainer.standins import on_the_cpu, varlen, with_flash_4, with_narrow_links
from trainer.checkpoints.staging import Staging
from trainer.compute import exchange, hostmemory, moments
from trainer.data import feed, loader
from trainer.measure.history import History
from trainer.model import (
    adapted,
    attention,
    blockwise,
    contrastive,
    fitting,
    float8,
    graphs,
    kernels,
    liger,
    losses,
    narrow,
    selective,
)
from trainer.tasks import sft, task

Stands = Callable[[], AbstractContextManager[Any]]
EXACT = 1e-5  # float32: sums in another order
ROUNDED = 5e-4  # bfloat16: what its rounding changes of a loss in a few steps; seen were 1e-5 to 7e-5
BF16 = {"precision": "bfloat16"}


@dataclass(frozen=True)
class Feature:
    """A row of the table.

    runs: (owner or its module, name) of a function that is called with the feature and never without; only: of such
    calls. made_of: modules of the trainer that are there for it. near: the largest difference of a loss, as a share of
    it; of a gradient's norm it may be ten times that. stands: what stands in for a GPU or its kernels. saved: of a
    model on disk. how: in this process ("here"), one of its own ("alone"), two of them ("two"), or one of the kept
    environment whose Triton interprets ("interpreted"). slow: it compiles, or starts processes.
    """

    setting: str
    on: Any
    off: Any
    runs: tuple[Any, str]
    made_of: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    task: str = "sft"
    near: float = EXACT
    only: Callable[..., bool] = lambda *given, **named: True
    stands: tuple[Stands, ...] = ()
    saved: bool = False
    how: str = "here"
    slow: bool = False


def _is_narrow(tensor: Any, *given: Any, **named: Any) -> bool:
    return bool(tensor.dtype == torch.bfloat16)


FEATURES: dict[str, Feature] = {
    "norms and positions in few passes": Feature(
        "kernels", "auto", "off", (kernels.RootMeanSquare, "forward"), ("model.kernels",)
    ),
    "attention by plain products": Feature(
        "kernels", "auto", "off", (blockwise.Blockwise, "forward"), ("model.blockwise",), BF16, near=ROUNDED
    ),
    "norms of a narrow residual stream": Feature(
        "kernels", "auto", "off", (narrow, "_narrow"), values=BF16, near=ROUNDED, stands=(on_the_cpu(narrow),)
    ),
    "narrow residual stream": Feature(
        "residual", "auto", "float32", (narrow, "narrow_states"), ("model.narrow",), {**BF16, "kernels": "off"},
        near=ROUNDED, stands=(on_the_cpu(narrow),),
    ),
    "compiled layers": Feature(
        "compile", "on", "off", (fitting, "compile_layers"), ("compute.compiling",), how="alone", slow=True
    ),
    "loss in pieces": Feature(
        "loss_chunk", 1, 4096, (losses.ChunkedTokenLoss, "forward"), ("model.losses",),
        {"tokens_per_row": 512},
    ),
    "logits of trained positions": Feature("head", "trained", "all", (task, "token_loss")),
    "varlen attention": Feature(
        "attention", "varlen", "documents", (standins, "second"), ("model.attention", "model.perdocument"), BF16,
        near=ROUNDED, stands=(on_the_cpu(attention), varlen),
    ),
    "FlashAttention 4": Feature(
        "flash", "4", "2", (standins, "fourth"), ("model.flash", "model.trial"), {**BF16, "attention": "varlen"},
        near=ROUNDED, stands=(on_the_cpu(attention), varlen, with_flash_4),
    ),
    "Liger's kernels": Feature(
        "liger", "auto", "off", (liger, "_gate"), ("model.liger",), {"max_steps": 2},
        stands=(on_the_cpu(liger), standins.interpreter),
        how="interpreted", slow=True,
    ),
    "CUDA graphs": Feature(
        "graphs", "on", "off", (graphs, "pad_borders"), ("model.graphs",),
        {**BF16, "attention": "varlen", "compile": "on", "recompute": "none"},
        stands=(on_the_cpu(attention), on_the_cpu(graphs), varlen), how="alone", slow=True,
    ),
    "products in 8 bits": Feature(
        "float8", "rowwise", "off", (float8, "install"), ("model.float8",), BF16, near=1e-3,
        stands=(lambda: mock.patch.object(float8, "LEAST", 32),),
    ),
    "frozen weights in 4 bits": Feature(
        "quantize", "4bit", "none", ("bitsandbytes", "matmul_4bit"), ("model.quantized",), {"lora_rank": 8}, near=5e-3,
        saved=True,
    ),
    "frozen weights in 8 bits": Feature(
        "quantize", "8bit", "none", ("bitsandbytes", "matmul"), values={"lora_rank": 8}, near=1e-3, saved=True,
    ),
    "adapters in one node": Feature(
        "lora_fused", True, False, (adapted.AdaptedLinear, "forward"), ("model.adapted",), {"lora_rank": 4}
    ),
    "fused optimizer": Feature("optimizer", "fused", "loop", (torch, "_fused_adamw_"), ("compute.optimizer",)),
    "moments in 8 bits": Feature(
        "moments", "8bit", "float32", (moments, "adamw"), ("compute.moments",), near=2e-4, saved=True
    ),
    "layers recomputed": Feature(
        "recompute", "full", "none", (torch.utils.checkpoint, "_checkpoint_without_reentrant_generator"),
        ("model.memory", "model.peak"),
    ),
    "layers recomputed between products": Feature(
        "recompute", "selective", "none", (selective, "_policy"), ("model.selective",)
    ),
    "freed memory kept": Feature(
        "freed_memory", "auto", "libc", (hostmemory, "keep"), ("compute.hostmemory",), {"recompute": "auto"},
        how="alone",
    ),
    "exchange beside the backward pass": Feature(
        "overlap", True, False, (exchange.Exchange, "_launch"), ("compute.exchange", "compute.parallel"),
        {"parallel": "ddp", "accumulate": 2}, only=lambda group: bool(group.armed), how="two", slow=True,
    ),
    "exchange as narrow as the products": Feature(
        "exchange", "auto", "float32", (torch.distributed, "all_reduce"), values={**BF16, "parallel": "ddp"},
        near=ROUNDED, only=_is_narrow, stands=(with_narrow_links,), how="two", slow=True,
    ),
    "shards gathered as narrow as the products": Feature(
        "exchange", "auto", "float32", (torch.distributed, "all_gather_single"), ("compute.sharding",),
        {**BF16, "parallel": "fsdp2"}, near=ROUNDED, stands=(with_narrow_links,), how="two", slow=True,
        only=lambda out, given, **named: _is_narrow(given),
    ),
    "checkpoints written beside the training": Feature(
        "checkpoint_blocking", False, True, (Staging, "copies"), ("checkpoints.staging",), {"checkpoint_every": 1}
    ),
    "losses read late": Feature(
        "sync_every_step", False, True, (History, "add"), ("measure.history",), {"log_every": 100},
        only=lambda history, *given: bool(history._pending),
    ),
    "steps prepared ahead": Feature(
        "prefetch", 2, 0, (feed.queue, "Queue"), ("data.feed",), {"loader_workers": 0}
    ),
    "batches made by processes": Feature(
        "loader_workers", 1, 0, (loader, "in_processes"), ("data.loader",), how="alone"
    ),
    "tokens made once": Feature(
        "pretokenize", True, False, (sft, "encode_in_processes"), ("data.tokens", "data.intheloop"),
        {"packing": False, "attention": "model"},
    ),
    "packed rows": Feature(
        "packing", True, False, (sft, "PackedSource"), ("data.batches",),
        {"tokens_per_row": 1024, "examples_per_batch": 24},
    ),
    "pairs in pieces": Feature(
        "gradcache_chunk", 40, 0, (contrastive.GradCache, "forward"), ("model.contrastive",), task="gritlm",
        values={"pairs_per_batch": 4, "temperature": 0.1},
    ),
}  # fmt: skip
"""What makes a step faster, or smaller so that it may be faster, by name."""


@contextmanager
def counted(feature: Feature) -> Iterator[list[int]]:
    """One entry for each call that runs only with the feature."""
    owner, name = feature.runs
    owner = importlib.import_module(owner) if isinstance(owner, str) else owner
    own, calls = getattr(owner, name), []

    def called(*given: Any, **named: Any) -> Any:
        if feature.only(*given, **named):
            calls.append(1)
        return own(*given, **named)

    static = isinstance(owner.__dict__.get(name), staticmethod)
    with mock.patch.object(owner, name, staticmethod(called) if static else called):
        yield calls


def trained(feature: Feature, value: Any, values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Losses of a run, and how often what runs only with the feature did."""
    from trainer.__main__ import main

    folder.mkdir(parents=True)
    given = {**values, **feature.values, feature.setting: value, "output": str(folder / "run"), "save_model": False}
    (folder / "settings.json").write_text(json.dumps(given))
    threads = torch.get_num_threads()
    with ExitStack() as held:
        for stands in feature.stands:
            held.enter_context(stands())
        calls = held.enter_context(counted(feature))
        code = main([feature.task, "--config", str(folder / "settings.json"), "--report", str(folder / "report.json")])
    torch.set_num_threads(threads)
    if os.environ.get("RANK", "0") != "0":  # the first process speaks for all
        return {"code": code}
    report = json.loads((folder / "report.json").read_text())
    assert code == 0, report["error"]
    return {"losses": report["losses"], "norms": report["grad_norms"], "calls": len(calls)}


def both(feature: Feature, values: dict[str, Any], folder: Path, ports: list[int]) -> dict[str, Any]:
    """With the feature ("on") and without ("off"). ports: where two processes meet, a run each."""
    found = {}
    for way, port in zip(("on", "off"), ports or [0, 0], strict=True):
        if port:
            os.environ["MASTER_PORT"] = str(port)
        found[way] = trained(feature, getattr(feature, way), values, folder / f"{way}-{os.environ.get('RANK', 0)}")
    return found


if __name__ == "__main__":
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
    named, given, into = sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), Path(sys.argv[3])
    answer = both(FEATURES[named], given["values"], into, given["ports"])
    if os.environ.get("RANK", "0") == "0":
        (into / "answer.json").write_text(json.dumps(answer))
