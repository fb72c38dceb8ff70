"""What to do when a step does not fit into memory."""

from __future__ import annotations

import torch

OutOfMemory = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)  # its name from torch 2.5 on
