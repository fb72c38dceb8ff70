"""What is asked of an environment, and what came of it: the values between the doctor and the renderers."""

from __future__ import annotations

from pathlib import Path

from envdoctor.diagnose import Diagnosis
from envdoctor.facts import Facts
from envdoctor.frozen import dataclass
from envdoctor.plan import Plan
from envdoctor.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be examined, and against what."""

    target: str = "auto"
    stack: str | None = None
    torch: bool = True
    deep: bool = False
    torch_deadline: float = 60.0
    scripts: tuple[Path, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    recorded: bool = False  # facts from a file, which may hold scripts of their own

    @property
    def with_scripts(self) -> bool:
        return bool(self.scripts) or self.recorded or any(name.startswith("script") for name in self.select)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """One environment, examined: the facts, what they were held against, and what came of it."""

    facts: Facts
    target: Target
    target_reason: str
    diagnosis: Diagnosis
    plan: Plan
    seconds: float = 0.0
