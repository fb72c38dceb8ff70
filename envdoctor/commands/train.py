"""``envdoctor train``: hand off to the bundled trainer, in the environment and under the target's flags."""

from __future__ import annotations

from pathlib import Path

import click

from envdoctor import doctor
from envdoctor.commands import _options
from envdoctor.commands._environment import environment_of
from envdoctor.commands._output import stderr
from envdoctor.knowledge.machine import peak_tflops
from envdoctor.launch import trainer
from envdoctor.rules.checkup import CheckOptions

TASKS = ("sft", "rft", "gritlm", "pretrain", "prepare", "chat")  # the trainer's, which says what another word may mean


@click.command("train", context_settings={"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]})
@_options.environment
@_options.target
@click.argument("task", required=False)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def command(env: Path | None, target_name: str, stack: str | None, task: str | None, options: tuple[str, ...]) -> int:
    """Train with the bundled trainer; OPTIONS are its own (`envdoctor train sft --help` lists them).

    What stands before TASK is envdoctor's, what stands behind it the trainer's.

    \b
    Examples:
      envdoctor train sft --workload chat-5m --max_steps 50
      envdoctor train sft --model ./model --data chat.jsonl --output runs/chat

    The model is written as safetensors with its tokenizer, as transformers, vLLM and TGI load it. GGUF is not written:
    no library converts a model to it (the package gguf writes files, and knows no architecture); the program that does,
    convert_hf_to_gguf.py, is a part of llama.cpp and takes OUTPUT/model as it is.

    Exit codes: those of the trainer: 0 finished, 1 failed, 2 wrong usage, 130 interrupted (and saved).
    """
    if task is None:
        trainer.show_help(["--help"])  # the tasks, with an example each
        return 2
    words = [task, *(word for word in options if word != "--")]
    if task not in TASKS or {"-h", "--help", "--help-all", "--print-config"} & set(words):
        return trainer.show_help(words)
    environment = environment_of(env).require()
    case = doctor.target_for(environment, CheckOptions(target=target_name, stack=stack))
    stderr().print(f"target {case.target.name}: {case.target_reason}", style="dim", markup=False)
    flags, variables, peak = case.target.flags, case.target.variables, peak_tflops(case.facts)
    return trainer.run_trainer(environment, words, flags=flags, variables=variables, peak_tflops=peak)
