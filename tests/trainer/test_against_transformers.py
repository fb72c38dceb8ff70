"""The same batches through transformers' own Trainer: padded, its loss, its optimizer; the losses must be ours, in
evaluation too.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.trainer.conftest import chat, write_lines
from tests.trainer.running import prepare_run
from trainer import loop
from trainer.data.batches import Batch, pad_rows
from trainer.state import Run
from trainer.validation.evaluation import loss_of

STEPS = 50


def labelled(batch: Batch) -> dict:
    """As transformers wants it."""
    labels = torch.full((batch.slots,), -100)
    labels[batch.positions + 1] = batch.targets  # transformers shifts labels itself
    return {**batch.inputs, "labels": labels.reshape(batch.inputs["input_ids"].shape)}


def evaluated(run: Run) -> float:
    run.trainee.model.eval()
    try:
        with torch.no_grad():
            return loss_of(run, run.prepared.validation)[0]
    finally:
        run.trainee.model.train()


@pytest.mark.slow
def test_fifty_losses_and_the_evaluations_are_those_of_transformers_trainer(tiny: dict, tmp_path: Path) -> None:
    from torch.utils.data import SequentialSampler
    from transformers import Trainer, TrainingArguments

    values = {
        **tiny,
        "epochs": 50,
        "max_steps": STEPS,
        "schedule": "constant",
        "warmup_steps": 0,
        "learning_rate": 3e-3,
        "eval_data": [str(write_lines(tmp_path / "e.jsonl", [chat(2, 4 + 3 * n, n + 5) for n in range(7)]))],
    }
    run = prepare_run(values)
    source = run.prepared.source
    plain = prepare_run({**values, "packing": False, "attention": "model"}).trainee.model
    plain.load_state_dict(run.trainee.model.state_dict())

    rows = [row for epoch in range(50) for row in source.rows(epoch)][:STEPS]
    batches = [labelled(pad_rows([source.tokens.example(example) for example in row], 0)) for row in rows]

    held = run.prepared.validation
    documents = [held._examples.example(number) for number in range(len(held._examples))]
    theirs: list = []
    # Its mean over batches is a mean over tokens where there is one batch.
    judged = [labelled(pad_rows(documents, 0))]

    class Recording(Trainer):
        def compute_loss(self, model, *arguments, **options):
            found = super().compute_loss(model, *arguments, **options)
            if model.training:
                theirs.append(float(found.detach()))
            return found

        def _get_train_sampler(self, *arguments):
            return SequentialSampler(self.train_dataset)

    arguments = TrainingArguments(
        output_dir=str(tmp_path / "hf"), max_steps=STEPS, per_device_train_batch_size=1, learning_rate=3e-3,
        lr_scheduler_type="constant", weight_decay=0.0, adam_beta1=0.9, adam_beta2=0.95, adam_epsilon=1e-8,
        max_grad_norm=1.0, use_cpu=True, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True,
        remove_unused_columns=False, dataloader_pin_memory=False,
    )  # fmt: skip
    other = Recording(
        model=plain, args=arguments, train_dataset=batches, eval_dataset=judged, data_collator=lambda items: items[0]
    )
    before, ours_before = other.evaluate()["eval_loss"], evaluated(run)
    other.train()
    after = other.evaluate()["eval_loss"]

    loop.train(run, [])
    assert ours_before == pytest.approx(before, abs=1e-5)
    assert evaluated(run) == pytest.approx(after, abs=2e-4)
    assert after != pytest.approx(before, abs=0.1)
    assert len(theirs) == len(run.history.losses) == STEPS
    assert theirs[-1] < theirs[0] - 1  # the run went somewhere
    ours, reference = torch.tensor(run.history.losses), torch.tensor(theirs)
    assert (ours - reference).abs().max() < 2e-4
    assert abs(float((ours - reference).mean())) < 2e-5  # rounding has no side; a dropped term would have one
