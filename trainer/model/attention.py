"""Attention in which packed documents never see each other, put under any transformers model.

One function is registered in transformers' AttentionInterface, and nothing in its mask interface: the mask code then
builds no mask at all. transformers before 4.53 has no such pair; there the model keeps its "sdpa" attention, and the
call it makes to `scaled_dot_product_attention` is answered by the same function for the length of the run.

Paths, first that works: torch varlen_attn, the flash-attn package, FlexAttention, per-document SDPA. The first three
are written against torch 2.10 to 2.13's and flash-attn's sources for CUDA and have not yet been run on a GPU; the CPU
takes the last, and plain matrix products instead of it in bfloat16 (`trainer.model.blockwise`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch
import torch.nn.functional as F

from trainer.errors import TrainerError, in_one_line
from trainer.model.blockwise import LONGEST, Blockwise

NAME = "trainer_documents"
_sdpa = F.scaled_dot_product_attention  # torch's own, also while `instead_of_sdpa` answers for it
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

    def enter(self, lengths: tuple[int, ...], borders: torch.Tensor, causal: bool = True) -> None:
        """The documents of the row about to be computed; holds until the next call, so that recomputation sees the
        same.
        """
        self.lengths, self.borders, self.causal, self.prepared = lengths, borders, causal, None

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
        if (
            kwargs.get("softcap") is not None
            or (window is not None and max(self.lengths) > window)
            or kwargs.get("dropout")
        ):
            raise TrainerError(
                "attention-not-supported",
                "this model's attention uses a soft cap, dropout, or a window shorter than the longest document",
                "Train it with packing=false and attention=model.",
            )
        if query.shape[0] != 1 or query.shape[2] != sum(self.lengths):
            raise ValueError(f"a row of {tuple(query.shape)} tokens, but its documents have {sum(self.lengths)}")
        scale = float(scaling) if scaling is not None else float(query.shape[-1]) ** -0.5
        if torch.is_autocast_enabled(query.device.type):
            # Rotation in float32 leaves queries and keys wider than values. Autocast narrows them for SDPA, but knows
            # nothing of varlen_attn, flash-attn and FlexAttention, which refuse float32 and mixed inputs.
            dtype = torch.get_autocast_dtype(query.device.type)
            query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
        # squeeze: the backward pass of an index would fill a tensor with zeros and copy into it, three times a layer.
        return self._path(self, query.squeeze(0), key.squeeze(0), value.squeeze(0), scale).unsqueeze(0), None

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


def _repeat(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> tuple[Any, Any]:
    groups = query.shape[0] // key.shape[0]
    if groups == 1:
        return key, value
    return key.repeat_interleave(groups, 0), value.repeat_interleave(groups, 0)


def _documents(
    state: DocumentAttention, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
) -> torch.Tensor:
    """One SDPA per document.

    Measured on 2 CPU cores in float32 (rows of 2,048 tokens in 6 to 17 documents, 4 heads of 64, forward and
    backward, taking turns): 24 ms; one call with a dense block mask took 3.5 times as long; one hand-written node
    around torch's CPU kernels, with plain matrix products for short documents, 7 % less, which is 1 % of a step: not
    worth its lines.
    """
    options: dict[str, Any] = {"is_causal": state.causal, "scale": scale}
    if query.shape[0] != key.shape[0] and query.device.type == "cpu" and _shares_heads_on_cpu():
        options["enable_gqa"] = True
    else:
        key, value = _repeat(query, key, value)
    sizes = list(state.lengths)
    pieces = zip(query.split(sizes, 1), key.split(sizes, 1), value.split(sizes, 1))
    rows = [_sdpa(q[None], k[None], v[None], **options) for q, k, v in pieces]
    return torch.cat([row[0] for row in rows], 1).transpose(0, 1)


def _blocks(
    state: DocumentAttention, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
) -> torch.Tensor:
    """Plain matrix products in bfloat16; anything else, and rows with a long document, by SDPA."""
    if query.dtype != torch.bfloat16 or max(state.lengths) > LONGEST:
        return _documents(state, query, key, value, scale)
    out: torch.Tensor = Blockwise.apply(query, key, value, state.lengths, scale, state.causal)
    return out


def _shares_heads_on_cpu() -> bool:
    """Does torch's CPU kernel read shared keys and values without copies? Seen in 2.13 (its profile shows the flash
    kernel, and forward and backward of 7 documents took 0.85 to 0.94 times the CPU time with copies); older ones were
    not tried.
    """
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) >= (2, 13)


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
            key, value = _repeat(query, key, value)
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


def _find_flash() -> Path:
    from flash_attn import flash_attn_varlen_func  # type: ignore[import-not-found,unused-ignore]

    return _flash(flash_attn_varlen_func)


def _find_flex() -> Path:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    return _flex(torch.compile(flex_attention), create_block_mask)


def trial(attention: DocumentAttention, device: torch.device, dtype: torch.dtype) -> None:
    """Both passes over a few tokens. Raises what the kernel raises: a build of torch may lack a kernel that it has the
    function of, and a compiler may be missing, which is better known before the model is built.
    """
    query, key, value = (torch.randn(1, heads, 24, 64, device=device, dtype=dtype) for heads in (4, 2, 2))
    attention.enter((16, 8), torch.tensor([0, 16, 24], dtype=torch.int32, device=device))
    inputs = [tensor.requires_grad_() for tensor in (query, key, value)]
    out, _ = attention.forward(None, inputs[0], inputs[1], inputs[2], None)
    out.sum().backward()
    if not all(tensor.grad is not None and bool(torch.isfinite(tensor.grad).all()) for tensor in inputs):
        raise ArithmeticError("its gradients are not finite")


def choose(wanted: str, device: torch.device, dtype: torch.dtype) -> tuple[DocumentAttention, str]:
    """The attention for packed rows and the reason for it; TrainerError when the one asked for cannot run here."""
    found: dict[str, Callable[[], Path]] = {"varlen": _find_varlen, "flash-attn": _find_flash, "flex": _find_flex}
    why: list[str] = []
    for name in found if wanted == "auto" else [wanted]:
        reason: str | None = None
        if name != "documents":
            if device.type != "cuda":
                reason = f"{name} needs CUDA"
            elif name != "flex" and (dtype == torch.float32 or torch.cuda.get_device_capability(device) < (8, 0)):
                reason = f"{name} needs bfloat16 or float16 and a GPU of capability 8.0"
            else:
                try:
                    attention = DocumentAttention(name, found[name]())
                    trial(attention, device, dtype)
                    return attention, "; ".join([*why, f"{name} works"])
                except TrainerError:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever a kernel says here, there is another path
                    reason = f"{name}: {in_one_line(error, 200)}"
        if reason and wanted != "auto":
            raise TrainerError("attention-not-available", f"attention={wanted}: {reason}", "Use attention=auto.")
        why += [reason] if reason else []
    if device.type == "cpu" and dtype == torch.bfloat16:
        reason = "plain matrix products per document: faster in bfloat16 than torch's kernel for CPUs"
        return DocumentAttention("documents", _blocks), "; ".join([*why, reason])
    return DocumentAttention("documents", _documents), "; ".join([*why, "one SDPA per document is exact everywhere"])


def install(attention: DocumentAttention, compiling: bool) -> tuple[str, Any, str]:
    """(attn_implementation for the model, context manager to hold during the run, which way and why).

    Compiled layers call the function as it is: its loop over documents would be compiled anew for every row.
    """
    try:
        import transformers.masking_utils  # noqa: F401 - its presence says that unknown attentions get no mask
        from transformers import AttentionInterface
    except ImportError:
        way = "transformers < 4.53 has no mask-free AttentionInterface: the model's own SDPA call is answered instead"
        return "sdpa", attention.instead_of_sdpa(), way
    name = f"{NAME}_{id(attention)}"  # each model of a process has its own, or they would answer for each other
    AttentionInterface.register(name, attention.forward)
    if compiling:
        leave_uncompiled(attention, name)
    return name, _nothing(), "registered in transformers' AttentionInterface, without a mask"


def leave_uncompiled(attention: DocumentAttention, implementation: str) -> None:
    """Compiled layers call the function registered as `implementation` without looking into it."""
    if implementation.startswith(NAME):
        from transformers import AttentionInterface

        AttentionInterface.register(implementation, torch.compiler.disable(attention.forward))


@contextmanager
def _nothing() -> Iterator[None]:
    yield
