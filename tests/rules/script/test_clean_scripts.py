"""Clean scripts of five kinds, as people write them: no rule may find an error or warning in any."""

from __future__ import annotations

import pytest

from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.rule import Severity
from tests.rules.script.scripts import LOOP, facts

BARE = '''\
"""Fine-tune a causal language model on packed tokens."""
import argparse
import math
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForCausalLM, get_cosine_schedule_with_warmup


class Packed(Dataset):
    def __init__(self, path, length):
        self.tokens = np.memmap(path, dtype=np.uint16, mode="r")
        self.length = length
        self.reads = None

    def __len__(self):
        return len(self.tokens) // self.length

    def __getitem__(self, index):
        row = self.tokens[index * self.length : (index + 1) * self.length]
        return torch.from_numpy(row.astype(np.int64))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    total = torch.zeros((), device=device)
    for batch in loader:
        batch = batch.to(device, non_blocking=True)
        total += model(input_ids=batch, labels=batch).loss
    model.train()
    return (total / len(loader)).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--log-every", type=int, default=20)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda")
    model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM2-1.7B", attn_implementation="sdpa").to(device)
    model.compile()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    schedule = get_cosine_schedule_with_warmup(optimizer, 50, args.steps)
    loader = DataLoader(
        Packed(args.data, 2048), batch_size=8, shuffle=True, num_workers=4, pin_memory=True, persistent_workers=True
    )
    running = torch.zeros((), device=device)
    step, start = 0, time.time()
    while step < args.steps:
        for batch in loader:
            batch = batch.to(device, non_blocking=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(input_ids=batch, labels=batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            running += loss.detach()
            step += 1
            if step % args.log_every == 0:
                mean = running.item() / args.log_every
                print(f"step {step} loss {mean:.4f} {(time.time() - start) / step:.3f} s/step")
                running.zero_()
            if step >= args.steps:
                break
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
'''

TRAINER = """\
from datasets import load_dataset
from transformers import (
    AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments,
)

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", dtype="bfloat16", attn_implementation="sdpa")
data = load_dataset("json", data_files="train.jsonl", split="train")
data = data.map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=2048), batched=True,
                remove_columns=data.column_names, num_proc=8)
arguments = TrainingArguments(
    output_dir="out", per_device_train_batch_size=8, gradient_accumulation_steps=2, learning_rate=1e-5, bf16=True,
    gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": False}, logging_steps=10,
    dataloader_num_workers=4, save_strategy="epoch", num_train_epochs=1, seed=42, report_to="none",
    logging_nan_inf_filter=False, optim="adamw_torch_fused", tf32=True,
)
trainer = Trainer(model=model, args=arguments, train_dataset=data,
                  data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
trainer.train()
trainer.save_model("out/final")
"""

TRL = """\
import torch
from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

config = SFTConfig(
    output_dir="sft", packing=True, max_length=4096, per_device_train_batch_size=4, gradient_accumulation_steps=4,
    bf16=True, learning_rate=2e-4, logging_steps=25, num_train_epochs=2, model_init_kwargs={"dtype": torch.bfloat16},
)
peft_config = LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, target_modules="all-linear", task_type="CAUSAL_LM")
trainer = SFTTrainer(
    model="meta-llama/Llama-3.1-8B", args=config, train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    peft_config=peft_config,
)
trainer.train()
metrics = trainer.evaluate()
print(metrics)
"""

LIGHTNING = """\
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader


class Classifier(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 10))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(x)
        self.log("val_acc", (logits.argmax(-1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    L.seed_everything(7)
    loader = DataLoader(train_set, batch_size=256, shuffle=True, num_workers=8, persistent_workers=True)
    val = DataLoader(val_set, batch_size=512, num_workers=8)
    trainer = L.Trainer(max_epochs=5, precision="bf16-mixed", accelerator="gpu", devices=1)
    trainer.fit(Classifier(), loader, val)
"""

ACCELERATE = """\
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from tqdm.auto import tqdm
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, get_scheduler

MAX = 128


def main(args):
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2, log_with="tensorboard")
    set_seed(args.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    with accelerator.main_process_first():
        data = raw.map(lambda e: tokenizer(e["one"], e["two"], truncation=True, max_length=MAX), batched=True)
    collate = DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8)
    train = DataLoader(data["train"], shuffle=True, collate_fn=collate, batch_size=32)
    test = DataLoader(data["validation"], collate_fn=collate, batch_size=64)
    model = AutoModelForSequenceClassification.from_pretrained(args.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = get_scheduler("linear", optimizer, 0, len(train) * args.epochs)
    model, optimizer, train, test, schedule = accelerator.prepare(model, optimizer, train, test, schedule)
    progress = tqdm(range(len(train) * args.epochs), disable=not accelerator.is_local_main_process)
    for epoch in range(args.epochs):
        model.train()
        for step, batch in enumerate(train):
            with accelerator.accumulate(model):
                outputs = model(**batch)
                loss = outputs.loss
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            progress.update(1)
            if step % 50 == 0:
                accelerator.log({"loss": loss.item()}, step=step)
        model.eval()
        for batch in test:
            with torch.no_grad():
                outputs = model(**batch)
            predictions, references = accelerator.gather_for_metrics((outputs.logits.argmax(-1), batch["labels"]))
            metric.add_batch(predictions=predictions, references=references)
        accelerator.print(f"epoch {epoch}:", metric.compute())
    unwrapped = accelerator.unwrap_model(model)
    unwrapped.save_pretrained(args.out, save_function=accelerator.save)
"""

GAN = """\
import torch
from torch import nn


def train_step(real, generator, critic, opt_g, opt_c, device):
    noise = torch.randn(real.size(0), 128, device=device)
    fake = generator(noise)
    loss_c = critic(fake.detach()).mean() - critic(real).mean()
    opt_c.zero_grad(set_to_none=True)
    loss_c.backward()
    opt_c.step()
    loss_g = -critic(fake).mean()
    opt_g.zero_grad(set_to_none=True)
    loss_g.backward()
    opt_g.step()
    return loss_c.detach(), loss_g.detach()


def fit(loader, generator, critic, opt_g, opt_c, device, epochs):
    history = []
    for epoch in range(epochs):
        sums = torch.zeros(2, device=device)
        for real, _ in loader:
            real = real.to(device, non_blocking=True)
            sums += torch.stack(train_step(real, generator, critic, opt_g, opt_c, device))
        history.append((sums / len(loader)).tolist())
        print(epoch, history[-1])
    return history
"""

LAUNCH = """\
#!/bin/bash
#SBATCH --nodes=1 --gres=gpu:1
set -euo pipefail
source .venv/bin/activate
export HF_HOME=/data/hf
export OMP_NUM_THREADS=8
export PYTORCH_ALLOC_CONF=expandable_segments:True
# export CUDA_LAUNCH_BLOCKING=1
torchrun --nproc_per_node=1 --master_port 29501 train.py --config configs/base.yaml --num_processes 8
"""

YAML = """\
compute_environment: LOCAL_MACHINE
distributed_type: 'NO'
downcast_bf16: 'no'
machine_rank: 0
mixed_precision: bf16
num_machines: 1
num_processes: 1
use_cpu: false
"""

RULES = [rule for rule in load_rules() if rule.family == "script"]


@pytest.mark.parametrize(
    ("source", "language"),
    [(BARE, "python"), (TRAINER, "python"), (TRL, "python"), (LIGHTNING, "python"), (ACCELERATE, "python"),
     (GAN, "python"), (LOOP, "python"), (LAUNCH, "shell"), (YAML, "yaml")],
    ids=["bare", "trainer", "trl", "lightning", "accelerate", "gan", "loop", "shell", "yaml"],
)  # fmt: skip
def test_nothing_is_found_in_a_clean_script(source: str, language: str) -> None:
    diagnosis = diagnose(facts(source, language), no_target(), RULES)
    assert diagnosis.crashed == ()
    assert [finding.message for finding in diagnosis.at_least(Severity.NOTE)] == []


@pytest.mark.parametrize("source", ["", "\x00", "def f(:", "(" * 5000, "x = 1\n" * 50_000, "é = '\\ud800'"])
def test_no_rule_breaks_on_a_strange_script(source: str) -> None:
    diagnosis = diagnose(facts(source), no_target(), RULES)
    assert diagnosis.crashed == ()
    assert diagnosis.findings == ()
