"""Checkpoints of sharded weights: every process writes its own shards, and no weight is whole anywhere.

The others put their files into a folder beside the checkpoint in the making; the first process takes them over, and
then goes on as with any checkpoint: sums, manifest, one rename. So it is whole or absent here, too. All processes must
see one file system. (torch.distributed.checkpoint writes shards as well, with an index that is a pickle; here nothing
that is read again is one, and a run goes on with as many processes as it had in any case.)
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.data import whole
from trainer.errors import TrainerError
from trainer.state import Tensors

PATIENCE = 3600.0  # seconds: what one process needs longer than the first to write its part
DONE = "done.json"


@dataclass(frozen=True)
class Part:
    """One process's part of a checkpoint. token: names this very attempt, the same in all processes."""

    rank: int
    world: int
    token: str

    def folder(self, parent: Path, name: str, rank: int) -> Path:
        """Where a process puts its part of the checkpoint `name`."""
        return parent / f"{name}.part-{self.token}-{rank:05d}"

    def stem(self, stem: str) -> str:
        """The file stem of this process's tensors."""
        return f"{stem}.{self.rank:05d}"

    def put(self, parent: Path, name: str, tensors: Tensors) -> None:
        """Write this process's part. OSError when that cannot be."""
        with whole.new_folder(self.folder(parent, name, self.rank)) as folder:
            files = write(folder, {self.stem(stem): group for stem, group in tensors.items()})
            (folder / DONE).write_text(json.dumps(files), encoding="utf-8")

    def take(self, parent: Path, name: str, into: Path | None) -> dict[str, dict[str, Any]]:
        """The first process: move the other parts into the folder `into` as they come (None: remove them); what a
        manifest says of them.

        TrainerError when one does not come.
        """
        found: dict[str, dict[str, Any]] = {}
        until = time.monotonic() + PATIENCE
        for rank in range(1, self.world):
            folder = self.folder(parent, name, rank)
            while not (folder / DONE).is_file():
                if time.monotonic() > until:
                    raise TrainerError(
                        "checkpoint-not-written", f"{folder}: process {rank} has not written its part",
                        "Choose an output on a file system that all processes share.",
                    )  # fmt: skip
                time.sleep(0.05)
            files = json.loads((folder / DONE).read_text(encoding="utf-8"))
            for file in files if into else ():
                os.rename(folder / file, into / file)
            shutil.rmtree(folder, ignore_errors=True)
            found.update(files)
        return found


def write(folder: Path, tensors: Tensors) -> dict[str, dict[str, Any]]:
    """One safetensors file a group; what a manifest says of each."""
    from safetensors.torch import save_file

    found = {}
    for stem, group in tensors.items():
        path = folder / (stem + ".safetensors")
        save_file({name: tensor.contiguous() for name, tensor in group.items()}, path)
        found[path.name] = {"size": path.stat().st_size, "sha256": whole.sha256(path)}
    return found


def mine(files: list[Path], rank: int) -> dict[str, Path]:
    """By stem, the files of a checkpoint that a process reads: whole ones, and those of its own part."""
    found = {}
    for path in files:
        stem, _, number = path.stem.partition(".")
        if not number or int(number) == rank:
            found[stem] = path
    return found
