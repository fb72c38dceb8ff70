"""Options that say how much is trained in which steps, by which optimizer, and how it is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from trainer.options.option import option

SAMPLED = ("rft",)


@dataclass(frozen=True)
class StepOptions:
    """steps and epochs"""

    packing: bool = option(True, "several documents per row instead of padding; they never see each other", rare=True)
    tokens_per_row: int = option(2048, "token budget of one packed row; a row is one micro-batch", least=2)
    examples_per_batch: int = option(
        8, "examples of one padded micro-batch (packing off); in pretrain, rows of one", least=1
    )
    accumulate: int = option(
        1, "micro-batches per optimizer step and process; gradients weigh every trained token the same", least=1
    )
    epochs: int = option(0, "passes over the data", least=0, shown="1, or as many as max_steps needs")
    max_steps: int = option(0, "optimizer steps; with epochs as well, what ends first ends the run, and that is said",
                            least=0, shown="until the epochs are done")  # fmt: skip
    seed: int = option(0, "of the order of the data, the weights and dropout", least=0)
    pretokenize: bool = option(
        True, "tokenise once, before training; off: again in every epoch, in the loop", rare=True
    )
    tokenize_workers: int = option(
        0, "processes that tokenise", least=0, rare=True, result=False, shown="by the amount of data"
    )
    prefetch: int = option(
        -1, "steps prepared ahead in a thread", least=-1, rare=True, result=False,
        shown="2 on CUDA, 0 on the CPU where the cores are busy",
    )  # fmt: skip
    loader_workers: int = option(
        -1, "processes that make batches; the data is the same with any number", least=-1, rare=True, result=False,
        shown="timed in the first steps and decided",
    )  # fmt: skip


@dataclass(frozen=True)
class OptimisationOptions:
    """optimisation"""

    learning_rate: float = option(
        -1.0, "peak learning rate", least=-1.0,
        shown="by what is trained: 1e-3 to 1e-4 from random weights, 2e-5 or 1e-5 for a trained model, 2e-4 or "
        "1e-4 for LoRA",
    )  # fmt: skip
    schedule: str = option("cosine", "of the learning rate", ("cosine", "linear", "constant"))
    warmup_steps: int = option(
        -1, "steps in which the learning rate rises from 0", least=-1, shown="10, or a tenth of a run of less than 100"
    )
    weight_decay: float = option(0.0, "on matrices; never on norms, biases and embeddings", least=0.0)
    beta1: float = option(0.9, "of AdamW", rare=True)
    beta2: float = option(
        0.95, "of AdamW; 0.95 forgets faster than torch's 0.999, usual for language models", rare=True
    )
    epsilon: float = option(1e-8, "of AdamW", rare=True)
    moments: str = option(
        "float32",
        "AdamW's two moments; 8bit: a matrix's take 2 bytes a weight instead of 8, through bitsandbytes; adafactor: "
        "that optimizer instead, which keeps next to nothing",
        ("float32", "8bit", "adafactor"), rare=True,
    )  # fmt: skip
    neftune_noise_alpha: float = option(
        0.0, "noise on the embeddings while training, of so much over the root of length times width; NEFTune's are 5 "
        "to 15; 0: none", least=0.0, tasks=("sft", "rft"), rare=True,
    )  # fmt: skip
    clip_norm: float = option(1.0, "largest gradient norm; 0: no clipping", least=0.0, rare=True)
    max_bad_steps: int = option(
        5, "give up after this many steps in a row with a non-finite gradient (each is skipped)", least=1, rare=True,
        result=False,
    )  # fmt: skip
    stop_diverging: bool = option(
        True, "stop a run whose loss is twice that of its first steps, and more than 1 above it", rare=True,
        result=False,
    )  # fmt: skip


@dataclass(frozen=True)
class ComputeOptions:
    """how it is computed"""

    device: str = option("auto", "auto takes CUDA where it works", ("auto", "cpu", "cuda"), result=False)
    precision: str = option(
        "auto", "auto decides by the hardware, and says why", ("auto", "float32", "bfloat16", "float16")
    )
    attention: str = option(
        "auto",
        "auto: the first of varlen, flash-attn, flex, documents that works (flex in 16 bits from capability 8.0 on); "
        "model: transformers' own, padded rows only",
        ("auto", "varlen", "flash-attn", "flex", "documents", "model"), rare=True, result=False,
    )  # fmt: skip
    flash: str = option(
        "auto",
        "FlashAttention behind attention=varlen; auto: 4 or 3 where installed, made for the GPU and exact, else 2",
        ("auto", "2", "3", "4"), rare=True, result=False,
    )  # fmt: skip
    head: str = option(
        "trained", "logits at trained positions only, or at every position as the plain trainers do",
        ("trained", "all"), rare=True, result=False,
    )  # fmt: skip
    optimizer: str = option(
        "auto", "auto is fused where torch has it", ("auto", "fused", "foreach", "loop"), rare=True, result=False
    )
    compile: str = option(
        "auto",
        "torch.compile of each layer; auto: when the run is long enough to earn the cold start (half a minute) back",
        ("auto", "on", "off"), rare=True, result=False,
    )  # fmt: skip
    graphs: str = option(
        "off", "compiled layers as CUDA graphs, for steps so short that the host's launches are what takes the time",
        ("off", "on"), rare=True, result=False,
    )  # fmt: skip
    recompute: str = option(
        "auto",
        "activation checkpointing: of no layer, every other one, all (a fifth slower), or so many; selective: of all "
        "between their products, which are kept; 2+3: of two, and of three more between products; auto: as few as fit",
        ("auto", "none", "selective", "alternate", "full"), rare=True, result=False, counted=True,
    )  # fmt: skip
    recompute_rng: bool = option(
        True, "recomputation repeats dropout's masks; off is refused where there is dropout", rare=True, result=False
    )
    threads: int = option(
        0, "CPU threads of torch; 0: this process's part of the cores it may use", least=0, rare=True, result=False
    )
    freed_memory: str = option(
        "auto", "on a CPU: kept for the next step if twice what the run takes is free; libc: as the C library does",
        ("auto", "libc"), rare=True, result=False,
    )  # fmt: skip
    residual: str = option(
        "auto", "number format of the states between the products: auto is theirs on a GPU in bfloat16",
        ("auto", "float32"), rare=True,
    )  # fmt: skip
    kernels: str = option(
        "auto", "norms, positions and, on a CPU in bfloat16, attention in few passes over memory, where that computes "
        "what the model's own do; off: the model's own", ("auto", "off"), rare=True, result=False,
    )  # fmt: skip
    float8: str = option(
        "off", "products of wide layers in 8 bits, each row scaled by itself; needs torchao and an H100 or newer",
        ("off", "rowwise"), rare=True,
    )  # fmt: skip
    liger: str = option(
        "off", "SwiGLU and rotary positions by Liger's kernels in layers that are not compiled; auto: where it is "
        "installed and exact on this GPU", ("off", "auto"), rare=True, result=False,
    )  # fmt: skip
    loss_chunk: int = option(
        0, "MiB of logits at once, counted as float32", least=0, rare=True, result=False,
        shown="by the free memory of a GPU: 2048 down to 256",
    )  # fmt: skip
    exchange: str = option(
        "auto", "number format in which several processes exchange gradients, or gather shards: auto is that of the "
        "products", ("auto", "float32"), rare=True,
    )  # fmt: skip
    overlap: bool = option(
        True, "whole models exchange gradients while a step's last backward pass still runs; off: when it is over",
        rare=True, result=False,
    )  # fmt: skip
    parallel: str = option(
        "auto", "several processes: auto takes what accelerate launch says, else ddp", ("auto", "ddp", "fsdp2"),
        rare=True, result=False,
    )  # fmt: skip
    peak_tflops: float = option(
        0.0,
        "dense peak of one device in TFLOP/s, that MFU is a share of; envdoctor train fills it in; 0: MFU is left out",
        least=0.0, rare=True, result=False,
    )  # fmt: skip
    sync_every_step: bool = option(
        False, "read the loss after every step, as plain loops do; costs time on CUDA", rare=True, result=False
    )


@dataclass(frozen=True)
class AdapterOptions:
    """LoRA adapters"""

    lora_rank: int = option(
        -1, "train adapters of this rank instead of the weights; 0: all weights", least=-1, shown="0; 16 for rft"
    )
    lora_alpha: float = option(
        0.0, "adapters are scaled by lora_alpha / lora_rank", least=0.0, rare=True, shown="twice the rank"
    )
    lora_dropout: float = option(0.0, "dropout before the adapters", least=0.0, rare=True)
    lora_targets: str = option(
        "auto",
        "auto: every linear layer but the head; or names (q_proj,v_proj) or patterns of whole names "
        "(model.layers.[0-3].*_proj), separated by commas",
    )
    dora: bool = option(
        False, "DoRA: adapters and a trained length of each row of the weights; vLLM takes it merged only", rare=True
    )
    rslora: bool = option(False, "rank-stabilised: adapters are scaled by lora_alpha / sqrt(lora_rank)", rare=True)
    lora_fused: bool = option(
        True, "a layer and its adapter in one node, in fewer passes over memory; off: as peft has them", rare=True,
        result=False,
    )  # fmt: skip
    quantize: str = option(
        "none", "hold the frozen weights under the adapters in 8 or 4 bits (QLoRA); needs bitsandbytes",
        ("none", "8bit", "4bit"),
    )  # fmt: skip
    adapter: Optional[str] = option(
        None, "folder of an adapter to go on from, with its rank and targets", rare=True, result=False
    )
    merge_lora: bool = option(False, "at the end also write the model with its adapters folded in", result=False)


@dataclass(frozen=True)
class AnswerOptions:
    """answers sampled for rejection fine-tuning"""

    samples_per_prompt: int = option(4, "answers sampled for each prompt", least=1, tasks=SAMPLED)
    max_new_tokens: int = option(256, "an answer that has not ended by then is rejected", least=1, tasks=SAMPLED)
    sampling_temperature: float = option(
        1.0, "of the model's probabilities; 0: the likeliest token always", least=0.0, tasks=SAMPLED
    )
    top_p: float = option(
        1.0, "sample from the likeliest tokens that together have this probability", least=0.0, tasks=SAMPLED
    )
    sample_batch: int = option(64, "answers sampled at the same time", least=1, tasks=SAMPLED, rare=True)
    sampling_cache: str = option(
        "dynamic", "of keys and values while answers are sampled; static: of one size, for which transformers captures "
        "a GPU's launches", ("dynamic", "static"), tasks=SAMPLED, rare=True, result=False,
    )  # fmt: skip
    checker: str = option(
        "exact", "exact, numeric, regex, or path/to/file.py:function called with (answer, row)", tasks=SAMPLED
    )
    answer_field: str = option(
        "answer", "column with the right answer, or the pattern it must match (regex)", tasks=SAMPLED
    )
    numeric_tolerance: float = option(
        1e-6, "numbers are equal up to this, relative to the right one", least=0.0, tasks=SAMPLED, rare=True
    )
    check_seconds: float = option(
        5.0, "time limit of regex and of a function, for each answer", least=0.01, tasks=SAMPLED, rare=True
    )
    max_accepted: int = option(
        0, "right answers of one prompt to train on; 0: all different ones", least=0, tasks=SAMPLED, rare=True
    )
