"""The same batches through transformers' own Trainer: padded, its loss, its optimizer; the losses must be ours."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.trainer.running import prepare_run
from trainer import loop
from trainer.data.batches import padded

STEPS = 50


@pytest.mark.slow
def test_the_first_fifty_losses_are_those_of_transformers_trainer(tiny: dict, tmp_path: Path) -> None:
    from torch.utils.data import SequentialSampler
    from transformers import Trainer, TrainingArguments

    values = {
        **tiny,
        "epochs": 50,
        "max_steps": STEPS,
        "schedule": "constant",
        "warmup_steps": 0,
        "learning_rate": 3e-3,
    }
    run = prepare_run(values)
    source = run.prepared.source
    plain = prepare_run({**values, "packing": False, "attention": "model"}).trainee.model
    plain.load_state_dict(run.trainee.model.state_dict())

    rows = [row for epoch in range(50) for row in source.rows(epoch)][:STEPS]
    batches = []
    for row in rows:
        batch = padded([source.tokens.example(example) for example in row], 0)
        labels = torch.full((batch.slots,), -100)
        labels[batch.positions + 1] = batch.targets  # transformers shifts labels itself
        batches.append({**batch.inputs, "labels": labels.reshape(batch.inputs["input_ids"].shape)})

    theirs: list = []

    class Recording(Trainer):
        def compute_loss(self, *arguments, **options):
            loss = super().compute_loss(*arguments, **options)
            theirs.append(float(loss.detach()))
            return loss

        def _get_train_sampler(self, *arguments):
            return SequentialSampler(self.train_dataset)

    arguments = TrainingArguments(
        output_dir=str(tmp_path / "hf"), max_steps=STEPS, per_device_train_batch_size=1, learning_rate=3e-3,
        lr_scheduler_type="constant", weight_decay=0.0, adam_beta1=0.9, adam_beta2=0.95, adam_epsilon=1e-8,
        max_grad_norm=1.0, use_cpu=True, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True,
        remove_unused_columns=False, dataloader_pin_memory=False,
    )  # fmt: skip
    other = Recording(model=plain, args=arguments, train_dataset=batches, data_collator=lambda items: items[0])
    other.train()

    loop.train(run, [])
    assert len(theirs) == len(run.history.losses) == STEPS
    assert theirs[-1] < theirs[0] - 1  # the run went somewhere
    ours, reference = torch.tensor(run.history.losses), torch.tensor(theirs)
    assert (ours - reference).abs().max() < 2e-4
    assert abs(float((ours - reference).mean())) < 2e-5  # rounding has no side; a dropped term would have one
