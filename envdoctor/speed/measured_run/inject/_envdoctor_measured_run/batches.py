"""What is in the batches: examples, and how many of their token slots are padding. A look at a few of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIRST = 32  # batches looked at one after the other; then one in EVERY
EVERY = 50
LARGEST = 1 << 22  # elements of a mask that are still counted: a millisecond


class Batches:
    """Sums over the batches that were looked at."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._seen = 0
        self._works = True
        self._sums = {"looked": 0, "examples": 0, "slots": 0, "real": 0, "trained": 0}
        self._widths: set[int] = set()
        self._longest = 0

    def look(self, batch: Any) -> None:
        """Count a batch of any make; one that cannot be counted ends the counting, not the measuring."""
        self._seen += 1
        if not self._works or (self._seen > FIRST and self._seen % EVERY):
            return
        try:
            self._count(batch)
        except Exception:  # noqa: BLE001 - batches are the user's own classes
            self._works = False

    def _count(self, batch: Any) -> None:
        self._sums["looked"] += 1
        fields = batch if hasattr(batch, "keys") and hasattr(batch, "__getitem__") else {}
        ids = self._tensor(fields, "input_ids")
        first = ids if ids is not None else self._first_tensor(batch)
        if first is not None and first.dim():
            self._sums["examples"] += int(first.shape[0])
        if ids is None or ids.numel() > LARGEST:
            return
        mask, labels = self._tensor(fields, "attention_mask"), self._tensor(fields, "labels")
        if mask is None or mask.shape != ids.shape:
            return
        self._sums["slots"] += int(ids.numel())
        rows = (mask != 0).reshape(-1, mask.shape[-1]).sum(-1)
        self._sums["real"] += int(rows.sum())
        self._longest = max(self._longest, int(rows.max()))
        self._widths.add(int(mask.shape[-1]))
        if labels is not None and labels.shape == ids.shape:
            self._sums["trained"] += int((labels != -100).sum())

    def found(self) -> dict[str, int]:
        """Sums over the batches looked at; the narrowest and the widest batch, and the longest row without padding."""
        narrowest, widest = min(self._widths, default=0), max(self._widths, default=0)
        return {**self._sums, "narrowest": narrowest, "widest": widest, "longest": self._longest}

    def _tensor(self, fields: Any, name: str) -> Any:
        """The field as a tensor in the host's memory; looking at one on a GPU would wait for it."""
        if name not in fields.keys():  # noqa: SIM118 - a batch need not be a mapping
            return None
        value = fields[name]
        return value if isinstance(value, self._torch.Tensor) and value.device.type == "cpu" else None

    def _first_tensor(self, batch: Any) -> Any:
        if isinstance(batch, self._torch.Tensor):
            return batch
        values = list(batch.values()) if hasattr(batch, "keys") else batch
        if isinstance(values, (list, tuple)):
            return next((value for value in values if isinstance(value, self._torch.Tensor)), None)
        return None
