"""What a run whose GPU is full usually lacks memory for, and what helps such a run."""

from __future__ import annotations

from envdoctor.knowledge.questions import circumstances
from envdoctor.rules.rule import Facts
from envdoctor.rules.torch._allocator import Refusal

FULL = "the GPU's memory is full"
"""What the row of the table means whose error these reasons are for."""
_ACTIVATIONS = (
    "training keeps the activations of every layer for the backward pass, those of frozen weights too: freezing and "
    "LoRA save gradients and the optimizer's state only"
)
_BACKWARD = (
    "training keeps the activations of every layer for the backward pass, and holds gradients and the optimizer's "
    "state (Adam's: two numbers for each weight), none of which a forward pass under no_grad needs"
)
_LATER = (
    "a later step needs more than the first ones (the longest batch, the largest picture, evaluation or saving), or "
    "memory grows because losses or outputs are kept with their graph"
)
_ANSWERS = (
    "the weights in their number format, the cache of keys and values, or the size of picture, batch or text are too "
    "large for it"
)
_GRADIENTS = "it runs without torch.no_grad() and keeps what it computed"
_BOTH = (
    "weights and activations (in training gradients and the optimizer's state, too) of this batch, length or "
    "resolution are too large for it"
)
_OTHERS = "another process (an earlier run, a notebook's kernel, the desktop) holds a part of it"
_FEWER = (
    "Take a smaller picture, a shorter context or a batch of one; load the weights in bf16, or in 8 or 4 bits, run "
    "under torch.inference_mode(), and move parts that wait to the CPU (enable_model_cpu_offload() of diffusers, "
    'device_map="auto", --lowvram of ComfyUI).'
)
_WHEN = (
    "Note at which step it fails: in evaluation take a smaller batch there and no_grad; at the longest rows cut or "
    "bucket them; where memory_allocated() grows from step to step keep .item() and .detach() of what is collected."
)
_FIRST = "Look first for other processes on the GPU. "
"""How the general advice begins."""
_ONE_PIECE = (
    "See in the traceback which operation asks for so much at once (attention over a long text or a large picture, "
    "whose scores are square in the length; all logits; a whole set as one batch), and make that smaller or cut it."
)
_PIECES = " Fragments: "
_PIECES_FIRST = (
    "Much of it lies in pieces that fit nothing: set PYTORCH_ALLOC_CONF=expandable_segments:True "
    "(PYTORCH_CUDA_ALLOC_CONF before torch 2.9) first."
)


def usual(facts: Facts, asked: Refusal | None) -> str:
    """The usual reasons, the likeliest first; those that the error's own numbers rule out are left out."""
    reasons = [*_reasons(facts)]
    if asked is None or not asked.holds_it_all:
        reasons.append(_OTHERS)
    return f"{', '.join(reasons[:-1])}, or {reasons[-1]}" if len(reasons) > 1 else reasons[0]


def _reasons(facts: Facts) -> list[str]:
    if circumstances.FULL_LATER.stands(facts):
        return [_LATER]
    if circumstances.FROZEN.stands(facts):
        return [_ACTIVATIONS]
    if circumstances.FORWARD_FITS.stands(facts):
        return [_BACKWARD]
    if circumstances.ANSWERING.stands(facts):
        return [_ANSWERS, _GRADIENTS]
    return [_BOTH]


def advice(general: str, facts: Facts, asked: Refusal | None) -> str:
    """The general advice, as it fits this run and what the error's numbers leave open."""
    start, _, pieces = general.partition(_PIECES)
    smaller = start.removeprefix(_FIRST).removeprefix("Then ")
    if circumstances.FULL_LATER.stands(facts):
        smaller = f"{_WHEN} Else {smaller}"
    elif circumstances.ANSWERING.stands(facts):
        smaller = _FEWER
    if asked is not None and asked.is_one_piece:
        smaller = f"{_ONE_PIECE} {smaller}"
    told = [smaller]
    if asked is not None and asked.in_pieces:
        told.insert(0, _PIECES_FIRST)
    elif not circumstances.FULL_LATER.stands(facts) and (asked is None or not asked.holds_it_all):
        told.insert(0, _FIRST.strip())
    if pieces and not (asked is not None and asked.has_no_pieces):
        told.append(f"{_PIECES.strip()} {pieces}")
    return " ".join(part[:1].upper() + part[1:] for part in told)
