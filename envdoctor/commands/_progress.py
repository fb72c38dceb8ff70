"""Progress on stderr: a spinner with the step and its time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

LISTED = ("+ ", "- ", "~ ")  # an installer's line per package: worth a glance on a terminal, not a page in a log


@contextmanager
def steps(console: Console) -> Iterator[Callable[[str], None]]:
    """A function to call with the name of each step as it begins."""
    if not console.is_terminal:
        yield (
            lambda text: None if text.startswith(LISTED) else console.print(f"... {text}", markup=False, soft_wrap=True)
        )
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as progress:
        task = progress.add_task("", total=None)
        yield lambda text: progress.update(task, description=text)


@contextmanager
def answer_interrupt(progress: Callable[[str], None], text: str) -> Iterator[None]:
    """Ctrl-C is answered at once by the step ``text``: clearing away takes seconds, and silence invites another."""

    def stop(_: int, __: FrameType | None) -> None:
        progress(text)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, or handled by somebody
        yield
        return
    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
