"""What is asked of an environment, and what came of it: the values between the doctor and the renderers."""

from __future__ import annotations

from pathlib import Path

from envdoctor.facts.model import Facts, Unavailable
from envdoctor.locks.target import Target
from envdoctor.rules.diagnose import Diagnosis
from envdoctor.rules.plan import Plan
from envdoctor.rules.rule import Rule
from envdoctor.values.frozen import frozen


@frozen
class CheckOptions:
    """What is to be examined, and against what."""

    target: str = "auto"
    stack: str | None = None
    torch: bool = True
    deep: bool = False
    torch_deadline: float = 60.0
    scripts: tuple[Path, ...] = ()
    images: tuple[Path, ...] = ()  # image files: they are judged instead of an environment
    driver: str | None = None  # of the machine where the images will run
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    recorded: bool = False  # facts from a file, which may hold scripts of their own

    @property
    def with_scripts(self) -> bool:
        return bool(self.scripts) or self.recorded or any(name.startswith("script") for name in self.select)


@frozen
class Case:
    """The facts of an environment, and the target they are to be held against, with the reason of that choice."""

    facts: Facts
    target: Target
    target_reason: str


@frozen
class Checkup:
    """A case, judged: by which rules, what they found, and what a change could do about it."""

    facts: Facts
    target: Target
    target_reason: str
    diagnosis: Diagnosis
    plan: Plan
    rules: tuple[Rule, ...] = ()
    seconds: float = 0.0

    @property
    def starts_training(self) -> bool:
        """Could a training begin here, right or wrong? Torch is imported, and it sees the device that is meant."""
        torch = self.facts.torch
        return not isinstance(torch, Unavailable) and (self.target.is_cpu or bool(torch.cuda_available))
