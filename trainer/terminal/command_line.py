"""The command line of a task: its options in groups, each once, the rare ones behind --help-all; what was meant by a
word that is none of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import os
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from trainer import tasks
from trainer.data import workloads
from trainer.options.option import belongs_to
from trainer.options.settings import GROUPS, OTHER_WAYS, PRESETS, TASK_PRESETS, Settings, from_mapping, read_file
from trainer.terminal import closing
from trainer.terminal.closing import MODULE, program

PEAK = "ENVDOCTOR_PEAK_TFLOPS"
"""What the doctor knows of the GPU where no setting says it: it has the table of GPUs, the trainer none."""
PREPARE = "--data texts.jsonl --tokenizer FOLDER --output SHARDS"
RECIPES = Path(__file__).parent.parent / "recipes"
TITLES = {"prepare": "Texts to token shards, which pretrain reads"}
KINDS: dict[str, Any] = get_type_hints(Settings)
# What other trainers call it.
ELSEWHERE = {
    "model_name_or_path": "model", "base_model": "model", "dataset_name": "data", "train_data": "data",
    "datasets": "data", "dataset_config": "data", "output_dir": "output", "num_train_epochs": "epochs",
    "num_epochs": "epochs", "per_device_train_batch_size": "examples_per_batch", "micro_batch_size":
    "examples_per_batch", "batch_size": "tokens_per_row", "gradient_accumulation_steps": "accumulate",
    "max_length": "tokens_per_row", "max_seq_length": "tokens_per_row", "sequence_len": "tokens_per_row",
    "lr": "learning_rate", "lr_scheduler_type": "schedule", "lr_scheduler": "schedule", "warmup_ratio":
    "warmup_steps", "max_grad_norm": "clip_norm", "adam_beta1": "beta1", "adam_beta2": "beta2", "lora_r": "lora_rank",
    "lora_target_modules": "lora_targets", "use_peft": "lora_rank", "logging_steps": "log_every", "report_to":
    "tracker", "save_steps": "checkpoint_every", "save_total_limit": "keep_checkpoints", "eval_steps": "eval_every",
    "val_set_size": "eval_share", "early_stopping_patience": "early_stopping", "bf16": "precision", "fp16":
    "precision", "gradient_checkpointing": "recompute", "torch_compile": "compile", "sample_packing": "packing",
    "load_in_4bit": "quantize", "load_in_8bit": "quantize",
    "model_revision": "revision", "resume_from_checkpoint": "resume", "hub_model_id": "push_to",
    "optim": "optimizer", "load_best_model_at_end": "keep_best", "eval_strategy": "eval_every", "save_strategy":
    "checkpoint_every", "eval_dataset": "eval_data", "test_datasets": "eval_data", "dataset_text_field": "text_field",
    "dataset_streaming": "streaming", "chat_template_path": "chat_template", "lora_modules": "lora_targets",
    "use_dora": "dora", "peft_use_dora": "dora", "use_rslora": "rslora", "peft_use_rslora": "rslora", "wandb_project":
    "tracker", "push_to_hub": "push_to", "attn_implementation": "attention", "dtype": "precision",
    "noisy_embedding_alpha": "neftune_noise_alpha",
}  # fmt: skip
PREFERENCES = ("dpo", "kto", "orpo", "grpo", "ppo", "rloo", "reward")  # tasks of others
DOCTORS = ("env", "target", "stack")  # options of `envdoctor train` itself


class Parser(argparse.ArgumentParser):
    """Answers a wrong word with the one that was meant, and does not print the usage for it."""

    task: str | None = None

    def error(self, message: str) -> NoReturn:
        """Exit 2 with two lines."""
        self.exit(
            2,
            f"error: {message}\n       `{' '.join(filter(None, (program(), self.task)))} --help` lists the options.\n",
        )

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The options in `words`; both spellings of a name count (learning-rate, learning_rate)."""
        given, unknown = self.parse_known_args([_with_underscores(word) for word in words])
        for word in unknown:
            if word.startswith("-"):
                self.exit(2, f"error: unknown option {word.partition('=')[0]}\n       {suggestion(word, self.task)}\n")
            self.error(f"{word!r} belongs to no option")
        return given


def suggestion(word: str, task: str | None) -> str:
    """What may have been meant by an option that there is not."""
    name = word.lstrip("-").partition("=")[0].replace("-", "_")
    if name in DOCTORS:
        return f"--{name} is envdoctor's own: envdoctor train --{name} ... {task or 'TASK'} ..."
    if name in KINDS:
        (item,) = (item for item in dataclasses.fields(Settings) if item.name == name)
        other = OTHER_WAYS.get((task or "", name), "")
        return f"--{name} is an option of {', '.join(item.metadata['tasks'])}, not of {task}. {other}".rstrip()
    if name in ELSEWHERE and ELSEWHERE[name] in KINDS:
        return f"It is called --{ELSEWHERE[name]} here."
    own = [item.name for item in dataclasses.fields(Settings) if belongs_to(item, task)]
    near = difflib.get_close_matches(name, own, n=2, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join('--' + one for one in near)}?"
    return _lists(task)


def _lists(task: str | None) -> str:
    return f"`{' '.join(filter(None, (program(), task)))} --help` lists the options."


def parser(task: str | None = None, everything: bool = False) -> Parser:
    """Of a task, or of no task yet. everything: its help shows the rare options as well."""
    title, lines = "Train a language model, and say where the time goes.", _all_tasks()
    if task:
        title, lines = _title_and_examples(task)
    made = Parser(
        prog=" ".join(filter(None, (program(), task))), description=title, epilog="\n".join(lines), add_help=False,
        usage=f"{program()} {task or 'TASK'} [--option value ...]", allow_abbrev=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=27),
    )  # fmt: skip
    made.task = task
    made.add_argument("task", nargs="?", metavar="TASK", help=argparse.SUPPRESS)
    general = made.add_argument_group("general")
    general.add_argument("-h", "--help", action="help", help="show the usual options")
    general.add_argument("--help-all", action="help", help="show every option")
    general.add_argument(
        "--config", metavar="FILE", help="options in YAML, TOML or JSON, or a recipe; those given here win"
    )
    general.add_argument("--print-config", action="store_true", help="print all options as such a file, and end")
    presets = dict.fromkeys([*PRESETS, *(name for owner, name in TASK_PRESETS if task in (None, owner))])
    general.add_argument(
        "--preset", default="default", choices=list(presets),
        help="before: as plain trainers do it; test, production: sizes of pretraining runs" if everything else
        argparse.SUPPRESS,
    )  # fmt: skip
    general.add_argument("--report", metavar="FILE", help="write what happened as JSON")
    general.add_argument(
        "--format", default="auto", choices=closing.FORMATS, help="of the closing lines; auto: JSON on a pipe"
    )
    general.add_argument(
        "--show", metavar="N", type=int, default=0, help="show N examples as tokens, what is trained in colour, and end"
    )
    rare = None if everything else argparse.SUPPRESS
    general.add_argument("--measure", action="store_true", help=rare or "time the steps instead of training to the end")
    general.add_argument("--order", metavar="FILE", help=rare or "run an order file and write its report")
    for group in GROUPS:
        _add(made, group, task, everything)
    return made


def _add(made: Parser, options: type, task: str | None, everything: bool) -> None:
    mine = [item for item in dataclasses.fields(Settings) if item.name in options.__annotations__]
    mine = [item for item in mine if belongs_to(item, task)]
    group = made.add_argument_group((options.__doc__ or "").strip())
    for item in mine:
        hidden = task is None or (item.metadata["rare"] and not everything)
        kind, choices = KINDS[item.name], item.metadata["choices"]
        is_list, is_switch = get_origin(kind) is tuple, kind is bool
        values = (*choices, "N", "N+M") if item.metadata["counted"] else choices
        shown = f"{{{','.join(values)}}}" if choices else _metavar(kind)
        more: dict[str, Any] = {"nargs": "+"} if is_list else {"nargs": "?", "const": "true"} if is_switch else {}
        text = argparse.SUPPRESS if hidden else (item.metadata["help"] + _default(item)).replace("%", "%%")
        group.add_argument("--" + item.name, dest="set_" + item.name, default=None, metavar=shown, help=text, **more)


def _default(item: dataclasses.Field[Any]) -> str:
    value: Any = item.default
    if item.metadata["shown"]:
        return f" (default: {item.metadata['shown']})"
    if value is None or value == ():
        return ""
    return f" (default: {json.dumps(value) if not isinstance(value, str) else value!r})".replace("'", "")


def _metavar(kind: Any) -> str:
    for part in (kind, *get_args(kind)):
        if part in (int, float):
            return "N"
        if part is bool:
            return "true|false"
    return "TEXT"


def _with_underscores(word: str) -> str:
    if not word.startswith("--"):
        return word
    name, mark, value = word[2:].partition("=")
    name = name.replace("-", "_") if name.replace("-", "_") in KINDS else name
    return f"--{name}{mark}{value}"


def values_of(given: argparse.Namespace) -> dict[str, Any]:
    """Option -> value: those of the configuration file, then those of the command line, over those of the workload."""
    file_values: dict[str, Any] = read_file(_configuration(given.config)) if given.config else {}
    typed = {name[4:]: value for name, value in vars(given).items() if name.startswith("set_") and value is not None}
    told = {"peak_tflops": os.environ[PEAK]} if os.environ.get(PEAK) else {}
    values = {**told, **file_values, **typed}
    if values.get("workload"):
        values = {**workloads.find(values["workload"]).settings, **values}
    return values


def _configuration(name: str) -> Path:
    """A file, or a recipe by its name."""
    recipe = RECIPES / f"{name}.yaml"
    return recipe if not Path(name).exists() and recipe.is_file() else Path(name)


def settings_of(given: argparse.Namespace) -> Settings:
    """The settings of a command line. TrainerError names what is wrong."""
    return from_mapping(values_of(given), given.config or "command line", given.preset, given.task)


COLUMNS = 80  # of the narrowest terminals in use
NO = ("--no-", "--no_")  # before "python": torchrun's spelling and accelerate's


def _title_and_examples(task: str) -> tuple[str, list[str]]:
    if task in TITLES:
        return TITLES[task], ["example:", *_as_typed(f"{program()} {task} {PREPARE}")]
    (known,) = (listed for listed in tasks.list_tasks() if listed.name == task)
    rest = known.example.partition(MODULE)[2]
    # The module is the checkout's; what is installed has a program, which launchers start by another word.
    torchrun, accelerate = ("-m trainer",) * 2 if program() == MODULE else (f"{no}python {program()}" for no in NO)
    return textwrap.fill(known.title, COLUMNS), [
        "examples:", *_as_typed(f"{program()}{rest}"), *_as_typed(f"torchrun --nproc-per-node 2 {torchrun}{rest}"),
        *_as_typed(f"accelerate launch --config_file FSDP2.yaml {accelerate}{rest}"),
    ]  # fmt: skip


def _as_typed(command: str, indent: int = 2) -> list[str]:
    """A command in lines that a shell reads as one, none wider than a terminal, cut before options only."""
    bound = " ".join(part.replace(" ", "\xa0") for part in re.split(" (?=--)", command))
    lines = textwrap.wrap(
        bound, COLUMNS - 2, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return " \\\n".join(lines).replace("\xa0", " ").split("\n")


def _table_row(name: str, title: str) -> str:
    return textwrap.fill(f"{name:<10} {title}", COLUMNS, initial_indent="  ", subsequent_indent=" " * 13)


def _all_tasks() -> list[str]:
    lines = [f"tasks ({program()} TASK --help shows the options of one):"]
    for task in tasks.list_tasks():
        lines += [
            _table_row(task.name, _lower_first(task.title)), *_as_typed(task.example.replace(MODULE, program()), 13),
        ]  # fmt: skip
    for name, title in TITLES.items():
        lines += [_table_row(name, _lower_first(title)), *_as_typed(f"{program()} {name} {PREPARE}", 13)]
    lines += [_table_row("chat", "try a model"), f"             {program()} chat runs/sft-2026-01-31-1/model"]
    lines += ["", f"workloads (bundled; {program()} sft --workload chat-5m):"]
    lines += [f"  {work.name:<10} {work.title}" for work in workloads.WORKLOADS.values()]
    return [*lines, "", "recipes (for --config): " + ", ".join(sorted(path.stem for path in RECIPES.glob("*.yaml")))]


def _lower_first(text: str) -> str:
    return text[0].lower() + text[1:]


def unknown_task(word: str) -> str:
    """Two lines for a first word that is no task."""
    names = [*tasks.names(), *TITLES, "chat"]
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]}? " if near else ""
    if word.lower() in PREFERENCES:
        hint = "Training on preferences or rewards is not in it (TRL has it); rft trains on what a checker accepts. "
    return f"error: unknown task {word!r}\n       {hint}The tasks are {', '.join(names)}.\n"
