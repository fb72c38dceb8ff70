"""The lines to write: in the words of whatever drives the user's loop."""

from __future__ import annotations

import math

from envdoctor.speed.measured_run.record import Loader, Record

EPOCHS_WORTH_KEEPING = 1.5
"""Passes over the data from which on making every example once saves work."""
MOST_KEPT = 100_000
"""Examples that are still called few enough to be kept in memory: 100,000 of 1,000 tokens are some 2 GB of tensors."""


def workers_needed(share: float, workers: int, cores: int, *, on_cpu: bool = False) -> int:
    """Workers that hide the waiting: those busy now, and as many more as the wait is longer than the computation.

    Beside a GPU one core is left for the training thread. Where the training itself computes on the CPU and waits for
    most of its time, all cores are used: the training thread is idle anyway. 2 at least where there are cores for them.
    """
    computing = max(1.0 - share, 0.01)
    needed = math.ceil(share / computing) + 1 if workers == 0 else math.ceil(workers / computing)
    room = cores if on_cpu and share > 0.5 else cores - 1
    return max(min(needed, room), 1 if cores <= 2 else 2, workers if workers < cores else 1)


def epochs(record: Record, loader: Loader) -> float:
    """Passes over the data so far, all ranks together; 0 where the loader does not say how long it is."""
    if not loader.length or not loader.batch_size:
        return 0.0
    return record.waits * loader.batch_size * record.world / loader.length


def seen_again(record: Record, loader: Loader) -> bool:
    """Is every example made several times, and are they few enough to be kept?"""
    return epochs(record, loader) >= EPOCHS_WORTH_KEEPING and (loader.length or MOST_KEPT) < MOST_KEPT


def keeping_line() -> str:
    return "dataset = [dataset[number] for number in range(len(dataset))]"


def loader_line(loader: Loader, workers: int, device: str, driver: str = "") -> str:
    """The loader with more workers, keeping what the present one says of itself."""
    ahead = max(loader.prefetch_factor or 2, 2)
    if driver in ("transformers", "trl"):
        arguments = "SFTConfig" if driver == "trl" else "TrainingArguments"
        return (
            f"{arguments}(..., dataloader_num_workers={workers}, dataloader_persistent_workers=True, "
            f"dataloader_prefetch_factor={ahead})"
        )
    options = [f"batch_size={loader.batch_size}"] if loader.batch_size is not None else []
    if loader.shuffle:
        options.append("shuffle=True")
    elif loader.sampler not in ("", "SequentialSampler", "_InfiniteConstantSampler", "NoneType"):
        options.append("sampler=sampler")
    if loader.drop_last:
        options.append("drop_last=True")
    if loader.collate not in ("", "default_collate", "default_convert"):
        name = loader.collate
        options.append(f"collate_fn={name if name.isidentifier() else 'collate'}")
    options.append(f"num_workers={workers}")
    if device == "cuda":
        options.append("pin_memory=True")
    options += ["persistent_workers=True", f"prefetch_factor={ahead}"]
    return f"DataLoader(dataset, {', '.join(options)})"


def padding_lines(driver: str) -> tuple[str, ...]:
    """Against padding to the longest of a batch of very different lengths."""
    if driver == "trl":
        return ("SFTConfig(..., packing=True)",)
    if driver == "transformers":
        return (
            'TrainingArguments(..., train_sampling_strategy="group_by_length")  # transformers 4: group_by_length=True',
        )
    return ("rows.sort(key=len)  # then batches of neighbours: DataLoader(rows, batch_size=..., shuffle=False)",)


def fixed_width_lines(driver: str) -> tuple[str, ...]:
    """Against padding every batch to one fixed length."""
    if driver == "trl":
        return ("SFTConfig(..., packing=True)",)
    return (
        'tokenizer(texts, truncation=True)  # without padding="max_length"',
        "collate_fn=DataCollatorWithPadding(tokenizer)  # pads to the longest of the batch",
    )


_HALF = {
    "transformers": "TrainingArguments(..., {short}=True)",
    "trl": "SFTConfig(..., {short}=True)",
    "lightning": 'Trainer(..., precision="{lightning}-mixed")',
}


def number_format_lines(driver: str, half: str) -> tuple[str, ...]:
    """Products in ``half`` (bfloat16, or float16 where a card has no unit for that); else TF32, where it has that."""
    own = f'with torch.autocast("cuda", dtype=torch.{half}):  # around the forward pass and the loss'
    if half == "float16":
        own += "; with torch.amp.GradScaler()"
    short, lightning = ("bf16", "bf16") if half == "bfloat16" else ("fp16", "16")
    line = _HALF.get(driver, own).format(short=short, lightning=lightning)
    return (line,) if half == "float16" else (line, 'torch.set_float32_matmul_precision("high")  # or only this: TF32')


def fused_lines(driver: str, optimizer: str) -> tuple[str, ...]:
    """The fused form of an optimizer of torch's own."""
    if driver in ("transformers", "trl") and optimizer == "AdamW":
        arguments = "SFTConfig" if driver == "trl" else "TrainingArguments"
        return (f'{arguments}(..., optim="adamw_torch_fused")',)
    return (f"torch.optim.{optimizer}(..., fused=True)",)
