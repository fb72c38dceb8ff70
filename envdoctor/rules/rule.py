"""What a rule is: one pure function per file, whose docstring is its documentation.

A rule imports from here whatever every rule needs, and from elsewhere only what it knows of its own matter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import field
from re import Match
from typing import Literal, TypeAlias, cast

from envdoctor.facts.model import (
    DamagedFile,
    Distribution,
    Driver,
    Facts,
    Gpu,
    Gpus,
    Interpreter,
    Packages,
    Torch,
    Unavailable,
)
from envdoctor.facts.need import Skip, error_lines, known, need
from envdoctor.knowledge import messages, versions
from envdoctor.knowledge.messages import anywhere
from envdoctor.locks.target import Target
from envdoctor.rules import remedies
from envdoctor.rules.causes import WITHOUT_CUDA, Kind, kind_of
from envdoctor.rules.finding import (
    ERROR,
    NOTE,
    WARNING,
    Finding,
    Findings,
    Pin,
    Remedy,
    Row,
    SetFlag,
    SetVariable,
    Severity,
    Who,
    finding,
)
from envdoctor.rules.hardware import likely_capabilities, need_gpu, on_cpu, trains_on_gpu
from envdoctor.values import shell
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

__all__ = [
    "ERROR",
    "NOTE",
    "WARNING",
    "WITHOUT_CUDA",
    "DamagedFile",
    "Distribution",
    "Driver",
    "Facts",
    "Finding",
    "Findings",
    "Gpu",
    "Gpus",
    "Interpreter",
    "Kind",
    "Match",
    "Packages",
    "Pattern",
    "Pin",
    "Remedy",
    "Row",
    "Rule",
    "SetFlag",
    "SetVariable",
    "Severity",
    "Skip",
    "Target",
    "Torch",
    "Unavailable",
    "Who",
    "anywhere",
    "error_lines",
    "finding",
    "kind_of",
    "known",
    "likely_capabilities",
    "messages",
    "need",
    "need_gpu",
    "on_cpu",
    "remedies",
    "rule",
    "shell",
    "trains_on_gpu",
    "versions",
]

Judge: TypeAlias = Callable[[Facts, Target], Findings]


@frozen
class Rule:
    """A judge with its identity (``family/name`` from its file), severity and documentation.

    ``kind``, ``subject``, ``expected``, ``who`` and ``explains`` hold for each finding that does not say otherwise.
    """

    name: str
    severity: Severity
    judge: Judge
    doc: str = field(repr=False)
    kind: Kind | Literal[""] = ""
    subject: str = ""
    expected: str = ""
    who: Who = "you"
    explains: tuple[str, ...] = ()

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

    def __call__(self, facts: Facts, target: Target) -> Findings:
        return self.judge(facts, target)


def rule(
    severity: Severity,
    *,
    kind: Kind | Literal[""] = "",
    subject: str = "",
    expected: str = "",
    who: Who = "you",
    explains: tuple[str, ...] = (),
    for_gpu: bool = False,
) -> Callable[[Judge | Callable[[Facts], Findings]], Rule]:
    """Make a rule of a judge, which takes the facts, and the target where it looks at that.

    What is given here is said of every finding that leaves it out. ``for_gpu``: it looks at nothing where the target
    trains on the CPU. The rule is a value, and nothing is registered:
    rules are found by their files.
    """

    def make(judge: Judge | Callable[[Facts], Findings]) -> Rule:
        family, _, name = judge.__module__.removeprefix("envdoctor.rules.").rpartition(".")
        return Rule(
            name=f"{family or 'user'}/{name.replace('_', '-')}",
            severity=severity,
            judge=_on_gpu_targets(_of_both(judge)) if for_gpu else _of_both(judge),
            doc=judge.__doc__ or "",
            kind=kind,
            subject=subject,
            expected=expected,
            who=who,
            explains=explains,
        )

    return make


def _of_both(judge: Judge | Callable[[Facts], Findings]) -> Judge:
    """A judge of facts alone, called with the target as well."""
    if judge.__code__.co_argcount > 1:
        return cast(Judge, judge)
    of_facts = cast(Callable[[Facts], Findings], judge)
    return lambda facts, _target: of_facts(facts)


def _on_gpu_targets(judge: Judge) -> Judge:
    def judge_for_gpu(facts: Facts, target: Target) -> Findings:
        need_gpu(target)
        return judge(facts, target)

    return judge_for_gpu


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
