"""Every option of the trainer, its default and the reason for the default; read from a file, the command line or an
order.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union, get_args, get_origin, get_type_hints

from trainer.errors import TrainerError


def _option(default: Any, help: str, choices: Tuple[str, ...] = ()) -> Any:  # noqa: A002 - argparse's own word
    return field(default=default, metadata={"help": help, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """One training run. Lengths are in tokens, times in seconds, sizes in bytes unless the name says otherwise."""

    # What to train, on what, and where to put it
    workload: Optional[str] = _option(None, "a bundled fixed workload (model, data and shapes), see --help")
    model: Optional[str] = _option(None, "folder with a model to start from (config.json and safetensors)")
    model_config: Optional[str] = _option(None, "JSON file of a model configuration, trained from random weights")
    tokenizer: Optional[str] = _option(None, "folder with tokenizer.json; default: the model's folder")
    data: Tuple[str, ...] = _option((), "JSON lines or parquet files")
    output: str = _option("runs/trainer", "run folder: metrics, checkpoints and the trained model")
    cache: Optional[str] = _option(None, "folder of tokenised data, shared by runs; default: the user's cache folder")
    resume: str = _option(
        "auto", "auto continues from the newest whole checkpoint in the run folder", ("auto", "never")
    )
    save_model: bool = _option(True, "write the trained model at the end (a measured run does not)")

    # What an example looks like
    prompt_field: str = _option("prompt", "column with the prompt (not trained)")
    completion_field: str = _option("completion", "column with the answer (trained)")
    messages_field: str = _option("messages", "column with a list of {role, content}; only assistant turns are trained")
    chat_template: Optional[str] = _option(None, "file with a chat template, instead of the tokenizer's own")
    over_long: str = _option(
        "error", "an example longer than tokens_per_row: stop, or leave it out (nothing is ever cut)", ("error", "skip")
    )

    # Query/passage pairs (gritlm)
    query_field: str = _option("query", "column with a text or an [instruction, text] pair")
    positives_field: str = _option("positives", "column with the passages that answer: texts or [instruction, text]")
    negatives_field: str = _option("negatives", "column with passages that nearly do; it may be absent")
    instruction_format: str = _option("<|user|>\n{}\n", "GritLM's form of an instruction, put before the embed mark")
    embed_mark: str = _option("<|embed|>\n", "GritLM's mark before the text that is embedded")
    pairs_per_batch: int = _option(32, "queries whose passages are each other's negatives")
    negatives_per_query: int = _option(1, "hard negatives of each query in a batch, drawn anew in each epoch")
    one_file_per_batch: bool = _option(True, "in-batch negatives of one file: those of another are too easy")
    temperature: float = _option(0.02, "of InfoNCE over cosines; GritLM's")
    contrastive_weight: float = _option(1.0, "of the mean InfoNCE per query in the sum")
    generative_weight: float = _option(1.0, "of the mean cross-entropy per trained token in the sum")
    generative_first: bool = _option(
        True, "the generative rows of a step go first; as fast as last, and GritLM's order"
    )
    gradcache_chunk: int = _option(
        0, "GradCache: embed this many tokens at a time and compute them again for the gradient; 0: all at once"
    )

    # Plain text and token shards (prepare, pretrain)
    text_field: str = _option("text", "column with the text of a document")
    shard_tokens: int = _option(1 << 27, "tokens of one shard file; 256 MiB each in uint16")
    separate_documents: bool = _option(True, "no attention and no target across documents; off: rows are one text")
    verify_shards: bool = _option(True, "compare the sha256 of every shard at the start (sizes are always compared)")

    # How work is cut into steps
    packing: bool = _option(True, "several documents per row instead of padding; they never see each other")
    tokens_per_row: int = _option(2048, "token budget of one packed row; a row is one micro-batch")
    examples_per_batch: int = _option(8, "examples of one padded micro-batch (packing off); in pretrain, rows of one")
    accumulate: int = _option(
        1, "micro-batches per optimizer step and process; gradients weigh every trained token the same"
    )
    epochs: int = _option(1, "passes over the data")
    max_steps: int = _option(0, "stop after this many optimizer steps; 0: when the epochs are done")
    seed: int = _option(0, "of the order of the data, the weights and dropout")
    pretokenize: bool = _option(True, "tokenise once, before training; off: again in every epoch, in the loop")
    tokenize_workers: int = _option(0, "processes that tokenise; 0: decided by the amount of data")
    prefetch: int = _option(
        -1, "steps prepared ahead in a thread; -1: 2 on CUDA, 0 on the CPU where the cores are busy"
    )

    loader_workers: int = _option(
        -1,
        "processes that make batches; -1: timed in the first steps and decided; the data is the same with any number",
    )

    # Optimisation
    learning_rate: float = _option(1e-3, "peak learning rate; 1e-3 suits the small bundled models, 1e-5 a 7B one")
    schedule: str = _option("cosine", "of the learning rate", ("cosine", "linear", "constant"))
    warmup_steps: int = _option(10, "steps in which the learning rate rises from 0")
    weight_decay: float = _option(0.0, "on matrices; never on norms, biases and embeddings")
    beta1: float = _option(0.9, "of AdamW")
    beta2: float = _option(0.95, "of AdamW; 0.95 forgets faster than torch's 0.999, usual for language models")
    epsilon: float = _option(1e-8, "of AdamW")
    clip_norm: float = _option(1.0, "largest gradient norm; 0: no clipping")
    max_bad_steps: int = _option(
        5, "give up after this many steps in a row with a non-finite gradient (each is skipped)"
    )

    # How it is computed
    device: str = _option("auto", "auto takes CUDA where it works", ("auto", "cpu", "cuda"))
    precision: str = _option(
        "auto", "auto decides by the hardware, and says why", ("auto", "float32", "bfloat16", "float16")
    )
    attention: str = _option(
        "auto",
        "auto: the first of varlen, flash-attn, flex, documents that works; model: transformers' own, padded rows only",
        ("auto", "varlen", "flash-attn", "flex", "documents", "model"),
    )
    head: str = _option(
        "trained", "logits at trained positions only, or at every position as the plain trainers do", ("trained", "all")
    )
    optimizer: str = _option("auto", "auto is fused where torch has it", ("auto", "fused", "foreach", "loop"))
    compile: str = _option(
        "auto",
        "torch.compile of each layer; auto: when the run is long enough to earn the cold start (half a minute) back",
        ("auto", "on", "off"),
    )
    recompute: str = _option(
        "auto",
        "activation checkpointing, a fifth slower: of no layer, every other one, or all; auto: the first that fits",
        ("auto", "none", "alternate", "full"),
    )
    recompute_rng: bool = _option(True, "recomputation repeats dropout's masks; off is refused where there is dropout")
    threads: int = _option(0, "CPU threads of torch; 0: this process's part of the cores it may use")
    parallel: str = _option(
        "auto", "several processes: auto takes what accelerate launch says, else ddp", ("auto", "ddp", "fsdp2")
    )
    sync_every_step: bool = _option(False, "read the loss after every step, as plain loops do; costs time on CUDA")

    # Adapters
    lora_rank: int = _option(-1, "train adapters of this rank instead of the weights; 0: all weights; -1: 16 for rft")
    lora_alpha: float = _option(0.0, "adapters are scaled by lora_alpha / lora_rank; 0: twice the rank")
    lora_dropout: float = _option(0.0, "dropout before the adapters")
    lora_targets: str = _option("auto", "auto: every linear layer but the head; or names, separated by commas")
    merge_lora: bool = _option(False, "at the end also write the model with its adapters folded in, in float32")

    # Answers sampled for rejection fine-tuning (rft)
    samples_per_prompt: int = _option(4, "answers sampled for each prompt")
    max_new_tokens: int = _option(256, "an answer that has not ended by then is rejected")
    sampling_temperature: float = _option(1.0, "of the model's probabilities; 0: the likeliest token always")
    top_p: float = _option(1.0, "sample from the likeliest tokens that together have this probability")
    sample_batch: int = _option(64, "answers sampled at the same time")
    checker: str = _option("exact", "exact, numeric, regex, or path/to/file.py:function called with (answer, row)")
    answer_field: str = _option("answer", "column with the right answer, or the pattern it must match (regex)")
    numeric_tolerance: float = _option(1e-6, "numbers are equal up to this, relative to the right one")
    check_seconds: float = _option(5.0, "time limit of regex and of a function, for each answer")
    max_accepted: int = _option(0, "right answers of one prompt to train on; 0: all different ones")

    # Logs and checkpoints
    log_every: int = _option(10, "steps between lines of metrics.jsonl; the loss is read one log late")
    tracker: str = _option(
        "none",
        "also log to TensorBoard (OUTPUT/tensorboard) or W&B, through accelerate",
        ("none", "tensorboard", "wandb"),
    )
    price_per_hour: float = _option(0.0, "of all machines of the run; with it the bar shows what the run costs")
    checkpoint_every: int = _option(0, "steps between checkpoints; 0: only at the end or a signal; -1: each epoch")
    keep_checkpoints: int = _option(2, "newest checkpoints that stay; 2 is the least that survives a torn one")
    checkpoint_blocking: bool = _option(False, "training waits until a checkpoint is on the disk, as plain loops do")
    upload: Optional[str] = _option(
        None, "URL that finished checkpoints are copied to in the background, through fsspec"
    )
    upload_compression: str = _option("none", "one archive per checkpoint", ("none", "tar.gz", "tar.zst"))
    upload_attempts: int = _option(4, "tries of each upload, 1, 2, 4 ... seconds apart; training never stops for one")
    upload_wait: float = _option(600.0, "seconds the end of the run waits for an upload; what is not done is said")

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise _refused("%s must be at least %s, not %r" % (name, least, getattr(self, name)), name)
        for item in dataclasses.fields(self):
            choices = item.metadata["choices"]
            if choices and getattr(self, item.name) not in choices:
                raise _refused(
                    "%s: %r is not one of %s" % (item.name, getattr(self, item.name), ", ".join(choices)), item.name
                )
        if self.packing and self.attention == "model":
            raise _refused(
                "attention=model lets packed documents see each other", "attention", "Use it with packing=false only."
            )
        if self.lora_dropout > 0 and self.recompute != "none" and not self.recompute_rng:
            raise _refused(
                "recompute_rng=false with lora_dropout gives wrong gradients: the recomputation would draw other masks",
                "recompute_rng", "Leave recompute_rng on, or set lora_dropout=0.",
            )  # fmt: skip
        if not self.packing and self.attention not in ("auto", "model"):
            raise _refused(
                "attention=%s is for packed rows" % self.attention, "attention", "Use it with packing=true only."
            )
        if self.packing and not self.pretokenize:
            raise _refused(
                "packing needs the lengths, so pretokenize must be on", "pretokenize", "Set packing=false as well."
            )


_LEAST: Dict[str, Any] = {
    "tokens_per_row": 2, "examples_per_batch": 1, "accumulate": 1, "epochs": 1, "max_steps": 0, "warmup_steps": 0,
    "learning_rate": 0.0, "weight_decay": 0.0, "clip_norm": 0.0, "max_bad_steps": 1, "threads": 0, "log_every": 1,
    "checkpoint_every": -1, "keep_checkpoints": 2, "tokenize_workers": 0, "loader_workers": -1, "prefetch": -1,
    "seed": 0,
    "lora_rank": -1, "lora_alpha": 0.0, "lora_dropout": 0.0, "samples_per_prompt": 1, "max_new_tokens": 1,
    "sampling_temperature": 0.0, "top_p": 0.0, "sample_batch": 1, "numeric_tolerance": 0.0, "check_seconds": 0.01,
    "max_accepted": 0,
    "pairs_per_batch": 1, "negatives_per_query": 0, "contrastive_weight": 0.0, "generative_weight": 0.0,
    "gradcache_chunk": 0, "temperature": 1e-4, "price_per_hour": 0.0, "shard_tokens": 2,
    "upload_attempts": 1, "upload_wait": 0.0,
}  # fmt: skip

# Settings that can also be said with true and false.
_SWITCHES: Dict[str, Tuple[str, str]] = {"compile": ("off", "on"), "recompute": ("none", "full")}

# HF Trainer's own defaults as a person gets them without changing anything: padded batches of 8, float32, every
# position through the head, an optimizer loop that reads the loss each step, and tokenising in the loader as the
# usual tutorials' collators do.
_BEFORE: Dict[str, Any] = {
    "packing": False, "pretokenize": False, "attention": "model", "head": "all", "optimizer": "foreach",
    "precision": "float32", "sync_every_step": True, "prefetch": 0, "loader_workers": 0,
    "compile": "off", "recompute": "none",
}  # fmt: skip
PRESETS: Dict[str, Dict[str, Any]] = {
    "default": {},
    "before": _BEFORE,
    # As people write rejection fine-tuning by hand: one answer after the other, then a Trainer with padded batches of
    # 32, activation checkpointing on, and a checkpoint in every epoch.
    "before-rft": {
        **_BEFORE, "sample_batch": 1, "examples_per_batch": 32, "recompute": "full", "checkpoint_every": -1,
    },
}  # fmt: skip

# (task, preset) -> what differs there from PRESETS.
TASK_PRESETS: Dict[Tuple[str, str], Dict[str, Any]] = {
    # One row per micro-batch and a blocking save every 50 steps, as a first pretraining script does. Both new presets
    # have the rows and accumulation of such a script once it was tuned: 2 x 2 to try a set-up (and a checkpoint every
    # 200 steps), 4 x 8 for a real run (every 500). Our default is 8 x 1: without an accumulation nothing is computed
    # in smaller pieces than memory asks for. What else such lists name stays at our defaults: bfloat16 where the
    # hardware has it, epsilon 1e-8; loader workers, pinning and cudnn.benchmark have nothing to do here.
    ("pretrain", "before"): {"examples_per_batch": 1, "checkpoint_every": 50, "checkpoint_blocking": True},
    ("pretrain", "test"): {"examples_per_batch": 2, "accumulate": 2, "checkpoint_every": 200},
    ("pretrain", "production"): {"examples_per_batch": 4, "accumulate": 8, "checkpoint_every": 500},
}


def _refused(message: str, name: str, remedy: str = "") -> TrainerError:
    return TrainerError(
        "bad-setting", "setting %s" % message, remedy or "Change %s in the configuration or on the command line." % name
    )


def convert(name: str, kind: Any, value: Any) -> Any:
    """`value`, from JSON, TOML or a command-line text, as the type the setting `name` has; TrainerError when it is
    not one.
    """
    if name in _SWITCHES and str(value).lower() in ("true", "false"):
        return _SWITCHES[name][str(value).lower() == "true"]
    if get_origin(kind) is Union:
        if value is None:
            return None
        kind = next(arm for arm in get_args(kind) if arm is not type(None))
    if get_origin(kind) is tuple:
        items: List[Any] = [value] if isinstance(value, str) else value
        if isinstance(items, (list, tuple)) and all(isinstance(item, str) for item in items):
            return tuple(items)
        raise _refused("%s: %r is not a list of texts" % (name, value), name)
    if kind is bool and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if isinstance(value, str) and kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            raise _refused("%s: %r is not a number" % (name, value), name) from None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind):
        raise _refused(
            "%s: %r is not %s"
            % (name, value, {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[kind]),
            name,
        )
    return value


def from_mapping(values: Mapping[str, Any], origin: str, preset: str = "default", task: str = "") -> Settings:
    """Settings from a preset overlaid with `values`; TrainerError names `origin`, an unknown key and the keys near
    it. A preset can mean more in one task than in the others, or exist in that task only.
    """
    if preset not in PRESETS and (task, preset) not in TASK_PRESETS:
        known = [*PRESETS, *("%s (%s)" % (name, owner) for owner, name in TASK_PRESETS if name not in PRESETS)]
        raise TrainerError("bad-setting", "unknown preset %r" % preset, "The presets are %s." % ", ".join(known))
    kinds = get_type_hints(Settings)
    for name in values:
        if name not in kinds:
            near = difflib.get_close_matches(str(name).replace("-", "_"), kinds, n=3, cutoff=0.5)
            hint = "Did you mean %s?" % " or ".join(near) if near else "`--help` lists the settings."
            raise TrainerError("unknown-setting", "%s: unknown setting %r" % (origin, name), hint)
    merged = {**PRESETS.get(preset, {}), **TASK_PRESETS.get((task, preset), {}), **values}
    return Settings(**{name: convert(name, kinds[name], value) for name, value in merged.items()})


def read_file(path: Path) -> Dict[str, Any]:
    """The mapping in a JSON or TOML settings file; TrainerError names the file and the place of a syntax error."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            import tomllib  # Python >= 3.11

            values: Any = tomllib.loads(text)
        else:
            values = json.loads(text)
    except ImportError:
        raise TrainerError(
            "no-toml", "%s: this Python cannot read TOML" % path, "Write the settings as JSON."
        ) from None
    except OSError as error:
        raise TrainerError(
            "unreadable-file", "%s: %s" % (path, error.strerror), "Check the path and its permissions."
        ) from None
    except (ValueError, RecursionError) as error:
        raise TrainerError("bad-syntax", "%s: %s" % (path, error), "Correct the file at that place.") from None
    if not isinstance(values, dict):
        raise TrainerError(
            "bad-syntax", "%s: the top level must be a table of settings" % path, 'Write {"name": value, ...}.'
        )
    return values
