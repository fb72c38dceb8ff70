"""Speed-ups claimed in the wild: who claims them, what is known of each, and how it is answered here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tests.benchmarks.claims import arithmetic

Kind = Literal["arithmetic", "ablation", "needs-gpu", "reading"]
Finding = Literal["holds", "wrong", "depends", "misread", "unproven"]

_DOCS = "https://docs.pytorch.org/docs/stable"
_HF = "https://huggingface.co/docs/transformers"
_ML = "https://github.com/stas00/ml-engineering"

WRITE_UPS = {
    "RFT": "RFT Training Speed Optimizations (rejection fine-tuning with LoRA)",
    "GritLM": "GritLM Training Speed Optimization Guide (embedding and generation, two losses)",
    "Phase 1C": "Phase 1C Training Optimization Summary (full fine-tuning of a 7.5B model on one H100, 2025-11-12)",
    "ReFocused-AI": "ReFocused-AI Performance Optimizations (pretraining with uploads on H100s)",
    "Training notes": "Training Optimization Notes: GPU Utilization Issue (batches of one on an RTX 4090, 2025-10-26)",
}
"""The five write-ups by a short name: their own titles, and what they train."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim. ``writeups``: where it stands, by name; ``finding``: the judgement before anything is run here.

    ``computed`` (arithmetic and needs-gpu) gives the sentence with its numbers; ``variants`` (ablation) name what to
    measure: the claim is about the first against the default, or, with two, about the first against the second.
    """

    number: int
    writeups: tuple[str, ...]
    claim: str
    kind: Kind
    finding: Finding
    evidence: str
    source: str
    computed: Callable[[], str] | None = None
    variants: tuple[str, ...] = ()
    only_on_gpu: bool = False  # a CPU run of the variants would show nothing


CLAIMS = (
    Claim(
        number=1,
        writeups=("Phase 1C",),
        claim="1.25 it/s means 47 hours",
        kind="arithmetic",
        finding="misread",
        evidence="the progress bar said 46:47, which is minutes and seconds",
        source="the log line in the write-up: 47/3558 00:38<46:47, 1.25it/s",
        computed=arithmetic.eta_of_the_log,
    ),
    Claim(
        number=2,
        writeups=("Phase 1C",),
        claim="3-5 it/s takes 5-8 hours: 5.9-9.4x faster",
        kind="arithmetic",
        finding="wrong",
        evidence="the claimed hours and the claimed speed contradict each other",
        source="the table of the write-up",
        computed=arithmetic.eta_of_the_claim,
    ),
    Claim(
        number=3,
        writeups=("Phase 1C",),
        claim="3-5 it/s can be reached with that model on that H100",
        kind="needs-gpu",
        finding="wrong",
        evidence="with 1,000 tokens per example the chip's peak allows less (the mean length must come from the data)",
        source="FLOPs by 6 x weights x tokens; peak by the chip's data sheet",
        computed=arithmetic.limit_of_the_claim,
    ),
    Claim(
        number=4,
        writeups=("Phase 1C",),
        claim="TF32 gives 8x on an H100 whose weights stay in bf16",
        kind="ablation",
        finding="wrong",
        evidence="TF32 concerns float32 matrix products only; bf16 ones run natively, at twice the TF32 peak",
        source=f"{_DOCS}/notes/cuda.html; ratio of the data-sheet peaks",
        computed=arithmetic.tf32_peaks,
        variants=("bfloat16-tf32", "bfloat16"),
        only_on_gpu=True,
    ),
    Claim(
        number=5,
        writeups=("Phase 1C",),
        claim="transformers 4.41 to 4.43, accelerate 0.30 to 1.11, datasets 2 to 4: 2-3x",
        kind="ablation",
        finding="unproven",
        evidence="no release note claims it; isolated torch upgrades gave +8 to -0.6 %. On two CPU cores: within 20 %",
        source="https://github.com/KellerJordan/modded-nanogpt, record table",
        variants=("environment",),
    ),
    Claim(
        number=6,
        writeups=("Phase 1C",),
        claim="full tuning of a 15 GB model in 25 GB",
        kind="arithmetic",
        finding="wrong",
        evidence="AdamW keeps two more numbers per weight, and the gradient is a third",
        source=f"{_ML}, training/performance (18 bytes per weight mixed, 8 in pure bf16)",
        computed=arithmetic.adamw_memory,
    ),
    Claim(
        number=7,
        writeups=("Phase 1C",),
        claim="max_length 1536 instead of 2048 saves 25 % compute",
        kind="arithmetic",
        finding="depends",
        evidence="only if every batch is padded to max_length; the longest example there had 1,481 tokens",
        source=f"{_HF}/pad_truncation",
        computed=arithmetic.truncation,
    ),
    Claim(
        number=8,
        writeups=("Phase 1C",),
        claim="a smaller batch is faster",
        kind="ablation",
        finding="depends",
        evidence="steps per second rise; tokens per second fall on a GPU that one row does not fill: batch 16 trains "
        "14x the samples of batch 1 (RTX 3090). Few cores are full with one row, and it has no padding",
        source=f"{_ML}, training/performance",
        variants=("batch-1", "no-packing"),
    ),
    Claim(
        number=9,
        writeups=("GritLM",),
        claim="preserve_rng_state=False is safe in most cases",
        kind="reading",
        finding="wrong",
        evidence="with dropout the recomputation draws another mask: wrong gradients; safe only at dropout 0",
        source=f"{_DOCS}/checkpoint.html",
    ),
    Claim(
        number=10,
        writeups=("RFT", "GritLM"),
        claim="gradient checkpointing makes training faster",
        kind="ablation",
        finding="wrong",
        evidence="it computes the forward pass twice (20-25 % slower); a gain can only come from a larger batch",
        source=f"{_HF}/grad_checkpointing; torchtune's ladder: -21 %",
        computed=arithmetic.recomputation,
        variants=("recompute",),
    ),
    Claim(
        number=11,
        writeups=("RFT", "ReFocused-AI"),
        claim="checkpoints and reports off: 5-10 % faster",
        kind="arithmetic",
        finding="depends",
        evidence="that is time outside the steps, and a crash then costs everything; background saves stall seconds",
        source="PyTorch blog on asynchronous checkpoints: 148.8 s to 6.3 s for 7B",
        computed=arithmetic.checkpoint_share,
    ),
    Claim(
        number=12,
        writeups=("RFT", "GritLM", "Phase 1C", "ReFocused-AI"),
        claim="num_workers=0 avoids overhead / 4 or 8 workers are faster",
        kind="ablation",
        finding="depends",
        evidence="with tokens in memory there is nothing for workers to do; with work per example 2-3 suffice",
        source=f"{_ML}, training/performance/dataloader (0 to 4 workers: 5.39, 3.90, 1.33, 0.84, 0.88 s)",
        variants=("workers-2", "tokenise-in-loop"),
    ),
    Claim(
        number=13,
        writeups=("GritLM",),
        claim="enable_flash_sdp(True) and its kin speed attention up",
        kind="ablation",
        finding="wrong",
        evidence="all are on by default; flash refuses an attention mask, so the remedy is to pass none",
        source=f"{_DOCS}/generated/torch.nn.functional.scaled_dot_product_attention.html",
        variants=("sdp-all-enabled",),
        only_on_gpu=True,
    ),
    Claim(
        number=14,
        writeups=("ReFocused-AI",),
        claim="cudnn.benchmark=True speeds a language model up",
        kind="ablation",
        finding="wrong",
        evidence="it chooses convolution algorithms, and there are no convolutions",
        source=f"{_DOCS}/backends.html",
        variants=("cudnn-benchmark",),
        only_on_gpu=True,
    ),
    Claim(
        number=15,
        writeups=("Training notes",),
        claim="bf16 needs a GradScaler",
        kind="arithmetic",
        finding="wrong",
        evidence="scaling keeps small gradients from vanishing in float16's 5-bit exponent; bf16 has float32's 8 bits",
        source=f"{_DOCS}/amp.html",
        computed=arithmetic.smallest_gradients,
    ),
    Claim(
        number=16,
        writeups=("RFT", "ReFocused-AI", "Training notes"),
        claim="bf16 halves the memory",
        kind="arithmetic",
        finding="wrong",
        evidence="under autocast the float32 weights and states stay; only activations shrink",
        source=f"{_ML}, training/performance (6 bytes per weight for the weights alone)",
        computed=arithmetic.autocast_memory,
    ),
    Claim(
        number=17,
        writeups=("GritLM",),
        claim="RTX cards need fp16",
        kind="arithmetic",
        finding="wrong",
        evidence="bf16 works from compute capability 8.0 on: RTX 30, 40 and 50 have it",
        source="chip table; torch.cuda.is_bf16_supported",
        computed=arithmetic.bf16_cards,
    ),
    Claim(
        number=18,
        writeups=("GritLM",),
        claim="torch.compile mode reduce-overhead for everything",
        kind="needs-gpu",
        finding="depends",
        evidence="CUDA graphs need fixed shapes and no host sync in the step, and gain only launch overhead",
        source=f"{_DOCS}/generated/torch.compile.html",
        computed=arithmetic.launch_overhead,
    ),
    Claim(
        number=19,
        writeups=("RFT", "GritLM", "Training notes"),
        claim="torch.compile gives 1.5-2x",
        kind="ablation",
        finding="depends",
        evidence="0.94x to 3.9x by model and length on a B200; below the break-even it costs",
        source=f"{_ML}, training/performance, torch.compile (2026-08)",
        computed=arithmetic.compile_break_even,
        variants=("compile",),
    ),
    Claim(
        number=20,
        writeups=("Phase 1C",),
        claim="speed-ups multiply: 8x and 2-3x and 1.3x",
        kind="arithmetic",
        finding="wrong",
        evidence="each concerns a part of the step only; what is left bounds the whole (Amdahl)",
        source="Amdahl 1967; measure cumulatively instead: ablate --ladder",
        computed=arithmetic.amdahl,
    ),
    Claim(
        number=21,
        writeups=("ReFocused-AI", "Training notes"),
        claim="GPU utilisation of nvidia-smi is efficiency",
        kind="needs-gpu",
        finding="wrong",
        evidence="it is the share of time in which any kernel ran, whatever it used of the chip",
        source="https://docs.nvidia.com/deploy/nvml-api, nvmlUtilization_t",
        computed=arithmetic.utilisation,
    ),
    Claim(
        number=22,
        writeups=("GritLM",),
        claim="on CPUs use as many loader workers as there are cores",
        kind="ablation",
        finding="wrong",
        evidence="the compute threads need those cores: what one thread less costs shows it",
        source="measured by the variant",
        variants=("one-thread",),
    ),
    Claim(
        number=23,
        writeups=("Training notes",),
        claim="tokenising one example takes 200 ms and copying it 30 ms",
        kind="arithmetic",
        finding="wrong",
        evidence="something else was in it; caching the tokens removes both",
        source="PCIe and tokenizer speeds by arithmetic",
        computed=arithmetic.copy_of_one_example,
    ),
    Claim(
        number=24,
        writeups=("RFT", "ReFocused-AI"),
        claim="clipping, cosine, weight decay, drop_last and eps are speed-ups",
        kind="ablation",
        finding="wrong",
        evidence="none computes less; clipping adds a norm, and loss.item() each step is what costs",
        source="measured by the variants",
        variants=("no-clipping",),
    ),
    Claim(
        number=25,
        writeups=("RFT",),
        claim="LoRA costs 6 x weights x tokens, as full tuning",
        kind="arithmetic",
        finding="wrong",
        evidence="frozen weights need no gradient of their own: counting 6 inflates MFU by half",
        source="envdoctor.speed.roofline.flops, the trainer's own count",
        computed=arithmetic.lora_flops,
    ),
    Claim(
        number=26,
        writeups=("GritLM",),
        claim="KeyError '_orig_mod' with accelerate and a compiled model",
        kind="reading",
        finding="holds",
        evidence="torch.compile(model) wraps the names; model.compile() or compiling per layer does not",
        source=f"{_DOCS}/generated/torch.nn.Module.html, compile()",
    ),
)
