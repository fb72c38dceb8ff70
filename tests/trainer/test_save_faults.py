"""Saving while the process is killed at any system call, and on a disk that fills up."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import trainer

ROOT = Path(trainer.__file__).parent.parent
CALLS = "openat write pwrite64 ftruncate fallocate fsync rename mkdir rmdir unlink unlinkat fchmod".split()

# Torch is imported once; every point is a fork of that process, with strace attached to it before it saves.
KILLED = """
import json, os, shutil, subprocess, sys, time
from pathlib import Path
import torch
from safetensors.torch import load_file, save_file
from trainer.checkpoints import save

torch.set_num_threads(1)
base, calls = Path(sys.argv[1]), sys.argv[2].split()

def write(parent, step):
    tensors = {"model": {"w": torch.full((3000,), float(step))}, "optimizer": {"m": torch.ones(7) * step}}
    save.write(parent, save.folder_name(step, 0), tensors, {"step": step}, keep=2)

def tracer_of(pid):
    with open("/proc/%d/status" % pid) as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("TracerPid"))

outcomes = []
for call in calls:
    for number in range(1, 200):
        parent = base / ("%s-%d" % (call, number))
        write(parent, 1)
        write(parent, 2)
        ready, go = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.read(ready, 1)
            write(parent, 3)
            os._exit(0)
        rule = "inject=%s:signal=SIGKILL:when=%d" % (call, number)
        watch = ["strace", "-qq", "-o", "/dev/null", "-p", str(pid), "-e", "trace=" + call, "-e", rule]
        tracer = subprocess.Popen(watch)
        while not tracer_of(pid):
            time.sleep(0.005)
        os.write(go, b"x")
        _, status = os.waitpid(pid, 0)
        tracer.wait()
        os.close(ready), os.close(go)
        found, passed_over = save.newest(parent)
        state, tensors = save.read(found)
        step = state["step"]
        whole = bool((tensors["model"]["w"] == step).all()) and bool((tensors["optimizer"]["m"] == step).all())
        write(parent, 4)  # and the next save clears up
        left = sorted(path.name for path in parent.iterdir())
        killed = os.WIFSIGNALED(status)
        outcomes.append([call, number, killed, step, whole, passed_over, left])
        shutil.rmtree(parent)
        if not killed:
            assert os.WEXITSTATUS(status) == 0
            break
print(json.dumps(outcomes))
"""


@pytest.mark.faults
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_killed_at_every_mutating_system_call_the_newest_or_the_one_before_is_whole(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), " ".join(CALLS)], cwd=ROOT, capture_output=True, text=True,
        timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    killed = [outcome for outcome in outcomes if outcome[2]]
    print(len(killed), "kills, newest afterwards:", {step: sum(o[3] == step for o in killed) for step in (2, 3)})
    assert len(killed) > 25
    assert {outcome[0] for outcome in killed} >= {"openat", "write", "fsync", "rename", "mkdir", "unlinkat"}
    for call, number, was_killed, step, whole, passed_over, left in outcomes:
        assert step in ((2, 3) if was_killed else (3,)), (call, number)
        assert whole, (call, number)
        assert passed_over == [], (call, number)
        assert [name for name in left if ".tmp" in name] == [], (call, number)
        assert "step-00000004" in left
    assert {outcome[3] for outcome in killed} == {2, 3}  # before the rename, and after it


FULL = """
import json, sys
from pathlib import Path
import torch
from trainer.checkpoints import save
from trainer.errors import TrainerError

parent = Path(sys.argv[1]) / "checkpoints"
said = []

def put(step, size):
    tensors = {"model": {"w": torch.full((size,), float(step))}}
    save.write(parent, save.folder_name(step, 0), tensors, {"step": step}, keep=2)

put(1, 1000)
for step, size in ((2, 2_000_000), (3, 500_000), (4, 600_000)):
    try:
        put(step, size)
    except TrainerError as error:
        said.append([error.kind, error.message, error.remedy])
found, passed_over = save.newest(parent)
listing = sorted(path.name for path in parent.iterdir())

class Model:
    def save(self, folder):
        from safetensors.torch import save_file
        save_file({"w": torch.ones(2_000_000)}, folder / "model.safetensors")

try:
    save.publish(Path(sys.argv[1]) / "model", Model().save)
except TrainerError as error:
    said.append([error.kind, error.message, error.remedy])
top = sorted(path.name for path in Path(sys.argv[1]).iterdir())
step = save.read(found)[0]["step"]
print(json.dumps({"said": said, "step": step, "passed": passed_over, "left": listing, "top": top}))
"""


def in_small_space(folder: Path, program: str) -> subprocess.CompletedProcess:
    """The program on a tmpfs of 4 MB at `folder`, which no other process sees."""
    script = 'mount -t tmpfs -o size=4m none "$1" && exec "$2" -c "$3" "$1"'
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", str(folder), sys.executable, program], cwd=ROOT,
        capture_output=True, text=True, timeout=170,
    )  # fmt: skip


def can_mount() -> bool:
    if not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0


@pytest.mark.faults
@pytest.mark.skipif(not can_mount(), reason="no user namespaces here")
def test_a_disk_that_is_really_full_is_told_and_loses_nothing(tmp_path: Path) -> None:
    done = in_small_space(tmp_path, FULL)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    kinds = [kind for kind, _, _ in found["said"]]
    assert kinds == ["checkpoint-not-written", "checkpoint-not-written", "model-not-written"]
    assert all("No space left" in message for _, message, _ in found["said"])
    assert all("Free some space" in remedy for _, _, remedy in found["said"])
    assert found["step"] == 3
    assert found["passed"] == []
    assert found["left"] == ["step-00000001", "step-00000003"]
    assert found["top"] == ["checkpoints"]
