"""Everything the trainer computes on the device, against float32 or float64 on the CPU.

Attention paths and loss kernels with their gradients; then the first steps of every task from the same weights and
data, in every precision and with every setting that takes another path through the code.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from trainer.model import attention, losses

from tests.benchmarks.gpu import runs
from tests.benchmarks.gpu.session import Session, why
from tests.benchmarks.gpu.timing import distance

# Largest ||difference|| / ||reference|| that rounding explains: bfloat16 has 8 bits, float16 and TF32 11, float32 24.
BOUND = {torch.bfloat16: 2e-2, torch.float16: 3e-3, torch.float32: 1e-4}
# Relative difference of a step's loss from float32 on the CPU, in the first steps.
LOSS_BOUND = {"float32": 2e-4, "bfloat16": 2e-2, "float16": 5e-3}
NORM_FACTOR = 5.0  # gradient norms feel rounding more than losses do
Found = tuple[list[float], list[float]]  # losses and gradient norms of the steps
Variant = tuple[str, str, dict[str, Any], dict[str, Any]]  # name, task, settings, flags


def measure(session: Session) -> None:
    """Kernels first, since what follows uses them; then the tasks."""
    lengths = session.pick((5, 1, 11), (700, 1, 64, 1283))
    for width in session.pick((16,), (64, 96, 128)):
        for path in ("varlen", "flash-attn", "flex", "documents"):
            for causal in (True, False):
                name = "attention %s %d %s" % (path, width, "causal" if causal else "full")
                session.attempt(name, lambda p=path, w=width, c=causal: one_path(session, p, lengths, w, c), 10)  # type: ignore[misc]
    for kind in ("plain", "chunked"):
        for dtype in (torch.float32, torch.bfloat16):
            name = "loss %s %s" % (kind, str(dtype).replace("torch.", ""))
            session.attempt(name, lambda k=kind, d=dtype: one_loss(session, k, d), 5)  # type: ignore[misc]
    known: dict[str, Found] = {}
    with tempfile.TemporaryDirectory() as folder:
        for variant in variants(session):
            session.attempt("steps " + variant[0], lambda v=variant: steps(session, v, Path(folder), known), 15)  # type: ignore[misc]
    lines = ["%-46s %10s %10s  %s" % ("", "error", "bound", "")]
    for name, row in session.rows.items():
        if "distance" in row:
            word = "agrees" if row["agrees"] else "DIFFERS"
            lines.append("%-46s %10.2e %10.0e  %s" % (name, row["distance"], row["bound"], word))
        else:
            lines.append("%-46s %s" % (name, why(row, 90)))
    session.table(lines)


def one_path(session: Session, path: str, lengths: tuple[int, ...], width: int, causal: bool) -> dict[str, Any]:
    """Output and gradients of one attention path on grouped heads, in the number format that training uses there."""
    device = session.device
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    state, _ = attention.choose(path, device, dtype)
    draw = torch.Generator().manual_seed(0)
    shapes = [(1, heads, sum(lengths), width) for heads in (6, 2, 2, 6)]
    query, key, value, up = (torch.randn(*one, generator=draw).to(dtype) for one in shapes)
    borders = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)

    def outcome(state: attention.DocumentAttention, where: torch.device, kind: torch.dtype) -> list[torch.Tensor]:
        state.enter(lengths, borders.to(where), causal)
        inputs = [tensor.to(where, kind, copy=True).requires_grad_() for tensor in (query, key, value)]
        out, _ = state.forward(None, inputs[0], inputs[1], inputs[2], None)
        out.backward(up.to(where, kind).transpose(1, 2))
        return [out, *(tensor.grad for tensor in inputs if tensor.grad is not None)]

    reference, _ = attention.choose("documents", torch.device("cpu"), torch.float32)
    expected = outcome(reference, torch.device("cpu"), torch.float64)
    found = outcome(state, device, dtype)
    errors = [distance(one, other) for one, other in zip(found, expected)]
    return {
        "distance": max(errors), "bound": BOUND[dtype], "agrees": max(errors) < BOUND[dtype],
        "output": errors[0], "gradients": errors[1:],
    }  # fmt: skip


def one_loss(session: Session, kind: str, dtype: torch.dtype) -> dict[str, Any]:
    """Loss and its gradients by hidden states and head, against float64 on the CPU."""
    device = session.device
    count, width, vocabulary = session.pick((40, 16, 300), (3000, 576, 49152))
    draw = torch.Generator().manual_seed(0)
    hidden = torch.randn(count, width, generator=draw)
    weight = torch.randn(vocabulary, width, generator=draw) / width**0.5
    targets = torch.randint(vocabulary, (count,), generator=draw)
    exact = [hidden.double().requires_grad_(), weight.double().requires_grad_()]
    F.cross_entropy(F.linear(exact[0], exact[1]), targets, reduction="sum").mul(0.01).backward()
    total = F.cross_entropy(F.linear(exact[0], exact[1]), targets, reduction="sum").mul(0.01)
    inputs = [hidden.to(device).requires_grad_(), weight.to(device).requires_grad_()]
    before = losses.CHUNK_BYTES
    losses.CHUNK_BYTES = 4 * vocabulary * (count // 5) if kind == "chunked" else 4 * vocabulary * count
    try:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
            found = losses.token_loss(inputs[0], inputs[1], targets.to(device), 0.01)
        found.backward()
    finally:
        losses.CHUNK_BYTES = before
    errors = [distance(found, total)]
    errors += [distance(mine.grad, theirs.grad) for mine, theirs in zip(inputs, exact)]
    return {"distance": max(errors), "bound": BOUND[dtype], "agrees": max(errors) < BOUND[dtype], "each": errors}


def variants(session: Session) -> list[Variant]:
    """Tasks and settings; each takes another path."""
    half = {"precision": "bfloat16"}
    tasks: list[Variant] = [
        ("%s %s" % (name, precision), name, {"precision": precision}, {})
        for name in ("sft", "gritlm", "pretrain")
        for precision in ("float32", "bfloat16")
    ]
    tasks += [
        ("sft float16", "sft", {"precision": "float16"}, {}),
        ("sft tf32", "sft", {"precision": "float32"}, {"float32-matmul-precision": "high"}),
        ("lora bfloat16", "sft", {**half, "lora_rank": 8}, {}),
        ("rft bfloat16", "rft", {**half, "samples_per_prompt": 2, "max_new_tokens": 8, "checker": "regex"}, {}),
        ("recompute bfloat16", "sft", {**half, "recompute": True}, {}),
        ("gradcache bfloat16", "gritlm", {**half, "gradcache_chunk": 256}, {}),
        ("padded bfloat16", "sft", {**half, "packing": False, "attention": "model"}, {}),
        ("all logits bfloat16", "sft", {**half, "head": "all"}, {}),
        ("accumulate bfloat16", "sft", {**half, "accumulate": 3}, {}),
        ("foreach bfloat16", "sft", {**half, "optimizer": "foreach"}, {}),
    ]
    if session.full:
        tasks += [("flex bfloat16", "sft", {**half, "attention": "flex"}, {})]
        tasks += [("documents bfloat16", "sft", {**half, "attention": "documents"}, {})]
        tasks += [("compile bfloat16", "sft", {**half, "compile": True}, {})]
        tasks += [("compile lora bfloat16", "sft", {**half, "compile": True, "lora_rank": 8}, {})]
    return tasks


def steps(session: Session, variant: Variant, folder: Path, known: dict[str, Found]) -> dict[str, Any]:
    """The losses of a few steps on the device and in float32 on the CPU, from the same weights and rows.

    `known` keeps the CPU's for the other variants of the same arithmetic.
    """
    name, task_name, values, flags = variant
    common: dict[str, Any] = {
        "tokens_per_row": 1024, "max_steps": session.pick(3, 8), "threads": session.pick(1, 0), "warmup_steps": 2,
        "cache": str(folder / "cache"), "output": str(folder / name.replace(" ", "-")), "learning_rate": 1e-3,
        "over_long": "skip",
    }  # fmt: skip
    if task_name == "rft":
        return answers(session, values, common)
    if task_name == "gritlm":
        common["pairs_per_batch"] = 4  # so that every step has pairs
    common.update(runs.data_for(task_name, folder, "toy", 1024, chats=session.pick(80, None)))
    plain = {key: value for key, value in values.items() if key not in ("attention", "compile", "optimizer")}
    if not values.get("packing", True):
        plain["attention"] = values["attention"]
    plain = {key: value for key, value in plain.items() if key not in ("recompute", "gradcache_chunk", "precision")}
    key = task_name + repr(plain)
    if key not in known:
        with runs.run_of(task_name, {**common, **plain, "precision": "float32"}, "toy", torch.device("cpu"), {}) as run:
            known[key] = runs.losses(run), list(run.history.norms)
    expected, expected_norms = known[key]
    with runs.run_of(task_name, {**common, **values}, "toy", session.device, flags) as run:
        found, norms = runs.losses(run), list(run.history.norms)
        way = run.trainee.attention.name if run.trainee.attention else "model"
    worst = max(abs(one / other - 1) for one, other in zip(found, expected))
    apart = max(abs(one / other - 1) for one, other in zip(norms, expected_norms))
    bound = LOSS_BOUND["float16" if flags else str(values["precision"])]
    agrees = worst < bound and apart < NORM_FACTOR * bound and len(found) == len(expected)
    return {
        "distance": worst, "bound": bound, "agrees": agrees, "norms": apart, "attention": way,
        "found": found, "expected": expected,
    }  # fmt: skip


def answers(session: Session, values: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    """Sampling, judging and training on what was accepted; its losses depend on the answers, so they only must be
    finite.
    """
    import json

    rows = [{"prompt": "Say %d" % n, "answer": ".*"} for n in range(4)]
    path = Path(common["output"] + ".jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    given = {**common, **values, "data": [str(path)], "max_new_tokens": session.pick(8, 64)}
    # Random weights hardly ever end an answer, what has not ended is rejected, and without one accepted there is
    # nothing to train on, which the task says.
    from trainer.errors import TrainerError

    sampled: str | None = None
    found: list[float] = []
    try:
        with runs.run_of("rft", given, "toy", session.device, {}) as run:
            found = runs.losses(run)
    except TrainerError as error:
        sampled = error.message
    made = (Path(common["output"]) / "rft" / "samples.jsonl").read_text("utf-8").count('"text"')
    return {
        "distance": 0.0 if made == 8 else 1.0, "bound": 0.5, "agrees": made == 8, "answers": made, "losses": found,
        "said": sampled,
    }  # fmt: skip
