"""What a rule is and what it yields: one pure function per file, whose docstring is its documentation."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeVar

from envdoctor.facts import Facts, Known, Unavailable
from envdoctor.frozen import dataclass

if TYPE_CHECKING:
    from envdoctor.target import Target

Who = Literal["you", "image", "host"]

KINDS = frozenset(
    """
    driver-too-old driver-library-mismatch torch-cpu-only no-kernels-for-gpu cuda-init-failed gpu-not-visible
    cudnn-mismatch cuda-libraries-mixed nvcc-mismatch torch-pair-mismatch triton-mismatch extension-abi-mismatch
    extension-binary-missing numpy-abi package-conflict python-unsupported known-broken-version known-slow-version
    debug-variable tf32-api-mixed shm-too-small file-limit thread-count slow-interconnect config-mismatch
    version-drift package-missing package-damaged torch-import flag-differs no-effect gpu-limited gpu-unhealthy
    host-limited script-slow script-wrong interpreter not-judged
    """.split()
)
"""Causes that ``Finding.kind`` may name. The first six lines are shared with reports seen in the wild."""


class Severity(enum.IntEnum):
    """ERROR: training fails or gives wrong results. WARNING: it is slower than it should be. NOTE: worth knowing."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        return self.name.lower()


FAIL_ON: Mapping[str, Severity | None] = {**{severity.word: severity for severity in Severity}, "never": None}
"""``--fail-on`` -> the severity from which on a check fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Repair: install exactly this version (it is in the target's stack)."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFlag:
    """Repair: let the startup hook set this row of the flags table."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariable:
    """Repair: let the startup hook set an environment variable before torch is imported; None removes it."""

    name: str
    value: str | None


Repair = Pin | SetFlag | SetVariable


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What a person can do: a sentence, and commands that can be pasted."""

    text: str
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be. ``rule`` and ``severity`` are filled in from the rule when left out."""

    kind: str
    subject: str
    actual: str
    expected: str
    message: str
    remedy: Remedy
    who: Who = "you"
    severity: Severity | None = None
    rule: str = ""
    symptom_of: str | None = None  # identity ("rule subject") of the finding that causes this one
    explains: tuple[str, ...] = ()  # rules, families ("torch/") or identities whose findings follow from this one
    root_rank: int = 0  # among errors: the higher, the nearer to the root
    source: str = ""
    repair: tuple[Repair, ...] = ()

    @property
    def identity(self) -> str:
        return f"{self.rule} {self.subject}"


class Skip(Exception):
    """Raised inside a rule: it cannot be judged, and here is why."""


Known_ = TypeVar("Known_")


def need(section: Known[Known_]) -> Known_:
    """The section's value; a rule that needs an absent one is skipped with the section's own reason."""
    if isinstance(section, Unavailable):
        raise Skip(section.reason)
    return section


def known(section: Known[Known_]) -> Known_ | None:
    """The section's value, or None, for a rule that can do without."""
    return None if isinstance(section, Unavailable) else section


Judge = Callable[[Facts, "Target"], Iterator[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A judge with its identity (``family/name`` from its file), severity and documentation."""

    name: str
    severity: Severity
    judge: Judge
    doc: str = field(repr=False)

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    @property
    def title(self) -> str:
        return self.doc.strip().partition("\n")[0].rstrip(".")

    @property
    def sections(self) -> Mapping[str, str]:
        """The docstring's Why, Fix and Source paragraphs."""
        return _sections(self.doc)

    def __call__(self, facts: Facts, target: Target) -> Iterator[Finding]:
        return self.judge(facts, target)


def rule(severity: Severity) -> Callable[[Judge], Rule]:
    """Make a rule of a judge. It returns a value and registers nothing: rules are found by their files."""

    def make(judge: Judge) -> Rule:
        family, _, name = judge.__module__.removeprefix("envdoctor.rules.").rpartition(".")
        name = f"{family or 'user'}/{name.replace('_', '-')}"
        return Rule(name=name, severity=severity, judge=judge, doc=judge.__doc__ or "")

    return make


@functools.cache
def _sections(doc: str) -> Mapping[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in doc.splitlines()[1:]:
        text = line.strip()
        head, colon, rest = text.partition(":")
        if colon and head in ("Why", "Fix", "Source"):
            current = found.setdefault(head, [])
            text = rest.strip()
        if current is not None and text:
            current.append(text)
    return {head: " ".join(lines) for head, lines in found.items()}
