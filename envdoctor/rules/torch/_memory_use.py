"""What a run whose GPU is full usually lacks memory for, and what helps such a run."""

from __future__ import annotations

from envdoctor.knowledge import full_memory
from envdoctor.knowledge.messages import texts
from envdoctor.rules.rule import Facts
from envdoctor.rules.torch import _memory_needs as needs
from envdoctor.rules.torch._allocator import Refusal
from envdoctor.values.pattern import Pattern

FULL = "the GPU's memory does not suffice"
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


_ONE_OF_SEVERAL = (
    "the run did not spread over the GPUs: the text tells that one of several is used, which then holds the batch that "
    "was meant for all of them (or the whole model, where nothing splits it)"
)
_SPREAD = (
    "Let it spread first: nvidia-smi has to show a process on each GPU. Start one for each (torchrun "
    "--nproc_per_node=N, accelerate launch --multi_gpu --num_processes N), or give the program its GPUs in the form "
    'that its documentation has (a string "0,1,2,3" where a list is passed over, or a number); where that is right '
    'already, try the release before. A model that is too large for one GPU is split by device_map="auto" or tensor '
    "parallelism. Only then smaller batches."
)
_MORE_GAUSSIANS = (
    "the number of Gaussians grows while the scene is trained (each densification adds some, and a strategy without a "
    "cap goes on), and with it the rasterizer's buffers; or all pictures lie on the GPU in full resolution"
)
_FEWER_GAUSSIANS = (
    "Bound their number (cap_max of the MCMC strategy, a higher densify_grad_threshold, an earlier densify_until_iter, "
    "stop_split_at in nerfstudio), keep the pictures in the processor's memory (--data_device cpu, cache_images cpu), "
    "or take them smaller (-r 2, downscale_factor). A batch plays no part: each step renders one picture."
)
_WHOLE_WEIGHTS = (
    "it is saving that fails: the weights of a sharded model (FSDP, ZeRO-3) are gathered whole, and copied, on one "
    "GPU, beside what training still holds there; the best model's weights are loaded again beside the present ones at "
    "the end of a Trainer's run"
)
_SAVE_ELSEWHERE = (
    "Gather the weights in the processor's memory (FSDP: StateDictType.FULL_STATE_DICT with offload_to_cpu=True and "
    "rank0_only=True, or a sharded checkpoint, fsdp_state_dict_type SHARDED_STATE_DICT; DeepSpeed: keep its own "
    "sharded checkpoint and join it later with zero_to_fp32.py), and leave out load_best_model_at_end, or free the "
    "optimizer first. What was saved after such an error is not whole."
)
_SERVERS = (
    (
        full_memory.SGLANG,
        "the share that the server takes at its start for weights and cache (--mem-fraction-static) leaves too little "
        "for what comes after it: the CUDA graphs, communication buffers and a step's activations",
        "Lower --mem-fraction-static in steps of 0.05 (0.8, 0.75), capture smaller graphs (--cuda-graph-max-bs 16), "
        "and bound a step's tokens (--chunked-prefill-size 2048); --disable-cuda-graph tells whether it is the graphs, "
        "and is slower. Where the weights alone fill the GPU: more GPUs (--tp) or a quantized model.",
    ),
    (
        full_memory.VLLM,
        "weights, cache and the CUDA graphs beside them are more than the GPU has: the cache takes what "
        "--gpu-memory-utilization leaves of it, and graphs and a step's activations come on top",
        "Lower --gpu-memory-utilization (0.85, 0.8) where it fails while graphs are captured or in a step, and take a "
        "shorter --max-model-len and fewer --max-num-seqs; --enforce-eager does without graphs, and is slower. Where "
        "the weights alone fill the GPU: more GPUs (--tensor-parallel-size) or a quantized model.",
    ),
    (
        full_memory.TENSORRT_LLM,
        "weights, cache and buffers of the engine are more than the GPU has: the cache takes a share of what is free "
        "after the weights (nine tenths by default), and buffers grow with batch and tokens",
        "Lower the cache's share (free_gpu_memory_fraction of KvCacheConfig, --kv_cache_free_gpu_memory_fraction), "
        "--max_batch_size, --max_num_tokens and --max_seq_len; where the weights alone fill the GPU take more GPUs "
        "(--tp_size) or a quantized model.",
    ),
)
"""Inference servers: who it is, what fills the GPU there, and the server's own options."""


def _server(facts: Facts) -> tuple[str, str] | None:
    return next(((usually, advice) for said, usually, advice in _SERVERS if said.stands(facts)), None)


def refusal(facts: Facts, line: str, *, everywhere: bool) -> Refusal | None:
    """The allocator's numbers in this line, or in another one: a heading often says the error without them."""
    return Refusal.read(line) or next(filter(None, map(Refusal.read, texts(facts) if everywhere else ())), None)


def usual(facts: Facts, asked: Refusal | None) -> str:
    """The usual reasons, the likeliest first; those that the error's own numbers rule out are left out."""
    if held := needs.read(facts, asked):
        return held.reason
    reasons = [*_reasons(facts)]
    if asked is None or not asked.holds_it_all:
        reasons.append(_OTHERS)
    return f"{', '.join(reasons[:-1])}, or {reasons[-1]}" if len(reasons) > 1 else reasons[0]


def _reasons(facts: Facts) -> list[str]:
    if server := _server(facts):
        return [server[0]]
    if full_memory.ONE_OF_SEVERAL.stands(facts):
        return [_ONE_OF_SEVERAL]
    if full_memory.GAUSSIANS.stands(facts):
        return [_MORE_GAUSSIANS]
    if full_memory.SAVING.stands(facts):
        return [_WHOLE_WEIGHTS]
    if full_memory.FULL_LATER.stands(facts):
        return [_LATER]
    if full_memory.FROZEN.stands(facts):
        return [_ACTIVATIONS]
    if full_memory.FORWARD_FITS.stands(facts):
        return [_BACKWARD]
    if full_memory.ANSWERING.stands(facts):
        return [_ANSWERS, _GRADIENTS]
    return [_BOTH]


def advice(general: str, facts: Facts, asked: Refusal | None) -> str:
    """The general advice, as it fits this run and what the error's numbers leave open."""
    if held := needs.read(facts, asked):
        return held.advice
    if server := _server(facts):
        return f"{server[1]} See also whether another process holds a part of the GPU (nvidia-smi)."
    if full_memory.ONE_OF_SEVERAL.stands(facts):
        return _SPREAD
    if full_memory.GAUSSIANS.stands(facts):
        return _FEWER_GAUSSIANS
    if full_memory.SAVING.stands(facts):
        return _SAVE_ELSEWHERE
    start, _, pieces = general.partition(_PIECES)
    smaller = _beside_what_is_on(start.removeprefix(_FIRST).removeprefix("Then "), facts)
    if full_memory.FULL_LATER.stands(facts):
        smaller = f"{_WHEN} Else {smaller}"
    elif full_memory.ANSWERING.stands(facts):
        smaller = _FEWER
    if asked is not None and asked.is_one_piece:
        smaller = f"{_ONE_PIECE} {smaller}"
    told = [smaller]
    if asked is not None and asked.in_pieces:
        told.insert(0, _PIECES_FIRST)
    elif not full_memory.FULL_LATER.stands(facts) and (asked is None or not asked.holds_it_all):
        told.insert(0, _FIRST.strip())
    if pieces and not (asked is not None and asked.has_no_pieces):
        told.append(f"{_PIECES.strip()} {pieces}")
    return " ".join(part[:1].upper() + part[1:] for part in told)


_YES = r"[\"']?(?: enabled| is)?\s?[:=]?\s?[\"']?(?:True|on|yes|enabled|1)\b"
_ON = tuple(
    Pattern(f"(?i){source}")
    for source in (
        r"batch[ _-]?size(?: per (?:device|gpu))?[\"']?\s?(?:[:=]|\bis\b|\bof\b|to)?\s?(?:1|one)\b(?![\d.])",
        rf"(?:gradient|activation)[ _-]?checkpoint(?:ing|s){_YES}|--gradient_checkpointing\b(?! ?=? ?false)",
        rf"\b(?:use_)?q?lora{_YES}|--use_q?lora\b|\blora_(?:r|rank|dim)\b|--network_module=\S*lora",
        r"\b(?:prec(?:ision)?|mixed_precision|(?:torch_)?dtype)[\"']?\s?[:= ]\s?[\"']?(?:torch\.)?"
        r"(?:b?fp?16|b?float16|16-mixed|bf16-mixed)\b",
    )
)
"""What a run's own settings show as on: a batch of one, checkpointing, LoRA, numbers of 16 bits."""
_BEFORE_AMPERE = Pattern(
    r"(?i)\bGTX ?(?:9|10|16)\d\d|\bRTX ?20\d\d|\bTitan (?:Xp?|V|RTX)\b|\bTesla (?:[KMPV]\d+|T4)\b"
    r"|\bT4\b|\bP100\b|\bV100\b"
    r"|\bQuadro (?:[KMP]\d+|RTX)",
)
"""GPUs that do not compute in bf16 themselves."""


def _beside_what_is_on(text: str, facts: Facts) -> str:
    """The general steps without those that the run's settings show as taken, and none that the GPU is too old for."""
    said = (*facts.messages, *facts.remarks.values(), *(f"{key}: {value}" for key, value in facts.remarks.items()))
    batch, checkpoints, lora, half = (any(map(pattern.search, said)) for pattern in _ON)
    old = any(map(_BEFORE_AMPERE.search, said))
    if not (batch or checkpoints or lora or half or old):
        return text
    fewer = [
        "shorter sequences or smaller pictures"
        if batch
        else "smaller batches with gradient accumulation, shorter sequences",
        *(() if checkpoints else ("gradient checkpointing",)),
        *(() if half else (f"the weights in {'fp16' if old else 'bf16'}",)),
        "4 bits under LoRA, or a lower rank" if lora else "LoRA, over weights in 4 bits",
    ]
    return (
        f"Take {', '.join(fewer[:-1])}, or {fewer[-1]}; an optimizer with states in 8 bits, attention that keeps no "
        "scores (SDPA, xFormers), and what is computed once (text embeddings, latents) cached and taken off the GPU; "
        "and with several GPUs shard the model (FSDP, DeepSpeed ZeRO-3) where each process loads all of it."
    )
