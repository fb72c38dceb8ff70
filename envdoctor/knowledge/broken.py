"""What is known of single releases, and of pairs: defects that break, regressions that slow down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Literal

from envdoctor.knowledge import versions
from envdoctor.knowledge.requirements import Wanted, read
from envdoctor.knowledge.table import Block, Rows, bundled_table
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

Kind = Literal["broken", "slow", "pair"]
Word = Literal["note", "warning", "error"]


@frozen
class Where:
    """What must hold as well."""

    beside: tuple[str, ...] = ()
    capability: str | None = None
    build: str | None = None  # "cuda", "cuda<12.9", "rocm", "xpu"
    os: Literal["windows"] | None = None
    python: str | None = None
    cudnn: str | None = None
    needs: str | None = None  # what a run must use: only a report can tell, by the symptom


@frozen
class KnownRelease:
    """One known defect of ``package`` in ``versions``; or, with the first of ``where.beside``, of the two together."""

    package: str
    versions: str
    what: str
    instead: str
    severity: Word
    source: str
    kind: Kind = "broken"
    otherwise: Literal["note", "none"] = "note"
    where: Where = field(default_factory=Where)
    symptom: str | None = None
    near: str | None = None
    also: str | None = None

    @property
    def advice(self) -> str:
        """What to install, for whom it is too new what instead, and what goes with it."""
        near = f", or stay near: {self.near}" if self.near else ""
        return f"Install {self.instead}{near}." + (f" {self.also[0].upper()}{self.also[1:]}." if self.also else "")

    @cached_property
    def said(self) -> Pattern | None:
        """The symptom as a pattern."""
        return None if self.symptom is None else Pattern(self.symptom, re.IGNORECASE)

    @property
    def beside(self) -> tuple[Wanted, ...]:
        """The packages that must be installed with it."""
        return tuple(wanted for line in self.where.beside if (wanted := read(line)) is not None)

    def on_gpu(self, capability: str) -> bool:
        """Does it concern GPUs of this capability?"""
        return self.where.capability is None or versions.within(capability, self.where.capability) is True


RELEASES = Rows(bundled_table("broken"), "release", KnownRelease, by="package")


def releases(kind: Kind, present: Mapping[str, str]) -> Iterator[KnownRelease]:
    """The rows of a kind whose package is here in such a version, in the table's order.

    ``present``: version by package, as installed; the version without its local label counts, and nightlies do too.
    """

    def concerned(block: Block) -> bool:
        (package,), (specifier,) = block.texts("package"), block.texts("versions")
        said = block.texts("kind") or ("broken",)
        return said == (kind,) and versions.within(versions.public(present[package]), specifier) is True

    return RELEASES.among(present, concerned)
