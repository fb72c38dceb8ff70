"""Attention in which packed documents never see each other, put under any transformers model.

One function is registered in transformers' AttentionInterface, and nothing in its mask interface: the mask code then
builds no mask at all. transformers before 4.53 has no such pair; there the model keeps its "sdpa" attention, and the
call it makes to `scaled_dot_product_attention` is answered by the same function for the length of the run.

Paths, first that works: torch varlen_attn, the flash-attn package, FlexAttention, per-document SDPA. The first three
are written against torch 2.10 to 2.13's and flash-attn's sources for CUDA and have not yet been run on a GPU. Where the
first two cannot be, in float32 and below capability 8.0, FlexAttention compiles but is taken only when asked for
(`SPILLS`). The CPU takes the last, and plain matrix products instead of it in bfloat16 (`trainer.model.blockwise`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch
import torch.nn.functional as F

from trainer.errors import TrainerError, in_one_line
from trainer.model import flash, graphs
from trainer.model.blockwise import LONGEST, Blockwise
from trainer.model.perdocument import PLAIN, Extras, by_document, repeat
from trainer.model.trial import Heads, held_against_float32, trial

NAME = "trainer_documents"
DEVICES = ("cuda",)  # of all paths but the last
# Of a configuration: a layer that has one of these is more than the plain product.
SPECIAL = ("sliding_window", "attn_logit_softcapping", "attention_dropout", "attn_pdrop")
# Why FlexAttention is not taken by itself below capability 8.0 and in float32: compiled for such chips
# (`tests/cuda/goldens/flex.json`) each thread of its forward kernel keeps more in local memory than in registers.
SPILLS = "its kernel has too few registers in float32 and below capability 8.0, and was never measured"
Path = Callable[["DocumentAttention", Any, Any, Any, float], torch.Tensor]


class DocumentAttention:
    """Holds the borders of the row in work; `forward` is what the model's attention layers call.

    `causal=False` lets tokens see their whole document (embedding passes). Set before each forward with `enter`.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path
        self.lengths: tuple[int, ...] = ()
        self.borders: Any = None
        self.causal = True
        self.prepared: Any = None  # what a path computes once per row (FlexAttention's block mask)
        self.varlen: Any = None  # torch's varlen_attn, where that is the path
        self.traced = False  # compiled layers look into `trace`
        self.padded = False  # compiled layers are captured as CUDA graphs (`trainer.model.graphs`)
        self.slots = 0  # of the row in work

    def enter(self, lengths: tuple[int, ...], borders: torch.Tensor, causal: bool = True) -> None:
        """The documents of the row about to be computed; holds until the next call, so that recomputation sees the
        same.
        """
        self.lengths, self.borders, self.causal, self.prepared = lengths, borders, causal, None
        if self.traced:
            self.slots = sum(lengths)
            if self.padded:
                self.borders = graphs.begin(borders, self.slots)
            else:
                torch._dynamo.maybe_mark_dynamic(borders, 0)

    def trace(
        self, module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, scaling: Any = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, None]:  # fmt: skip
        """`forward` on the varlen path as a compiler can take it whole into a layer's graph: it reads no number of the
        documents. The longest document is said to be the row, which only starts blocks that find nothing to do, so that
        rows of one size are one graph.
        """
        scale = float(scaling) if scaling is not None else float(query.shape[-1]) ** -0.5
        if torch.is_autocast_enabled(query.device.type):
            dtype = torch.get_autocast_dtype(query.device.type)
            query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
        q, k, v = (tensor.squeeze(0).transpose(0, 1).contiguous() for tensor in (query, key, value))
        window = (-1, 0) if self.causal else (-1, -1)
        out = self.varlen(
            q, k, v, self.borders, self.borders, self.slots, self.slots, scale=scale, window_size=window,
            enable_gqa=q.shape[1] != k.shape[1],
        )  # fmt: skip
        return out.unsqueeze(0), None

    def forward(
        self,
        module: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        scaling: Any = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, None]:
        """transformers' attention signature: (1, heads, tokens, width) in, (1, tokens, heads, width) out."""
        window = kwargs.get("sliding_window")
        near = window is None or max(self.lengths) <= window
        extras = Extras(kwargs.get("softcap"), None if near else window, kwargs.get("dropout") or 0.0)
        if query.shape[0] != 1 or query.shape[2] != sum(self.lengths):
            raise ValueError(f"a row of {tuple(query.shape)} tokens, but its documents have {sum(self.lengths)}")
        scale = float(scaling) if scaling is not None else float(query.shape[-1]) ** -0.5
        if torch.is_autocast_enabled(query.device.type):
            # Rotation in float32 leaves queries and keys wider than values. Autocast narrows them for SDPA, but knows
            # nothing of varlen_attn, flash-attn and FlexAttention, which refuse float32 and mixed inputs.
            dtype = torch.get_autocast_dtype(query.device.type)
            query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
        # squeeze: the backward pass of an index would fill a tensor with zeros and copy into it, three times a layer.
        q, k, v = query.squeeze(0), key.squeeze(0), value.squeeze(0)
        if extras != PLAIN:
            return by_document(q, k, v, self.lengths, scale, self.causal, extras).unsqueeze(0), None
        return self._path(self, q, k, v, scale).unsqueeze(0), None

    @contextmanager
    def instead_of_sdpa(self) -> Iterator[None]:
        """Answers the model's calls of scaled_dot_product_attention (for transformers without AttentionInterface)."""
        original = F.scaled_dot_product_attention

        def answered(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if args or kwargs.get("attn_mask") is not None or query.shape[2] != sum(self.lengths):
                return original(query, key, value, *args, **kwargs)
            options = {"dropout": kwargs.get("dropout_p"), "scaling": kwargs.get("scale")}
            return self.forward(None, query, key, value, None, **options)[0].transpose(1, 2)

        F.scaled_dot_product_attention = answered
        try:
            yield
        finally:
            F.scaled_dot_product_attention = original


def _documents(
    state: DocumentAttention, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
) -> torch.Tensor:
    return by_document(query, key, value, state.lengths, scale, state.causal)


def _blocks(
    state: DocumentAttention, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
) -> torch.Tensor:
    """Plain matrix products in bfloat16; anything else, and rows with a long document, by SDPA."""
    if query.dtype != torch.bfloat16 or max(state.lengths) > LONGEST:
        return _documents(state, query, key, value, scale)
    out: torch.Tensor = Blockwise.apply(query, key, value, state.lengths, scale, state.causal)
    return out


def varlen_path(varlen_attn: Any) -> Path:
    """`varlen_attn` as a path, called as its own signature wants it.

    By the sources of torch: 2.10 says is_causal and has no scale; 2.11 says scale and that causality is a window of
    (-1, 0); 2.12 adds enable_gqa.
    """
    known = inspect.signature(varlen_attn).parameters

    def path(
        state: DocumentAttention, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        options: dict[str, Any] = {"enable_gqa": True} if "enable_gqa" in known else {}
        if "window_size" in known:
            options["window_size"] = (-1, 0) if state.causal else (-1, -1)
        else:
            options["is_causal"] = state.causal
        if "scale" in known:
            options["scale"] = scale
        else:
            query = query * (scale * query.shape[-1] ** 0.5)  # its own factor is 1 / sqrt(width)
        if "enable_gqa" not in options:
            key, value = repeat(query, key, value)
        longest = max(state.lengths)
        q, k, v = (tensor.transpose(0, 1).contiguous() for tensor in (query, key, value))
        out: torch.Tensor = varlen_attn(q, k, v, state.borders, state.borders, longest, longest, **options)
        return out

    return path


def _flash(flash_attn_varlen_func: Any) -> Path:
    def path(
        state: DocumentAttention, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        longest = max(state.lengths)
        q, k, v = (tensor.transpose(0, 1) for tensor in (query, key, value))
        out: torch.Tensor = flash_attn_varlen_func(
            q, k, v, state.borders, state.borders, longest, longest, softmax_scale=scale, causal=state.causal
        )
        return out

    return path


def _flex(flex_attention: Any, create_block_mask: Any) -> Path:
    def path(
        state: DocumentAttention, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        total = query.shape[1]
        if state.prepared is None:
            places = torch.arange(total, device=query.device)
            owner = torch.bucketize(places, state.borders[1:].to(places.dtype), right=True)
            causal = state.causal

            def visible(b: Any, h: Any, q: torch.Tensor, k: torch.Tensor) -> Any:  # noqa: ARG001 - FlexAttention's signature
                same = owner[q] == owner[k]
                return same & (q >= k) if causal else same

            state.prepared = create_block_mask(visible, None, None, total, total, device=query.device)
        gqa = query.shape[0] != key.shape[0]
        out = flex_attention(
            query[None], key[None], value[None], block_mask=state.prepared, scale=scale, enable_gqa=gqa
        )
        return out[0].transpose(0, 1)

    return path


def _find_varlen() -> Path:
    from torch.nn.attention.varlen import varlen_attn

    return varlen_path(varlen_attn)


def _traceable() -> Any:
    """torch's varlen_attn where a compiler can take it whole: an operator with scale and shared heads (2.12 on)."""
    from torch.nn.attention.varlen import varlen_attn

    known = inspect.signature(varlen_attn).parameters
    return varlen_attn if {"window_size", "scale", "enable_gqa"} <= set(known) else None


def _find_flash() -> Path:
    from flash_attn import flash_attn_varlen_func  # type: ignore[import-not-found,unused-ignore]

    return _flash(flash_attn_varlen_func)


def _find_flex() -> Path:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    return _flex(torch.compile(flex_attention), create_block_mask)


def choose(
    wanted: str, device: torch.device, dtype: torch.dtype, heads: Heads | None = None, tokens: int = 24,
    kernel: str = "auto", own: str = "auto",
) -> tuple[DocumentAttention, str]:  # fmt: skip
    """The attention for packed rows of so many tokens and the reason for it; TrainerError when the one asked for cannot
    run here. `kernel`: which FlashAttention stands behind torch's varlen_attn (`trainer.model.flash`); `own`: off
    leaves a CPU's bfloat16 to torch's kernel.
    """
    found: dict[str, Callable[[], Path]] = {"varlen": _find_varlen, "flash-attn": _find_flash, "flex": _find_flex}
    why: list[str] = []
    for name in found if wanted == "auto" else [wanted]:
        reason: str | None = None
        if name != "documents":
            if device.type not in DEVICES:
                reason = f"{name} needs CUDA"
            elif name != "flex" and not _is_narrow(device, dtype):
                reason = f"{name} needs bfloat16 or float16 and a GPU of capability 8.0"
            elif wanted == "auto" and not _is_narrow(device, dtype):
                reason = f"{name}: {SPILLS}"
            else:
                try:
                    attention = DocumentAttention(name, found[name]())
                    attention.varlen = _traceable() if name == "varlen" else None
                    newer, others = ("", []) if name != "varlen" else _newer(attention, device, dtype, heads, kernel)
                    why += others
                    trial(attention, device, dtype, heads, tokens)
                    return attention, "; ".join([*why, f"{name} works" + (f", by {newer}" if newer else "")])
                except TrainerError:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever a kernel says here, there is another path
                    reason = f"{name}: {in_one_line(error, 200)}"
        if reason and wanted != "auto":
            raise TrainerError("attention-not-available", f"attention={wanted}: {reason}", "Use attention=auto.")
        why += [reason] if reason else []
    if device.type == "cpu" and dtype == torch.bfloat16 and own == "auto":
        reason = "plain matrix products per document: faster in bfloat16 than torch's kernel for CPUs"
        return DocumentAttention("documents", _blocks), "; ".join([*why, reason])
    return DocumentAttention("documents", _documents), "; ".join([*why, "one SDPA per document is exact everywhere"])


def _is_narrow(device: torch.device, dtype: torch.dtype) -> bool:
    """Does the GPU multiply such numbers on tensor cores that attention kernels know?"""
    major, _ = torch.cuda.get_device_capability(device)
    return bool(dtype != torch.float32 and major >= 8)


def _newer(
    attention: DocumentAttention, device: torch.device, dtype: torch.dtype, heads: Heads | None, kernel: str
) -> tuple[str, list[str]]:
    """The FlashAttention that was put behind torch's operator, "" for torch's own, and why not another one."""
    major, _ = torch.cuda.get_device_capability(device)
    names = flash.candidates(kernel, major, flash.is_installed)
    found, why = flash.first_that_works(names, lambda: held_against_float32(attention, device, dtype, heads))
    if names and not found and kernel != "auto":
        raise TrainerError("attention-not-available", f"flash={kernel}: {why[0]}", "Use flash=auto.")
    return found, why


def install(attention: DocumentAttention) -> tuple[str, Any, str]:
    """(attn_implementation for the model, context manager to hold during the run, which way and why)."""
    try:
        import transformers.masking_utils  # noqa: F401 - its presence says that unknown attentions get no mask
        from transformers import AttentionInterface
    except ImportError:
        way = "transformers < 4.53 has no mask-free AttentionInterface: the model's own SDPA call is answered instead"
        return "sdpa", attention.instead_of_sdpa(), way
    name = f"{NAME}_{id(attention)}"  # each model of a process has its own, or they would answer for each other
    AttentionInterface.register(name, attention.forward)
    return name, _nothing(), "registered in transformers' AttentionInterface, without a mask"


@contextmanager
def changing_shapes(device: torch.device) -> Iterator[None]:
    """scaled_dot_product_attention without cuDNN's kernel where another is on: it plans anew for every shape.

    About a second each on a B200, where every batch of padded rows has a shape of its own, as has every new token of a
    sampled answer (modelscope/FunASR pull request 3705: 0.244 s a step with it, 0.068 s without and compiled), and
    before cuDNN 9.26 its backward pass can give NaN with a mask (pytorch issue 196678).
    """
    cuda = torch.backends.cuda
    others = cuda.flash_sdp_enabled() or cuda.mem_efficient_sdp_enabled() or cuda.math_sdp_enabled()
    if device.type != "cuda" or not others or not getattr(cuda, "cudnn_sdp_enabled", lambda: False)():
        yield
        return
    cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        cuda.enable_cudnn_sdp(True)


def for_compiled_layers(attention: DocumentAttention, implementation: str, config: Any) -> str:
    """What compiled layers call as `implementation`, in words: the traceable form, within their graph, or the function
    as it is, without looking into it.
    """
    if not implementation.startswith(NAME):
        return "the model's own attention in the graph"
    from transformers import AttentionInterface

    special = any(getattr(config, name, None) for name in SPECIAL)
    attention.traced = attention.varlen is not None and not special
    if attention.traced:
        AttentionInterface.register(implementation, attention.trace)
        return "attention in the graph"
    AttentionInterface.register(implementation, torch.compiler.disable(attention.forward))
    return "two graphs a layer, with attention between them"


@contextmanager
def _nothing() -> Iterator[None]:
    yield
