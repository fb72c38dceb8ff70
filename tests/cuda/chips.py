"""The chips that are pretended, by NVIDIA's data sheets (T4, A100 80GB SXM, RTX 4090, H100 SXM, B200, RTX 5090) and the
CUDA C++ Programming Guide's table of technical specifications by compute capability.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """memory: bytes that a process can have, as CUDA reports it. shared: bytes of shared memory that a block can have;
    threads: that a multiprocessor can hold.
    """

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory: int
    shared: int
    threads: int


CHIPS = {
    "T4": Chip("Tesla T4", (7, 5), 40, 15 << 30, 64 << 10, 1024),
    "A100": Chip("NVIDIA A100-SXM4-80GB", (8, 0), 108, 79 << 30, 163 << 10, 2048),
    "RTX 4090": Chip("NVIDIA GeForce RTX 4090", (8, 9), 128, 23 << 30, 99 << 10, 1536),
    "H100": Chip("NVIDIA H100 80GB HBM3", (9, 0), 132, 79 << 30, 227 << 10, 2048),
    "B200": Chip("NVIDIA B200", (10, 0), 148, 178 << 30, 227 << 10, 2048),
    "RTX 5090": Chip("NVIDIA GeForce RTX 5090", (12, 0), 170, 31 << 30, 99 << 10, 1536),
}
