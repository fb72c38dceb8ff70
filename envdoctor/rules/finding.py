"""What a rule finds: what is wrong, how bad that is, whose matter it is, and what helps."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from envdoctor.rules.causes import Kind
from envdoctor.values.frozen import frozen

Who = Literal["you", "image", "host"]


class Severity(enum.IntEnum):
    """ERROR: training fails or gives wrong results. WARNING: it is slower than it should be. NOTE: worth knowing."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        return self.name.lower()


NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR

USUALLY = " Usually "
"""In a message: what goes before is proved, what comes after is the cause in most cases."""

FAIL_ON: Mapping[str, Severity | None] = {**{severity.word: severity for severity in Severity}, "never": None}
"""``--fail-on`` -> the severity from which on a check fails."""


@frozen
class Pin:
    """Repair: install exactly this version (it is in the target's stack)."""

    name: str
    version: str


@frozen
class SetFlag:
    """Repair: let the startup hook set this row of the flags table."""

    name: str
    value: str


@frozen
class SetVariable:
    """Repair: let the startup hook set an environment variable before torch is imported; None removes it."""

    name: str
    value: str | None


Repair = Pin | SetFlag | SetVariable


@frozen
class Remedy:
    """What a person can do: a sentence, and commands that can be pasted, one after the other.

    ``instead``: commands that are typed in place of those, not after them.
    """

    text: str
    commands: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


@frozen
class PinnedRemedy:
    """A remedy, and the packages that `envdoctor fix` brings to the stack's versions for it; none where it does not."""

    remedy: Remedy
    pins: tuple[Pin, ...] = ()


@frozen
class Row:
    """One line of a finding about many things alike: a table, where forty findings would say the same."""

    subject: str
    actual: str
    expected: str


@frozen
class Finding:
    """One thing that is not as it should be. What is left empty is filled in from the rule that yields it."""

    kind: Kind | Literal[""] = ""
    subject: str = ""
    title: str = ""  # where the rule's own says more, or something else, than this finding proves
    actual: str
    expected: str = ""
    message: str
    remedy: Remedy
    who: Who | Literal[""] = "you"
    severity: Severity | None = None
    rule: str = ""
    symptom_of: str | None = None  # identity ("rule subject") of the finding that causes this one
    explains: tuple[str, ...] = ()  # rules, families ("torch/") or identities whose findings follow from this one
    certain: bool = True  # False: as a cause it comes after all that are certain (see `envdoctor.rules.causes`)
    fallback: bool = False  # the usual causes of a trouble of its kind: said where nothing certain explains it
    told: bool = False  # it rests on a person's own sentence, beside which a program's words come first
    quoted: bool = False  # it rests on a line of a pasted text, not on what the text lists: what helps is but likely to
    source: str = ""
    repair: tuple[Repair, ...] = ()
    rows: tuple[Row, ...] = ()  # what it is made of, where that is more than one thing

    @property
    def identity(self) -> str:
        return f"{self.rule} {self.subject}"

    @property
    def likely(self) -> bool:
        """Is the cause no more than the usual one? What helps then helps where that is the cause."""
        return self.quoted or not self.certain or USUALLY in self.message


Findings: TypeAlias = Iterator[Finding]


def finding(
    *,
    actual: str,
    message: str,
    fix: str | Remedy | PinnedRemedy,
    run: str | tuple[str, ...] = (),
    instead: str | tuple[str, ...] = (),
    kind: Kind | Literal[""] = "",
    subject: str = "",
    title: str = "",
    expected: str = "",
    who: Who | Literal[""] = "",
    severity: Severity | None = None,
    explains: tuple[str, ...] = (),
    certain: bool = True,
    fallback: bool = False,
    source: str = "",
    repair: tuple[Repair, ...] = (),
    rows: tuple[Row, ...] = (),
    usually: str = "",
) -> Finding:
    """A `Finding` as rules write it: ``fix`` says what helps, ``run`` how to do it, and the rule itself the rest.

    ``instead``: what is typed in place of ``run``. ``message`` is what is proved; ``usually``: what lies behind it in
    most cases, said as no more than that.
    """
    commands = (run,) if isinstance(run, str) else run
    others = (instead,) if isinstance(instead, str) else instead
    if isinstance(fix, PinnedRemedy):
        remedy, repair = fix.remedy, fix.pins
    else:
        remedy = Remedy(text=fix, commands=commands, instead=others) if isinstance(fix, str) else fix
    return Finding(
        kind=kind,
        subject=subject,
        title=title,
        actual=actual,
        expected=expected,
        message=_sentence(message, usually),
        remedy=remedy,
        who=who,
        severity=severity,
        explains=explains,
        certain=certain,
        fallback=fallback,
        source=source,
        repair=repair,
        rows=rows if len(rows) > 1 else (),
    )


def _sentence(certain: str, usually: str) -> str:
    if not usually:
        return certain
    return f"{certain}{'' if certain.endswith(('.', '!', '?')) else '.'}{USUALLY}{usually}."


@frozen
class Skipped:
    """A rule that had nothing to judge, and why."""

    rule: str
    reason: str


@frozen
class Crashed:
    """A rule that raised, its own fault: nothing is known of what it looks for, and the other rules went on."""

    rule: str
    error: str
