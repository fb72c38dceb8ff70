"""Answers sampled together against one after the other, taking turns in one process.

    python -m tests.benchmarks.sampling [--workload chat-5m] [--prompts 16] [--tokens 32] [--rounds 3] [--threads 1]

Prompts are first questions of the bundled chats, of spread lengths. Random weights do not end an answer before
--tokens, so that every side generates the same number. Prints tokens per second and per CPU second, and the ratios
with their spread over the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

from trainer.data.tokenizer import load_tokenizer
from trainer.data.workloads import find
from trainer.options.settings import Settings
from trainer.tasks.answers.sampling import Sampler, WantedAnswer, plan

SIDES: dict[str, tuple[bool, bool]] = {  # together, cache
    "together": (True, True),
    "one by one": (False, True),
    "one by one, no cache": (False, False),
}


def timed(sampler: Sampler, batches: list[list[WantedAnswer]], cache: bool) -> tuple[float, float]:
    """Tokens per second and per CPU second of this process."""
    begun, cpu = time.perf_counter(), time.process_time()
    tokens = sum(answer.tokens for batch in batches for answer in sampler.answers(batch, cache))
    return tokens / (time.perf_counter() - begun), tokens / (time.process_time() - cpu)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="chat-5m")
    for name, value in (("prompts", 16), ("tokens", 32), ("rounds", 3), ("threads", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    given = parser.parse_args()
    workload = find(given.workload)
    settings = Settings(
        workload=given.workload, max_new_tokens=given.tokens, samples_per_prompt=1, sample_batch=given.prompts,
        threads=given.threads,
    )  # fmt: skip
    tokenizer = load_tokenizer(settings, workload)
    sampler = Sampler(settings, workload, tokenizer)
    sampler.ends = set()
    lines = workload.data.read_text(encoding="utf-8").splitlines()[: given.prompts]
    prompts = [tokenizer(json.loads(line)["messages"][0]["content"])["input_ids"] for line in lines]
    together = plan(prompts, settings)
    alone = [[wanted] for batch in together for wanted in batch]
    timed(sampler, together, True)  # warm-up
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in SIDES}
    for turn in range(given.rounds):
        for name in list(SIDES) if turn % 2 == 0 else list(SIDES)[::-1]:
            many, cache = SIDES[name]
            found[name].append(timed(sampler, together if many else alone, cache))
            print("%-22s %7.0f tokens/s  %7.0f per CPU second" % (name, *found[name][-1]), flush=True)
    for name in list(SIDES)[1:]:
        for clock, what in enumerate(("tokens/s", "per CPU second")):
            ratios = sorted(a[clock] / b[clock] for a, b in zip(found["together"], found[name]))
            middle = statistics.median(ratios)
            print("together / %s, %s: %.2f (%.2f to %.2f)" % (name, what, middle, ratios[0], ratios[-1]))


if __name__ == "__main__":
    main()
