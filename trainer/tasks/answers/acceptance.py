"""The acceptance rate: for how many held-out prompts the model's likeliest answer is right.

Prompts are answered in groups that are always the same, each by one of the processes (by all of them where they share
the weights), and judged by the first: the rate is the same for any number of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.data.examples import Row
from trainer.options.settings import Settings
from trainer.state import Run
from trainer.tasks.answers.checkers import checker
from trainer.tasks.answers.sampling import text_of
from trainer.validation import samples

NAME = "acceptance_rate"


@dataclass(frozen=True)
class HeldOutPrompts:
    """Rows that are not trained on, and the ids of their prompts."""

    rows: Sequence[Row]
    prompts: Sequence[Sequence[int]]
    settings: Settings

    def __call__(self, run: Run) -> dict[str, float]:
        """The score of the run's model as it is."""
        groups = packs([len(ids) + self.settings.max_new_tokens for ids in self.prompts], self.settings.tokens_per_row)
        shared = run.group.kind == "fsdp2"
        fill = self.settings.tokens_per_row if run.prepared.source.fill else 0
        mine: list[tuple[int, list[int]]] = []
        for group in groups if shared else groups[run.group.rank :: run.group.world]:
            prompts = [list(self.prompts[number]) for number in group]
            mine += zip(group, samples.answers(run, prompts, self.settings.max_new_tokens, fill))
        answers = dict(item for found in run.group.gathered(mine) for item in found)
        judged = run.group.in_turn(lambda: self._accepted(run, answers) if run.group.first else 0)
        accepted = run.group.gathered(judged)[0]
        return {NAME: accepted / len(self.rows)}

    def _accepted(self, run: Run, answers: dict[int, list[int]]) -> int:
        tokenizer, accepted = run.prepared.tokenizer, 0
        ends = samples.ends(run)
        with checker(self.settings) as judge:
            for number, (place, row) in enumerate(self.rows):
                ids = answers[number]
                if ids and ids[-1] in ends:  # what had no end would be rejected unseen while sampling, too
                    text = text_of(tokenizer, self.prompts[number], ids[:-1])
                    accepted += judge.check(place, text, row) == "accepted"
        return accepted


def packs(sizes: Sequence[int], budget: int) -> list[list[int]]:
    """Numbers of `sizes` in order, in groups that add up to at most `budget`; what is larger is alone."""
    found: list[list[int]] = []
    room = 0
    for number, size in enumerate(sizes):
        if not found or size > room:
            found.append([])
            room = budget
        found[-1].append(number)
        room -= size
    return found
