"""Every attention kernel of torch by head width and length, forward and backward, and every way to do packed rows.

The last lines are the order of scaled_dot_product_attention's kernels that a target file should name. `first` is the
time of the first call with a shape: kernels that plan anew for each shape lose it on every new length.
"""

from __future__ import annotations

import inspect
import math
import statistics
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from trainer.model import attention
from trainer.model.attention import DocumentAttention

from tests.benchmarks.gpu.session import Session, why
from tests.benchmarks.gpu.timing import distance, seconds_of, wait

KERNELS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
WIDTHS = (64, 96, 128, 256)


def measure(session: Session) -> None:
    """Dense causal rows by kernel, then packed rows by way."""
    for length in session.pick((64,), (2048, 8192)):
        for width in session.pick((16,), WIDTHS):
            for kernel in KERNELS:
                for grouped in (False, True):
                    name = "sdp %s width %d length %d%s" % (kernel, width, length, " grouped" if grouped else "")
                    session.attempt(name, lambda k=kernel, w=width, n=length, g=grouped: dense(session, k, w, n, g), 4)  # type: ignore[misc]
    for width in session.pick((16,), (64, 128)):
        for way in WAYS:
            session.attempt("packed %s width %d" % (way, width), lambda y=way, w=width: packed(session, y, w), 8)  # type: ignore[misc]
    session.facts["order"] = order(session)
    session.table(shown(session))


def heads_of(session: Session, width: int) -> tuple[int, int]:
    """Query heads that make a model 4,096 wide (64 at toy size), and a quarter as many for keys and values."""
    query = max(4, session.pick(64, 4096) // width // 4 * 4)
    return query, query // 4


def dense(session: Session, kernel: str, width: int, length: int, grouped: bool) -> dict[str, Any]:
    """One kernel alone, on causal rows of one length. `grouped`: keys and values are not repeated for the query heads,
    and the kernel must group them itself.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    device, dtype = session.device, torch.bfloat16
    rows = session.pick(1, 16384) // length or 1
    many, few = heads_of(session, width)
    kinds = (many, few if grouped else many, few if grouped else many)
    inputs = [torch.randn(rows, heads, length, width, device=device, dtype=dtype) for heads in kinds]
    inputs = [tensor.requires_grad_() for tensor in inputs]
    options: dict[str, Any] = {"enable_gqa": True} if grouped else {}
    with sdpa_kernel([getattr(SDPBackend, KERNELS[kernel])]):

        def forward() -> torch.Tensor:
            return attended(inputs, options)

        up = torch.randn_like(forward())
        error = _error(inputs, options, up) if length <= 2048 else None
        row = passes(session, forward, inputs, up)
        other = [tensor[:, :, : length - 8].detach().requires_grad_() for tensor in inputs]
        row["new_shape_ms"] = round(1e3 * _first(session, other, options), 3)
    # Two products forward and five backward (one of them again), each of 2 x width multiplications per visible pair.
    work = 4.0 * rows * many * width * length * (length + 1) / 2
    row.update(
        rows=rows, heads=kinds, off=error,
        forward_tflops=work / row["forward"]["median_ms"] / 1e9, tflops=3.5 * work / row["both_ms"] / 1e9,
    )  # fmt: skip
    return row


def attended(inputs: list[torch.Tensor], options: dict[str, Any]) -> torch.Tensor:
    """Causal attention of (query, key, value)."""
    return F.scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], is_causal=True, **options)


def _first(session: Session, inputs: list[torch.Tensor], options: dict[str, Any]) -> float:
    import time

    wait(session.device)
    begun = time.perf_counter()
    attended(inputs, options).sum().backward()
    wait(session.device)
    return time.perf_counter() - begun


def _error(inputs: list[torch.Tensor], options: dict[str, Any], up: torch.Tensor) -> list[float]:
    """Of output and gradients of the first row, against float32 by plain arithmetic."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def outcome(dtype: torch.dtype) -> list[torch.Tensor | None]:
        few = [tensor[:1].detach().to(dtype).requires_grad_() for tensor in inputs]
        out = attended(few, options)
        out.backward(up[:1].to(dtype))
        return [out, *(tensor.grad for tensor in few)]

    found = outcome(inputs[0].dtype)
    with sdpa_kernel([SDPBackend.MATH]):
        exact = outcome(torch.float32)
    return [distance(one, other) for one, other in zip(found, exact)]


def passes(
    session: Session, forward: Callable[[], torch.Tensor], inputs: list[torch.Tensor], up: torch.Tensor
) -> dict[str, Any]:
    """Times of forward alone and of both passes, and peak memory beyond the inputs."""
    device = session.device
    cuda = device.type == "cuda"

    def both() -> None:
        for tensor in inputs:
            tensor.grad = None
        forward().backward(up)

    budget = session.pick(0.02, 0.25)
    before = torch.cuda.memory_allocated(device) if cuda else 0
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    with torch.no_grad():
        one = seconds_of(forward, device, budget=budget)
    two = seconds_of(both, device, budget=budget)
    memory = torch.cuda.max_memory_allocated(device) - before if cuda else None
    return {
        "forward": one.as_row(), "both": two.as_row(), "both_ms": 1e3 * two.median, "memory": memory,
    }  # fmt: skip


def document_lengths(session: Session) -> tuple[int, ...]:
    """A row of documents as chats have them: lognormal, median 300 tokens, cut to fill the row."""
    draw = torch.Generator().manual_seed(0)
    total, found = session.pick(200, 16384), []  # type: ignore[var-annotated]
    while sum(found) < total:
        size = int(math.exp(math.log(session.pick(20, 300)) + 0.8 * float(torch.randn((), generator=draw)))) + 1
        found.append(min(size, total - sum(found)))
    return tuple(found)


def _of_trainer(name: str) -> Callable[[Session], Any]:
    def build(session: Session) -> Any:
        dtype = torch.float32 if session.device.type == "cpu" else torch.bfloat16
        return attention.choose(name, session.device, dtype)[0]._path

    return build


def _grouped_varlen(session: Session) -> Any:
    """varlen_attn without repeated keys: its flash kernels group heads by themselves, where the release lets them."""
    from torch.nn.attention.varlen import varlen_attn

    def path(state: DocumentAttention, query: Any, key: Any, value: Any, scale: float) -> torch.Tensor:
        longest = max(state.lengths)
        q, k, v = (tensor.transpose(0, 1).contiguous() for tensor in (query, key, value))
        options = {"enable_gqa": True} if "enable_gqa" in inspect.signature(varlen_attn).parameters else {}
        out: torch.Tensor = varlen_attn(
            q, k, v, state.borders, state.borders, longest, longest, scale=scale, window_size=(-1, 0), **options
        )
        return out

    return path


def _dense_mask(session: Session) -> Any:
    """One call with a block mask, as transformers does where no flash-attn is installed."""

    def path(state: DocumentAttention, query: Any, key: Any, value: Any, scale: float) -> torch.Tensor:
        if state.prepared is None:
            places = torch.arange(query.shape[1], device=query.device)
            owner = torch.bucketize(places, state.borders[1:].to(places.dtype), right=True)
            state.prepared = (owner[:, None] == owner[None]) & (places[:, None] >= places[None])
        groups = query.shape[0] // key.shape[0]
        key, value = key.repeat_interleave(groups, 0), value.repeat_interleave(groups, 0)
        mask = state.prepared[None, None]
        out = F.scaled_dot_product_attention(query[None], key[None], value[None], attn_mask=mask, scale=scale)
        return out[0].transpose(0, 1)

    return path


def _padded(session: Session) -> Any:
    """Documents as rows of one batch, each as long as the longest: what no packing costs in attention."""

    def path(state: DocumentAttention, query: Any, key: Any, value: Any, scale: float) -> torch.Tensor:
        groups = query.shape[0] // key.shape[0]
        key, value = key.repeat_interleave(groups, 0), value.repeat_interleave(groups, 0)
        pieces = [
            torch.nn.utils.rnn.pad_sequence(tensor.transpose(0, 1).split(list(state.lengths)), batch_first=True)
            for tensor in (query, key, value)
        ]
        query, key, value = (piece.transpose(1, 2) for piece in pieces)
        out = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale)
        rows = [row[:, :length] for row, length in zip(out, state.lengths)]
        return torch.cat(rows, 1).transpose(0, 1)

    return path


WAYS: dict[str, Callable[[Session], Any]] = {
    "varlen": _of_trainer("varlen"),
    "varlen grouped": _grouped_varlen,
    "flash-attn": _of_trainer("flash-attn"),
    "flex": _of_trainer("flex"),
    "documents": _of_trainer("documents"),
    "dense mask": _dense_mask,
    "padded": _padded,
}


def packed(session: Session, way: str, width: int) -> dict[str, Any]:
    """One way of keeping the documents of a row apart: time, memory, and the error of its output."""
    device = session.device
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    lengths = document_lengths(session)
    many, few = heads_of(session, width)
    state = DocumentAttention(way, WAYS[way](session))
    borders = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32, device=device)
    shapes = [(1, heads, sum(lengths), width) for heads in (many, few, few)]
    inputs = [torch.randn(*one, device=device, dtype=dtype).requires_grad_() for one in shapes]

    def forward() -> torch.Tensor:
        state.enter(lengths, borders)  # so that what a way prepares for each row is counted
        return state.forward(None, inputs[0], inputs[1], inputs[2], None)[0]

    exact = DocumentAttention("documents", attention._documents)
    exact.enter(lengths, borders)
    with torch.no_grad():
        wide = [tensor.float() for tensor in inputs]
        reference = exact.forward(None, wide[0], wide[1], wide[2], None)[0]
        error = distance(forward(), reference)
    row = passes(session, forward, inputs, torch.randn_like(forward()))
    work = 4.0 * many * width * sum(n * (n + 1) / 2 for n in lengths)
    row.update(documents=len(lengths), longest=max(lengths), off=error, tflops=3.5 * work / row["both_ms"] / 1e9)
    return row


def order(session: Session) -> dict[str, list[str]]:
    """Kernels by the geometric mean of their time for both passes, fastest first; by head width, and over all."""

    def ranked(fits: Callable[[str], bool]) -> list[str]:
        times: dict[str, list[float]] = {}
        for name, row in session.rows.items():
            if name.startswith("sdp ") and "both_ms" in row and not name.endswith("grouped") and fits(name):
                times.setdefault(name.split()[1], []).append(row["both_ms"])
        most = max((len(values) for values in times.values()), default=0)
        whole = [kernel for kernel, values in times.items() if len(values) == most]
        return sorted(whole, key=lambda kernel: statistics.geometric_mean(times[kernel]))

    found = {"width %d" % width: ranked(lambda n, w=width: " width %d " % w in n) for width in WIDTHS}  # type: ignore[misc]
    return {**{key: value for key, value in found.items() if value}, "all": ranked(lambda _: True)}


def shown(session: Session) -> list[str]:
    """The table."""
    lines = ["%-44s %9s %9s %8s %9s %9s" % ("", "fwd ms", "both ms", "TFLOP/s", "GiB", "new shape")]
    for name, row in session.rows.items():
        if "both_ms" not in row:
            lines.append("%-44s %s" % (name, why(row, 70)))
            continue
        figures = (row["forward"]["median_ms"], row["both_ms"], row["tflops"], (row["memory"] or 0) / 2**30)
        lines.append(
            "%-44s %9.3f %9.3f %8.1f %9.2f %9s" % (name, *figures, row.get("new_shape_ms", row["both"]["first_ms"]))
        )
    for key, value in session.facts["order"].items():
        lines.append("sdp order, %s: %s" % (key, ", ".join(value)))
    return lines
