"""The CUDA toolkit that compiles: which one a text shows, which gcc its nvcc takes, which GPUs it knows."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from envdoctor.facts.model import Facts
from envdoctor.facts.need import known
from envdoctor.knowledge.numbers import Numbers, line, numbers
from envdoctor.knowledge.table import bundled_table, columns
from envdoctor.values.pattern import Pattern

_PATH = Pattern(
    r"[/\\](?:cuda-|CUDA[/\\]{1,2}v)(?P<version>\d{1,2}\.\d{1,2})(?:\.\d{1,3})?[/\\]{1,2}bin[/\\]{1,2}nvcc\b"
)
"""nvcc, by the folder that NVIDIA's installers put it into."""


def toolkit_of(facts: Facts) -> str | None:
    """The toolkit that the error lines show by the path of nvcc, where they show one; else the one that nvcc names."""
    shown = {found["version"] for text in facts.messages for found in _PATH.finditer(text)}
    if len(shown) == 1:
        return shown.pop()
    host = known(facts.host)
    return line(host.nvcc) if host and not shown else None


def newest_gcc(cuda: str | None) -> int | None:
    """The newest gcc that nvcc of this CUDA takes; None for one that is not known, or older than the table."""
    wanted = numbers(cuda)[:2]
    found = [gcc for first, gcc in _hosts() if wanted and first <= wanted]
    return found[-1] if found else None


def span_of(architecture: str) -> tuple[str, str] | None:
    """The first and the last toolkit that know ``compute_XX``, "" where there is no such end."""
    return _architectures().get(architecture.rstrip("af"))


@functools.cache
def _hosts() -> tuple[tuple[Numbers, int], ...]:
    return tuple((numbers(cuda), int(gcc)) for cuda, gcc in columns(bundled_table("toolkits"), "hosts"))


@functools.cache
def _architectures() -> Mapping[str, tuple[str, str]]:
    rows = columns(bundled_table("toolkits"), "architectures")
    return {number: (first, last) for number, first, last in rows}
