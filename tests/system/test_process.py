"""Children that end, hang, ignore signals, flood, fork and cannot be started."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from envdoctor.system import process


def python(code: str, *, deadline: float = 30.0, **more: object) -> process.Outcome:
    return process.run([sys.executable, "-I", "-S", "-c", code], deadline=deadline, **more)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    """Is this process there, and more than a zombie that nobody has collected yet?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def until(condition: object, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


def test_output_and_code() -> None:
    outcome = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (outcome.code, outcome.out, outcome.err, outcome.ok) == (3, "out\n", "err\n", False)
    assert outcome.ending == "exit code 3"
    assert python("").ok


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM"])
def test_a_signal_is_named(name: str) -> None:
    no_core_file = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))"
    outcome = python(f"{no_core_file}; import os, signal; os.kill(os.getpid(), signal.{name})")
    assert outcome.ending == name
    assert outcome.code == -int(signal.Signals[name])


def test_a_signal_without_a_name() -> None:
    number = signal.SIGRTMIN + 3
    assert python(f"import os; os.kill(os.getpid(), {number})").code == -number


def test_a_program_that_is_not_there() -> None:
    outcome = process.run(["/no/such/program"], deadline=5)
    assert outcome.not_started == "/no/such/program: No such file or directory"
    assert (outcome.code, outcome.ok, outcome.timed_out) == (None, False, False)
    assert outcome.ending == outcome.not_started


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(600)",
        "import signal, time\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\ntime.sleep(600)",
        "import os, time; os.close(1); os.close(2); time.sleep(600)",
        "import os, time; os.fork(); time.sleep(600)",
    ],
    ids=["sleeps", "ignores signals", "closes its output", "has a child"],
)
def test_the_deadline_ends_the_whole_group(code: str) -> None:
    child = process.Child([sys.executable, "-c", code], deadline=0.7)
    assert child._popen is not None
    group = child._popen.pid
    outcome = child.wait()
    assert outcome.timed_out
    assert outcome.code is None
    assert outcome.ending.startswith("no answer within")

    def members() -> list[str]:
        stats = [
            (path, path.read_text().rpartition(")")[2].split())
            for path in Path("/proc").glob("[0-9]*/stat")
            if path.exists()
        ]
        return [str(path) for path, fields in stats if fields[2] == str(group) and fields[0] not in "ZX"]

    assert until(lambda: not members())


def test_output_before_the_deadline_is_kept() -> None:
    outcome = python("import time; print('so far', flush=True); time.sleep(600)", deadline=1.5)
    assert (outcome.timed_out, outcome.out) == (True, "so far\n")


def test_a_flood_is_read_but_not_remembered() -> None:
    outcome = python(f"import sys; sys.stdout.write('x' * {process.OUTPUT_LIMIT * 2}); sys.stderr.write('y' * 10)")
    assert outcome.ok
    assert len(outcome.out) == process.OUTPUT_LIMIT
    assert outcome.err == "y" * 10


def test_bytes_that_are_not_text() -> None:
    assert python("import os; os.write(1, b'a\\xff\\x00b')").out == "a\ufffd\x00b"


def test_a_grandchild_that_holds_the_pipes_is_not_waited_for() -> None:
    code = "import os, time\nif os.fork() == 0:\n    time.sleep(600)\nprint('done')"
    child = process.Child([sys.executable, "-c", code], deadline=60)
    outcome = child.wait()
    assert (outcome.code, outcome.out) == (0, "done\n")


def test_what_a_child_leaves_in_its_group_ends_with_it() -> None:
    code = "import os, time\npid = os.fork()\nif not pid:\n    os.close(1); os.close(2); time.sleep(600)\nprint(pid)"
    outcome = process.run([sys.executable, "-c", code], deadline=60)
    assert outcome.code == 0
    assert until(lambda: not alive(int(outcome.out)))


ORPHANS = """
import sys
from envdoctor.system.process import Child
program = (
    "import os, sys, time; word = 'child' if os.fork() else 'grandchild';"
    "open(os.path.join(sys.argv[1], word), 'w').write(str(os.getpid())); time.sleep(600)"
)
Child([sys.executable, "-S", "-c", program, sys.argv[1]], deadline=600.0).wait()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's part of it is Linux's")
def test_children_end_with_a_doctor_that_is_killed(tmp_path: Path) -> None:
    """By SIGKILL, which leaves it no time to end them: also one that hangs before any code of ours runs in it."""
    doctor = subprocess.Popen([sys.executable, "-c", ORPHANS, str(tmp_path)])
    files = [tmp_path / "child", tmp_path / "grandchild"]
    try:
        assert until(lambda: all(path.exists() and path.read_text() for path in files), 30.0)
        pids = [int(path.read_text()) for path in files]
        assert all(alive(pid) for pid in pids)
    finally:
        doctor.kill()
        doctor.wait()
    assert until(lambda: not any(alive(pid) for pid in pids))


def test_no_descriptor_is_left_of_a_child() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for code in ("", "raise SystemExit(3)", "import time; time.sleep(60)"):
        python(code, deadline=1.0)
    process.run(["/nowhere/at/all"], deadline=1.0)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc/sys/kernel/ns_last_pid")
@pytest.mark.skipif(os.geteuid() != 0, reason="choosing a process id needs root")
def test_the_next_owner_of_a_process_id_is_left_alone() -> None:
    """A child has ended and was waited for; its number is given to a program that leads a group of its own."""
    child = process.Child([sys.executable, "-c", ""], deadline=60)
    assert child.wait().code == 0
    assert child._popen is not None
    other = _with_the_id(child._popen.pid)
    try:
        child.kill()
        child.send(signal.SIGTERM)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def _with_the_id(number: int) -> subprocess.Popen[bytes]:
    for _ in range(200):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(number - 1))
        other = subprocess.Popen(["sleep", "60"], start_new_session=True)
        if other.pid == number:
            return other
        other.kill()
        other.wait()
    pytest.skip("the process id was taken by others each time")


def test_a_child_that_ended_in_time_and_is_waited_for_late() -> None:
    child = process.Child([sys.executable, "-I", "-S", "-c", "print('in time')"], deadline=1.0)
    time.sleep(1.3)
    outcome = child.wait()
    assert (outcome.code, outcome.out, outcome.timed_out) == (0, "in time\n", False)


def test_children_run_side_by_side() -> None:
    """Each waits for a file that the other one makes: one after the other would never end."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        code = (
            "import os, sys, time; mine, other = sys.argv[1:]; open(mine, 'w').close()\n"
            "while not os.path.exists(other): time.sleep(0.01)"
        )
        one, other = f"{folder}/one", f"{folder}/other"
        children = [
            process.Child([sys.executable, "-c", code, *names], deadline=30) for names in ((one, other), (other, one))
        ]
        assert [child.wait().code for child in children] == [0, 0]


def test_lines_of_stderr_as_they_come() -> None:
    lines: list[str] = []
    code = "import sys; sys.stderr.write('10%\\r20%\\rdone\\nlast'); print('not this')"
    outcome = python(code, on_line=lines.append)
    assert lines == ["10%", "20%", "done", "last"]
    assert outcome.out == "not this\n"


def test_an_error_while_waiting_leaves_no_child() -> None:
    def fail(line: str) -> None:
        raise KeyboardInterrupt

    seen: list[int] = []
    code = "import os, sys, time; print(os.getpid(), file=sys.stderr, flush=True); time.sleep(600)"

    def remember(line: str) -> None:
        seen.append(int(line))
        fail(line)

    with pytest.raises(KeyboardInterrupt):
        python(code, on_line=remember)
    assert until(lambda: not alive(seen[0]))


def test_standard_input_is_empty_and_the_session_its_own() -> None:
    outcome = python("import os, sys; print(repr(sys.stdin.read()), os.getsid(0) == os.getpid())")
    assert outcome.out == "'' True\n"


def test_variables_and_directory(tmp_path: Path) -> None:
    outcome = python("import os; print(os.environ.get('A'), os.getcwd())", env={"A": "1"}, cwd=tmp_path)
    assert outcome.out == f"1 {tmp_path}\n"


def test_attached_returns_the_code() -> None:
    def code(text: str, deadline: float = 30.0) -> int:
        return process.run_attached([sys.executable, "-c", text], deadline=deadline)

    assert code("") == 0
    assert code("raise SystemExit(7)") == 7
    assert code("import os, signal; os.kill(os.getpid(), signal.SIGTERM)") == 128 + 15
    assert code("import time; time.sleep(600)", deadline=0.5) == 124


def test_an_interrupt_while_a_child_is_reaped_does_not_make_a_success_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real, met = os.waitpid, list[int]()

    def interrupted(pid: int, options: int) -> tuple[int, int]:
        found = real(pid, options)
        if found[0] and not met:
            met.append(found[0])
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(os, "waitpid", interrupted)
    for deadline in (math.inf, 30.0):
        met.clear()
        assert process.run_attached([sys.executable, "-c", "raise SystemExit(7)"], deadline=deadline) == 7
        assert met


def test_attached_can_keep_our_own_output_for_data(capfd: pytest.CaptureFixture[str]) -> None:
    process.run_attached([sys.executable, "-c", "print('theirs')"], deadline=30, stdout_to_stderr=True)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "theirs\n")


def test_an_interrupt_is_left_to_the_attached_program(tmp_path: Path) -> None:
    """Ctrl-C reaches both, and ours must wait while theirs saves. Both run in a group that is interrupted."""
    ready, saved = tmp_path / "ready", tmp_path / "saved"
    theirs = tmp_path / "theirs.py"
    # A background job of a shell without job control inherits SIGINT ignored: both set it back, as a terminal has it.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    theirs.write_text(
        f"{heard}import pathlib, sys, time\n"
        "try:\n"
        f"    pathlib.Path({str(ready)!r}).touch()\n"
        "    time.sleep(600)\n"
        "except KeyboardInterrupt:\n"
        "    time.sleep(0.3)\n"
        f"    pathlib.Path({str(saved)!r}).touch()\n"
        "    sys.exit(5)\n"
    )
    ours = (
        f"{heard}import sys; from envdoctor.system import process\n"
        f"sys.exit(process.run_attached([sys.executable, {str(theirs)!r}], deadline=60))"
    )
    child = process.Child([sys.executable, "-c", ours], deadline=60, cwd=Path(process.__file__).parents[2])
    assert child._popen is not None
    group = child._popen.pid

    def interrupt() -> None:
        if until(ready.exists, 50):
            os.killpg(group, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    outcome = child.wait()
    thread.join()
    assert outcome.code == 5, outcome
    assert saved.exists()
