"""NVIDIA GPUs by the names of nvidia-smi, NVML, torch and people, and by PCI id: what each can run, and how fast.

The table is ``gpus.toml``; how names are matched stands at its head. A GPU is one row there, and nothing anywhere else.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property

from envdoctor.knowledge.table import Block, Table, bundled_table
from envdoctor.values.frozen import frozen

Words = tuple[str, ...]

BOOST = 1.15
"""How far a GeForce card may exceed its peak: it is rated at a boost clock that the cards sold outrun. An RTX 4090
reached 178.8 of 165.2 TFLOP/s (github.com/mag-/gpu_benchmark)."""


@frozen
class GpuModel:
    """A GPU: one row, in the units that the table's head names; None where a figure is not known."""

    name: str
    capability: str
    generation: str
    source: str = ""
    aliases: tuple[str, ...] = ()
    chip: str | None = None
    form: str | None = None
    pci: tuple[str, ...] = ()
    sms: int | None = None
    memory: float | None = None
    bandwidth: float | None = None
    power: float | None = None
    link: str | None = None
    nvlink: float | None = None
    peak: Mapping[str, float] = field(default_factory=dict)
    achievable: float | None = None

    @property
    def printed(self) -> str:
        """The name as NVML prints it."""
        return self.name if self.name.startswith("Tesla ") else f"NVIDIA {self.name}"

    def peak_flops(self, precision: str) -> float | None:
        """Dense peak in FLOP/s, or None where the chip has no unit for that format, or nobody published it."""
        value = self.peak.get(precision)
        return None if value is None else value * 1e12

    def ceiling(self, precision: str) -> float | None:
        """What no such card exceeds, in FLOP/s: its peak, for GeForce cards with what their clocks may add."""
        peak = self.peak_flops(precision)
        return peak * BOOST if peak and self.name.startswith("GeForce ") else peak

    @property
    def spellings(self) -> tuple[str, ...]:
        return self.name, *self.aliases

    @property
    def peak_source(self) -> str:
        """Where the rated figures are from."""
        return self.source.partition("; achievable: ")[0]

    @property
    def achievable_source(self) -> str:
        """Who measured ``achievable``."""
        return self.source.partition("achievable: ")[2] or self.source

    def achievable_share(self) -> float | None:
        """Achievable part of the bf16 peak (0.80: 80 %)."""
        rated = self.peak.get("bfloat16")
        return self.achievable / rated if self.achievable and rated else None


@frozen
class ChipFamily:
    """Models of one chip of which only the capability is kept."""

    chip: str
    capability: str
    generation: str
    names: tuple[str, ...]
    pci: tuple[str, ...] = ()


class Models:
    """The table, indexed by the words of every spelling and by PCI id; a row is parsed when it is found."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._read: dict[tuple[Block, str], GpuModel] = {}

    @cached_property
    def _spelled(self) -> Mapping[Words, tuple[Block, str]]:
        return {
            self.words(text): (block, text)
            for block in self._table.blocks
            for text in block.texts("name", "aliases", "names")
        }

    @cached_property
    def _longest(self) -> int:
        """Words of the longest spelling: no more of a text need be held against it, however long it is."""
        return max(map(len, self._spelled))

    @cached_property
    def _ids(self) -> Mapping[str, Block]:
        return {number: block for block in self._table.blocks for number in block.texts("pci")}

    @cached_property
    def _left_out(self) -> frozenset[str]:
        return frozenset(word.upper() for word in self._table.head["left_out"])

    @cached_property
    def _another(self) -> frozenset[str]:
        return frozenset(word.upper() for word in self._table.head["another"])

    def words(self, name: str) -> Words:
        """The words of a spelling in capitals, with "RTX3090" and "1080Ti" taken apart as people and vendors do not."""
        text = name.upper()
        if any(map(str.isdigit, text)):
            text = _JOINED.sub(r"\1 ", text)
        return tuple(word for word in _WORD.findall(text) if word not in self._left_out)

    def identify(self, name: str) -> GpuModel | None:
        """The model behind a GPU's name, or None."""
        return next(self._matches(self.words(name)), (None, ()))[0]

    def board(self, name: str) -> GpuModel | None:
        """The model whose *figures* hold for a GPU of this name: not for a part of it (MIG, a vGPU's profile), nor for
        the laptop's or another namesake that has no row."""
        model, others = next(self._matches(self.words(name)), (None, ()))
        return None if self._is_another(others) else model

    def holds(self, name: str, part: str) -> bool:
        """Do the words of ``part`` stand in ``name``, with nothing beside them that makes another card of it?"""
        words, wanted = self.words(name), self.words(part)
        return any(
            words[start : start + len(wanted)] == wanted
            and not self._is_another(words[:start] + words[start + len(wanted) :])
            for start in range(len(words) - len(wanted) + 1)
            if wanted
        )

    def _is_another(self, others: Words) -> bool:
        return any(word in self._another or _PROFILE.fullmatch(word) for word in others)

    def _matches(self, words: Words) -> Iterator[tuple[GpuModel, Words]]:
        """Models whose words stand side by side in these, most words first; and the words that are left over."""
        for length in range(min(len(words), self._longest), 0, -1):
            for start in range(len(words) - length + 1):
                if (found := self._spelled.get(words[start : start + length])) is not None:
                    yield self._model(*found), words[:start] + words[start + length :]

    def on_bus(self, devices: Iterable[str]) -> tuple[GpuModel, ...]:
        """The known NVIDIA GPUs among ``"0000:01:00.0 10de:2330"`` entries; with ``10de:14a9`` after it, the
        subsystem's, the very board where one device id stands for several."""
        found = []
        for device in devices:
            match = _PCI.search(device.lower())
            block = match and (self._ids.get(match[0].partition(":")[2].replace(" ", ":")) or self._ids.get(match[1]))
            if block:
                found.append(self._model(block, ""))
        return tuple(found)

    def every(self) -> tuple[GpuModel, ...]:
        """All rows of their own, newest first."""
        return tuple(self._model(block, "") for block in self._table.blocks if block.kind == "gpu")

    def _model(self, block: Block, spelled: str) -> GpuModel:
        key = (block, spelled if block.kind == "family" else "")
        if key not in self._read:
            if block.kind == "gpu":
                self._read[key] = self._table.parse(block, GpuModel)
            else:
                family = self._table.parse(block, ChipFamily)
                self._read[key] = GpuModel(
                    name=spelled or f"{family.generation} GPU ({family.chip})",
                    capability=family.capability,
                    generation=family.generation,
                    chip=family.chip,
                )
        return self._read[key]


_JOINED = re.compile(r"\b([RG]TX?)(?=\d)|(?<=\d)(?=(?:TI|SUPER|LAPTOP|D)\b)")
_WORD = re.compile(r"[A-Z0-9]+")
_PROFILE = re.compile(r"\d+[ABCQ]")
_PCI = re.compile(r"\b10de:([0-9a-f]{4})\b(?: [0-9a-f]{4}:[0-9a-f]{4}\b)?")


@functools.cache
def models() -> Models:
    """The bundled table, read when a GPU is first asked about."""
    return Models(bundled_table("gpus"))


def identify(name: str) -> GpuModel | None:
    """The model behind a GPU's name, or None.

    >>> identify("NVIDIA GeForce RTX 3060 Laptop GPU").capability
    '8.6'
    """
    return models().identify(name)


def board(name: str) -> GpuModel | None:
    """The model whose figures (peak, bandwidth, memory) hold for a GPU of this name, or None."""
    return models().board(name)


def on_bus(devices: Iterable[str]) -> tuple[GpuModel, ...]:
    """The known models among the NVIDIA devices of a PCI bus."""
    return models().on_bus(devices)


def capability_of(name: str) -> str | None:
    """The compute capability of a GPU named so, or None."""
    model = identify(name)
    return None if model is None else model.capability
