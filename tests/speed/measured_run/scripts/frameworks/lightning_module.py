"""Lightning's Trainer with a LightningModule, and a callback that prints every step."""
# mypy: ignore-errors

import sys
from typing import Any

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))

    def training_step(self, batch: Any, index: int) -> Any:
        inputs, labels = batch
        return nn.functional.cross_entropy(self.layers(inputs), labels)

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Printer(lightning.Callback):
    def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
        print(f"step {trainer.global_step}", flush=True)


def main() -> None:
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(4000, 784), torch.randint(0, 10, (4000,)))
    trainer = lightning.Trainer(
        max_steps=250, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=sys.argv[1], callbacks=[Printer()],
    )  # fmt: skip
    trainer.fit(Classifier(), DataLoader(data, batch_size=64, shuffle=True))


if __name__ == "__main__":
    main()
