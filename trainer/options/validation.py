"""Options of what a run is judged by while it trains."""

from __future__ import annotations

from dataclasses import dataclass

from trainer.options.option import option

JUDGED = ("sft", "gritlm", "rft", "pretrain")


@dataclass(frozen=True)
class ValidationOptions:
    """validation and samples"""

    eval_data: tuple[str, ...] = option(
        (),
        "data that is not trained on, as --data (for rft prompts with their answers, for gritlm pairs as well)",
        tasks=JUDGED,
        result=False,
    )
    eval_share: float = option(
        0.0, "this share of the rows is held out instead, drawn by the seed", least=0.0, most=0.5, tasks=JUDGED
    )
    eval_every: int = option(0, "steps between evaluations; the last step has one as well", least=0, tasks=JUDGED,
                             shown="each epoch's end")  # fmt: skip
    early_stopping: int = option(
        0, "end the run after so many evaluations in a row without a better one; 0: never", least=0, tasks=JUDGED
    )
    keep_best: bool = option(
        True, "the trained model is that which did best on held-out data; off: that of the last step", tasks=JUDGED,
        rare=True,
    )  # fmt: skip
    sample_prompts: tuple[str, ...] = option(
        (), "texts, or files of lines or rows, that the model answers at each evaluation", tasks=JUDGED, result=False
    )
    sample_tokens: int = option(64, "of each such answer, at most", least=1, tasks=JUDGED, rare=True, result=False)
