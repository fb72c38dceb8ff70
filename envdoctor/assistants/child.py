"""One envdoctor in a child process, for one call: cancelled, out of time or left alone, it clears up and ends."""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable, Sequence

import anyio
import anyio.from_thread
import anyio.to_thread

from envdoctor.system.process import SAVE_SECONDS, Child, Outcome

GRACE_SECONDS = SAVE_SECONDS + 5.0  # for a child that was told to end: it ends a training first
# Not `-m envdoctor`: that would look for the package in the working directory first, where anything may lie.
PROGRAM = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; from envdoctor.__main__ import main; main()"
)


async def answer(
    words: Sequence[str], *, deadline: float, progress: Callable[[str], Awaitable[None]]
) -> Outcome | None:
    """Run ``envdoctor WORDS``; None when it was stopped at its deadline (seconds). ``progress`` gets what it does."""
    said, heard = anyio.create_memory_object_stream[str](100)
    # Started here and not in the thread that waits: the leash would pull when that thread ends.
    child = Child((sys.executable, "-c", PROGRAM, *words), deadline=deadline + 2 * GRACE_SECONDS, leash=signal.SIGTERM)
    ended = anyio.Event()
    outcomes: list[Outcome] = []

    def line(text: str) -> None:
        if text.startswith("... "):
            anyio.from_thread.run_sync(_offer, said, text[4:])

    async def wait() -> None:
        with anyio.CancelScope(shield=True):
            try:
                outcomes.append(await anyio.to_thread.run_sync(child.wait, line))
            finally:
                ended.set()
                said.close()

    async def tell() -> None:
        async with heard:
            async for text in heard:
                await progress(text)

    in_time = False
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        tasks.start_soon(tell)
        try:
            with anyio.move_on_after(deadline):
                await ended.wait()
                in_time = True
        finally:
            with anyio.CancelScope(shield=True):
                await _end(child, ended)
    return outcomes[0] if in_time and outcomes else None


async def _end(child: Child, ended: anyio.Event) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not ended.is_set():
            child.send(number)
            with anyio.move_on_after(GRACE_SECONDS):
                await ended.wait()


def _offer(said: anyio.abc.ObjectSendStream[str], text: str) -> None:
    """A line that nobody has room for is left out: progress must not hold up what it tells of."""
    try:
        said.send_nowait(text)  # type: ignore[attr-defined]
    except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
        return
