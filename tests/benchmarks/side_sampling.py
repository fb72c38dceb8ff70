"""One side of the seeds' table: answers sampled for rejection fine-tuning, in turns."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from trainer.data import workloads
from trainer.data.tokenizer import load_tokenizer
from trainer.options.settings import from_mapping
from trainer.tasks.answers.sampling import Sampler, plan

from tests.benchmarks.turns import Turns


def main(path: str) -> None:
    """Sample in turns as the order in the file `path` says; a step is one batch of answers."""
    order = json.loads(Path(path).read_text(encoding="utf-8"))
    settings = from_mapping(order["settings"], "benchmark")
    workload = workloads.find(str(settings.workload))
    tokenizer = load_tokenizer(settings, workload)
    sampler = Sampler(settings, workload, tokenizer)
    sampler.ends = set()  # random weights would end answers at random: every side samples the same number of tokens
    lines = workload.data.read_text(encoding="utf-8").splitlines()[: order["prompts"]]
    prompts = [tokenizer(json.loads(line)["messages"][0]["content"])["input_ids"] for line in lines]
    batches = plan(prompts, settings)
    turns, number = Turns(order), 0
    while True:
        answers = sampler.answers(batches[number % len(batches)], order["cache"])
        number += 1
        if turns.step(tokens=float(sum(answer.tokens for answer in answers))):
            break
    turns.end({})


if __name__ == "__main__":
    main(sys.argv[1])
