"""One run's settings: the options of every group with a value each, read from a file, the command line or an order."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from trainer.errors import TrainerError
from trainer.options.data import PairOptions, RowOptions, SourceOptions, TextOptions
from trainer.options.option import AUTO, COUNTS, belongs_to, is_decided
from trainer.options.output import CheckpointOptions, LogOptions
from trainer.options.training import (
    AdapterOptions,
    AnswerOptions,
    ComputeOptions,
    OptimisationOptions,
    StepOptions,
)
from trainer.options.validation import ValidationOptions

# As `--help` shows them.
GROUPS = (
    SourceOptions, RowOptions, TextOptions, PairOptions, AnswerOptions, StepOptions, OptimisationOptions,
    ValidationOptions, AdapterOptions, LogOptions, CheckpointOptions, ComputeOptions,
)  # fmt: skip


# Read here and not by transformers' HfArgumentParser, which knows dataclasses too: importing that takes 0.9 s of CPU
# time before `--help` or a mistyped name is answered (this file 0.05 s; transformers 5 on one core), it reads no TOML,
# names no setting near a mistyped one, and knows neither ranges nor presets.
@dataclass(frozen=True)
class Settings(
    SourceOptions, RowOptions, TextOptions, PairOptions, AnswerOptions, StepOptions, OptimisationOptions,
    ValidationOptions, AdapterOptions, LogOptions, CheckpointOptions, ComputeOptions,
):  # fmt: skip
    """One training run. Lengths are in tokens, times in seconds, sizes in bytes unless the name says otherwise."""

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value, least, choices = getattr(self, item.name), item.metadata["least"], item.metadata["choices"]
            if least is not None and value < least:
                raise _refusal(f"{item.name} must be at least {least}, not {value!r}", item.name)
            if item.metadata["most"] is not None and value > item.metadata["most"]:
                raise _refusal(f"{item.name} must be at most {item.metadata['most']}, not {value!r}", item.name)
            counts = item.metadata["counted"] and COUNTS.fullmatch(value)
            if choices and value not in choices and not counts:
                meant = OTHER_OPTIONS.get((item.name, value), "")
                raise _refusal(f"{item.name}: {value!r} is not one of {', '.join(choices)}", item.name, meant)
        if self.eval_data and self.eval_share:
            raise _refusal("eval_data and eval_share are two ways to the same", "eval_share", "Give one of them.")
        if self.early_stopping and not (self.eval_data or self.eval_share):
            raise _refusal(
                "early_stopping needs a validation loss", "early_stopping", "Give eval_data or eval_share as well."
            )
        if self.streaming:
            self._check_streaming()
        if self.learning_rate < 0 and self.learning_rate != -1:
            raise _refusal(f"learning_rate must be at least 0, not {self.learning_rate!r}", "learning_rate")
        if self.packing and self.attention == "model":
            raise _refusal(
                "attention=model lets packed documents see each other", "attention", "Use it with packing=false only."
            )
        if self.lora_dropout > 0 and self.recompute != "none" and not self.recompute_rng:
            raise _refusal(
                "recompute_rng=false with lora_dropout gives wrong gradients: the recomputation would draw other masks",
                "recompute_rng", "Leave recompute_rng on, or set lora_dropout=0.",
            )  # fmt: skip
        if not self.packing and self.attention not in ("auto", "model"):
            raise _refusal(
                f"attention={self.attention} is for packed rows", "attention", "Use it with packing=true only."
            )
        if self.packing and not self.pretokenize:
            raise _refusal(
                "packing needs the lengths, so pretokenize must be on", "pretokenize", "Set packing=false as well."
            )

    def _check_streaming(self) -> None:
        if not self.max_steps:
            raise _refusal("streaming needs max_steps: nobody knows how long the data is", "max_steps", "Give it.")
        if self.data_weights:
            raise _refusal(
                "streaming knows no data_weights: the data has no known end",
                "data_weights",
                "Leave it out; a file that stands twice in data is read twice in each pass.",
            )
        if self.eval_share:
            raise _refusal(
                "streaming cannot hold out a share of what it has not read", "eval_share", "Give eval_data instead."
            )


# (setting, value that it has not) -> which setting means it.
OTHER_OPTIONS = {
    ("optimizer", "adafactor"): "Set moments=adafactor.",
    **{("optimizer", name): "Set moments=8bit." for name in ("adamw_8bit", "adamw_bnb_8bit", "paged_adamw_8bit")},
}

# (task, setting that it has not) -> how it does the same.
OTHER_WAYS = {
    ("gritlm", "streaming"): "Leave it out: an epoch draws its batches from all the pairs there are. Their tokens are "
    "kept in the cache and mapped into memory.",
    ("rft", "streaming"): "Leave it out: prompts are few beside the answers that are sampled for them.",
}

# Settings that can also be said with true and false.
_YES_OR_NO = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_SWITCHES: dict[str, tuple[str, str]] = {"compile": ("off", "on"), "recompute": ("none", "full")}

# HF Trainer's own defaults as a person gets them without changing anything: padded batches of 8, float32, every
# position through the head, an optimizer loop that reads the loss each step, and tokenising in the loader as the
# usual tutorials' collators do.
_BEFORE: dict[str, Any] = {
    "packing": False, "pretokenize": False, "attention": "model", "head": "all", "optimizer": "foreach",
    "precision": "float32", "sync_every_step": True, "prefetch": 0, "loader_workers": 0,
    "compile": "off", "recompute": "none",
}  # fmt: skip
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "before": _BEFORE,
    # As people write rejection fine-tuning by hand: one answer after the other, then a Trainer with padded batches of
    # 32, activation checkpointing on, and a checkpoint in every epoch.
    "before-rft": {
        **_BEFORE, "sample_batch": 1, "examples_per_batch": 32, "recompute": "full", "checkpoint_every": -1,
    },
}  # fmt: skip

# (task, preset) -> what differs there from PRESETS.
TASK_PRESETS: dict[tuple[str, str], dict[str, Any]] = {
    # One row per micro-batch and a blocking save every 50 steps, as a first pretraining script does. Both new presets
    # have the rows and accumulation of such a script once it was tuned: 2 x 2 to try a set-up (and a checkpoint every
    # 200 steps), 4 x 8 for a real run (every 500). Our default is 8 x 1: without an accumulation nothing is computed
    # in smaller pieces than memory asks for. What else such lists name stays at our defaults: bfloat16 where the
    # hardware has it, epsilon 1e-8; loader workers, pinning and cudnn.benchmark have nothing to do here.
    ("pretrain", "before"): {"examples_per_batch": 1, "checkpoint_every": 50, "checkpoint_blocking": True},
    ("pretrain", "test"): {"examples_per_batch": 2, "accumulate": 2, "checkpoint_every": 200},
    ("pretrain", "production"): {"examples_per_batch": 4, "accumulate": 8, "checkpoint_every": 500},
}


def _refusal(message: str, name: str, remedy: str = "") -> TrainerError:
    return TrainerError(
        "bad-setting", f"setting {message}", remedy or f"Change {name} in the configuration or on the command line."
    )


_DEFAULTS = {item.name: item for item in dataclasses.fields(Settings)}


def convert(name: str, kind: Any, value: Any) -> Any:
    """`value`, from JSON, TOML or a command-line text, as the type the setting `name` has; TrainerError when it is
    not one.
    """
    if name in _SWITCHES and str(value).lower() in ("true", "false"):
        return _SWITCHES[name][str(value).lower() == "true"]
    if value == AUTO and name in _DEFAULTS and _DEFAULTS[name].metadata["shown"]:
        return _DEFAULTS[name].default
    if name in _DEFAULTS and _DEFAULTS[name].metadata["counted"] and type(value) is int:
        return str(value)
    if get_origin(kind) is Union:
        if value is None:
            return None
        kind = next(arm for arm in get_args(kind) if arm is not type(None))
    if get_origin(kind) is tuple:
        items: list[Any] = [value] if isinstance(value, str) else value
        if isinstance(items, (list, tuple)) and all(isinstance(item, str) for item in items):
            return tuple(items)
        raise _refusal(f"{name}: {value!r} is not a list of texts", name)
    if kind is bool and isinstance(value, str) and value.lower() in _YES_OR_NO:
        return _YES_OR_NO[value.lower()]
    if isinstance(value, str) and kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            raise _refusal(f"{name}: {value!r} is not a number", name) from None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind):
        wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[kind]
        raise _refusal(f"{name}: {value!r} is not {wanted}", name)
    return value


def from_mapping(values: Mapping[str, Any], origin: str, preset: str = "default", task: str = "") -> Settings:
    """Settings from a preset overlaid with `values`; TrainerError names `origin`, an unknown key and the keys near
    it. A preset can mean more in one task than in the others, or exist in that task only.
    """
    if preset not in PRESETS and (task, preset) not in TASK_PRESETS:
        known = [*PRESETS, *(f"{name} ({owner})" for owner, name in TASK_PRESETS if name not in PRESETS)]
        raise TrainerError("bad-setting", f"unknown preset {preset!r}", f"The presets are {', '.join(known)}.")
    kinds = get_type_hints(Settings)
    for name in values:
        if name not in kinds:
            near = difflib.get_close_matches(str(name).replace("-", "_"), kinds, n=3, cutoff=0.5)
            hint = f"Did you mean {' or '.join(near)}?" if near else "`--help` lists the settings."
            raise TrainerError("unknown-setting", f"{origin}: unknown setting {name!r}", hint)
    for item in dataclasses.fields(Settings):
        if task and not belongs_to(item, task) and values.get(item.name, item.default) != item.default:
            owners = ", ".join(item.metadata["tasks"])
            remedy = OTHER_WAYS.get((task, item.name), "Leave it out.")
            raise TrainerError("bad-setting", f"{origin}: {item.name} is an option of {owners}, not of {task}", remedy)
    merged = {**PRESETS.get(preset, {}), **TASK_PRESETS.get((task, preset), {}), **values}
    return Settings(**{name: convert(name, kinds[name], value) for name, value in merged.items()})


def _yaml(path: Path, text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise TrainerError(
            "no-yaml", f"{path}: this Python has no PyYAML", "Install PyYAML, or write TOML or JSON."
        ) from None
    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def as_file(settings: Settings, task: str, heading: str) -> str:
    """The options of a task as a YAML file that `read_file` takes, each with its help, under a line of heading."""
    lines = [f"# {heading}"]
    for group in GROUPS:
        mine = [item for item in dataclasses.fields(Settings) if item.name in group.__annotations__]
        mine = [item for item in mine if belongs_to(item, task)]
        lines += ["", f"# {(group.__doc__ or '').strip()}"] if mine else []
        for item in mine:
            value: Any = getattr(settings, item.name)
            value = list(value) if isinstance(value, tuple) else value
            text = AUTO if is_decided(item, value) and value != "" else json.dumps(value, ensure_ascii=False)
            lines.append(f"{item.name}: {text}  # {item.metadata['help']}")
    return "\n".join(lines) + "\n"


def read_file(path: Path) -> dict[str, Any]:
    """The mapping in a YAML, TOML or JSON settings file. TrainerError names the file and the place of a fault."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            import tomllib  # Python >= 3.11

            values: Any = tomllib.loads(text)
        elif path.suffix in (".yaml", ".yml"):
            values = _yaml(path, text)
        else:
            values = json.loads(text)
    except ImportError:
        raise TrainerError("no-toml", f"{path}: this Python cannot read TOML", "Write the settings as JSON.") from None
    except OSError as error:
        raise TrainerError(
            "unreadable-file", f"{path}: {error.strerror}", "Check the path and its permissions."
        ) from None
    except (ValueError, RecursionError) as error:
        known = path.suffix in (".json", ".toml", ".yaml", ".yml")
        hint = "Correct the file at that place." if known else "Its name should end in .yaml, .toml or .json."
        raise TrainerError("bad-syntax", f"{path}: {error}", hint) from None
    if not isinstance(values, dict):
        raise TrainerError(
            "bad-syntax", f"{path}: the top level must be a table of settings", 'Write {"name": value, ...}.'
        )
    return values
