"""Rejection fine-tuning: the model answers each prompt several times, and is trained on its own right answers.

Sampling, judging and training are one run. Each leaves its result in OUTPUT/rft, and a run that was stopped goes on
in whichever it was.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainer.data import tokens
from trainer.data.examples import Row, existing_files
from trainer.data.fasttokenizer import Tokenizer
from trainer.data.heldout import split_numbers
from trainer.data.source import Prepared
from trainer.data.tokenizer import load_tokenizer
from trainer.data.workloads import DATA, Workload
from trainer.errors import TrainerError
from trainer.measure.progress import SamplingProgress
from trainer.model import lora
from trainer.options.settings import Settings
from trainer.tasks.answers import rejection
from trainer.tasks.answers.acceptance import HeldOutPrompts
from trainer.tasks.answers.checkers import Checker, checker
from trainer.tasks.answers.prompts import read_prompts
from trainer.tasks.answers.samples import Done, samples
from trainer.tasks.answers.sampling import Answer, Sampler, plan
from trainer.tasks.sft import Sft
from trainer.tasks.task import Task


class Rft(Task):
    """Rejection fine-tuning: sample answers, keep the right ones, train adapters on them."""

    example = "python -m trainer rft --model MODEL_FOLDER --data prompts.jsonl --checker numeric --learning_rate 2e-4"
    in_turn = True  # answers are sampled into one file
    adapter_rank = 16  # peft's examples and the LoRA paper use 4 to 64

    def prepare(self, settings: Settings, workload: Workload | None) -> Prepared:
        """Sample and judge what is not yet, then plan the training on what was accepted."""
        files = [Path(name) for name in settings.data] or ([DATA / "sums.jsonl"] if workload else [])
        tokenizer = load_tokenizer(settings, workload)
        folder = Path(settings.output) / "rft"
        if settings.resume == "never":
            _move_aside(folder)
        with checker(settings) as judge:
            rows, prompts = read_prompts(files, tokenizer, settings, judge)
            rows, prompts, held = _held_out(rows, prompts, tokenizer, settings, judge)
            identity = _identity(files, tokenizer, settings, workload)
            done = _sample(folder / "samples.jsonl", identity, prompts, tokenizer, settings, workload)
            summary = _judge(folder, identity, done, rows, judge, settings)
        accepted, rank = str(folder / "accepted.jsonl"), lora.rank_of(settings, self.adapter_rank)
        mine = replace(settings, data=(accepted,), lora_rank=rank, eval_share=0.0, eval_data=(), early_stopping=0)
        prepared = Sft().prepare(mine, workload)
        prepared.facts["rft"] = summary
        if held is None:
            return prepared
        prepared.facts["eval_examples"] = len(held.rows)
        if settings.eval_data:
            prepared.facts["eval_fingerprint"] = tokens.fingerprint(existing_files(settings.eval_data))
        return replace(prepared, scores=held)


def _held_out(
    rows: list[Row], prompts: list[list[int]], tokenizer: Tokenizer, settings: Settings, judge: Checker
) -> tuple[list[Row], list[list[int]], HeldOutPrompts | None]:
    """(rows and prompts to train on, those that the acceptance rate is taken on)."""
    if settings.eval_data:
        return rows, prompts, HeldOutPrompts(
            *read_prompts(existing_files(settings.eval_data), tokenizer, settings, judge), settings
        )  # fmt: skip
    if not settings.eval_share:
        return rows, prompts, None
    trained, held = split_numbers(len(rows), settings.eval_share, settings.seed, "prompts")
    judged = HeldOutPrompts([rows[n] for n in held], [prompts[n] for n in held], settings)
    return [rows[n] for n in trained], [prompts[n] for n in trained], judged


def _sample(
    path: Path,
    identity: str,
    prompts: list[list[int]],
    tokenizer: Tokenizer,
    settings: Settings,
    workload: Workload | None,
) -> list[Done]:
    """Every batch of the plan, from the file as far as it goes, and from the model from there on."""
    batches = plan(prompts, settings)
    with samples(path, identity) as (done, append):
        if len(done) == len(batches):
            return done
        sampler = Sampler(settings, workload, tokenizer)
        need = max(map(len, prompts)) + settings.max_new_tokens
        if sampler.longest and need > sampler.longest:
            raise TrainerError(
                "too-long-for-model",
                f"the longest prompt and max_new_tokens need {need} positions, the model has {sampler.longest}",
                "Lower max_new_tokens.",
            )
        progress = SamplingProgress(sum(map(len, batches)), sum(len(item.answers) for item in done))
        for number in range(len(done), len(batches)):
            begun, cpu = time.perf_counter(), time.process_time()
            answers = sampler.answers(batches[number])
            item = Done(number, answers, time.perf_counter() - begun, time.process_time() - cpu)
            append(item)
            done.append(item)
            progress.add(len(answers), sum(answer.tokens for answer in answers), item.seconds)
        progress.close()
    return done


def _judge(
    folder: Path, identity: str, done: list[Done], rows: list[Row], judge: Checker, settings: Settings
) -> dict[str, Any]:
    """The summary, written beside accepted.jsonl; nothing is judged twice."""
    names = ("checker", "answer_field", "numeric_tolerance", "check_seconds", "max_accepted", "completion_field")
    parts = [identity, *(f"{name}={getattr(settings, name)}" for name in names)]
    if settings.checker.rpartition(":")[0].endswith(".py"):
        parts.append(Path(settings.checker.rpartition(":")[0]).read_text(encoding="utf-8", errors="replace"))
    judged = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    accepted, place = folder / "accepted.jsonl", folder / "summary.json"
    try:
        known: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        whole = hashlib.sha256(accepted.read_bytes()).hexdigest() == known["accepted_sha256"]
        if whole and known["identity"] == judged:
            return known
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not judged yet, or torn: judge now
    answers: list[Answer] = list(itertools.chain.from_iterable(item.answers for item in done))
    kept, fates = rejection.keep(answers, rows, judge, settings)
    seconds, generated = sum(item.seconds for item in done), sum(answer.tokens for answer in answers)
    summary: dict[str, Any] = {
        "identity": judged, "prompts": len(rows), "answers": len(answers), **fates,
        "accept_rate": round(fates["accepted"] / len(answers), 4), "generated_tokens": generated,
        "sampling_seconds": round(seconds, 3), "sampling_cpu_seconds": round(sum(i.cpu_seconds for i in done), 3),
        "tokens_per_second": round(generated / seconds, 1) if seconds else None,
        "accepted_sha256": rejection.write_accepted(accepted, kept, rows, settings, identity),
    }  # fmt: skip
    sys.stderr.write(
        f"accepted {fates['accepted']} of {len(answers)} answers ({100 * summary['accept_rate']:.0f} %), "
        f"{len(kept)} of them different; {fates['prompts_without']} of {len(rows)} prompts have none\n"
    )
    rejection.write(place, json.dumps(summary, indent=1).encode())
    return summary


def _identity(files: list[Path], tokenizer: Tokenizer, settings: Settings, workload: Workload | None) -> str:
    """What the answers depend on: prompts, tokenizer, model, and how they are sampled."""
    names = (
        "prompt_field", "seed", "samples_per_prompt", "max_new_tokens", "sampling_temperature", "top_p", "sample_batch",
        *(("eval_share",) if settings.eval_share else ()),
    )  # fmt: skip
    model = [path for path in sorted(Path(settings.model).glob("*")) if path.is_file()] if settings.model else []
    if settings.model_config and not settings.model and Path(settings.model_config).is_file():
        model = [Path(settings.model_config)]
    return tokens.fingerprint(
        [*files, *model], tokenizer.backend_tokenizer.to_str(), str(tokenizer.chat_template),
        repr(workload.config if workload and not model else None),
        repr([(name, getattr(settings, name)) for name in names]),
    )  # fmt: skip


def _move_aside(folder: Path) -> None:
    if folder.exists():
        names = (folder.with_name(f"rft.before-{number}") for number in itertools.count(1))
        os.rename(folder, next(path for path in names if not path.exists()))
