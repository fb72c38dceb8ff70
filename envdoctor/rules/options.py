"""What is asked of a check: known before anything is loaded that judges, so that the probes can start first."""

from __future__ import annotations

from pathlib import Path

from envdoctor.values.frozen import frozen


@frozen
class CheckOptions:
    """What is to be examined, and against what."""

    target: str = "auto"
    stack: str | None = None
    extras: tuple[str, ...] = ()  # of the stack, where it locks such
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
