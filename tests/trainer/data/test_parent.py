"""Workers end with the run that they work for, also where it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.trainer.launching import ROOT

LOADER = """
import os, time
from trainer.data import loader
from trainer.data.feed import Position

class Slow:
    def step(self, epoch, index):
        if index:
            time.sleep(60)
        return [os.getpid()]

for _, pids in loader.in_processes(Slow(), iter([Position(n, 0, n, 0) for n in range(4)]), 1, False):
    print(*pids, flush=True)
"""
POOL = """
import os, sys, time
from trainer.data import workers

def work(rows):
    return os.getpid()

if __name__ == "__main__":
    from concurrent.futures import ProcessPoolExecutor
    import multiprocessing
    given = (os.getpid(), None, None)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), workers._start, given) as pool:
        print(pool.submit(work, []).result(), flush=True)
        time.sleep(60)
"""


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells of a parent's death")
@pytest.mark.parametrize("script", [LOADER, POOL], ids=["loader", "pool"])
def test_a_worker_ends_with_a_run_that_is_killed(tmp_path: Path, script: str) -> None:
    (tmp_path / "run.py").write_text(script)
    run = subprocess.Popen(
        [sys.executable, tmp_path / "run.py"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.stdout is not None
    try:
        worker = int(run.stdout.readline())
        assert is_there(worker)
        run.send_signal(signal.SIGKILL)
        run.wait(timeout=20)
        until = time.monotonic() + 3  # a loader's own look after its parent takes five seconds
        while is_there(worker) and time.monotonic() < until:
            time.sleep(0.02)
        assert not is_there(worker)
    finally:
        run.kill()
        run.stdout.close()
