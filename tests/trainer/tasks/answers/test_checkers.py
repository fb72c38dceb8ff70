"""Checkers, and the process in which those run that may not come back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.errors import TrainerError
from trainer.options.settings import Settings
from trainer.tasks.answers.checkers import checker, exact, last_number, numeric
from trainer.tasks.answers.judging import Judge

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("so it is 12.", 12.0), ("-3.5e2 km", -350.0), ("1,234 and 5,678.5", 5678.5), ("none", None), ("", None),
        (".5", 0.5), ("= +7", 7.0), ("9" * 400, None), ("3 - 4 = -1", -1.0),
    ],
)  # fmt: skip
def test_the_last_number_of_a_text(text: str, number: float | None) -> None:
    assert last_number(text) == number


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e-2))
def test_numbers_agree_up_to_the_tolerance(value: float, tolerance: float) -> None:
    step = tolerance * max(1.0, abs(value))
    assert numeric("%r" % (value + 0.9 * step), value, tolerance)
    assert not numeric("%r" % (value + 1.5 * step), value, tolerance)


@given(st.text())
def test_no_text_breaks_the_checkers(text: str) -> None:
    assert exact(text, text)
    last_number(text)


def judged(name: str, text: str, row: dict, **more) -> str:
    with checker(Settings(checker=name, **more)) as made:
        made.prove("p.jsonl, line 1", row)
        return made.check("p.jsonl, line 1", text, row)


def module(tmp_path: Path, body: str) -> str:
    (tmp_path / "mine.py").write_text(f"import os, signal, time\ndef f(answer, row):\n    {body}\n")
    return "%s:f" % (tmp_path / "mine.py")


@pytest.mark.parametrize(
    ("name", "text", "answer", "verdict"),
    [
        ("exact", " 7\n", "7", "accepted"), ("exact", "17", "7", "wrong"), ("exact", "7", 7, "accepted"),
        ("numeric", "it is 7.0", "7", "accepted"), ("numeric", "7 or 8", 7, "wrong"),
        ("regex", "so: 42!", r"\b42\b", "accepted"), ("regex", "so: 421", r"\b42\b", "wrong"),
    ],
)  # fmt: skip
def test_built_in_checkers(name: str, text: str, answer: object, verdict: str) -> None:
    assert judged(name, text, {"answer": answer}) == verdict


def test_a_pattern_that_explodes_costs_its_time_limit_only() -> None:
    assert judged("regex", "a" * 60 + "!", {"answer": r"(a+)+$"}, check_seconds=0.5) == "slow"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("return row['wanted'] in answer", "accepted"), ("return False", "wrong"),
        ("time.sleep(60)", "slow"), ("\n    while True: pass", "slow"),
        ("signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(60)", "slow"),
        ("print('x' * 100000); return True", "accepted"),
    ],
)  # fmt: skip
def test_a_function_of_the_user(tmp_path: Path, capfd, body: str, verdict: str) -> None:
    assert judged(module(tmp_path, body), "it is 7", {"wanted": "7"}, check_seconds=0.5) == verdict
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 1 // 0", "ZeroDivisionError"), ("return 'yes'", "returned 'yes'"), ("os._exit(3)", "exit code 3"),
        ("os.kill(os.getpid(), 9)", "exit code -9"), ("raise SystemExit(2)", "SystemExit"),
    ],
)  # fmt: skip
def test_a_checker_that_fails_is_told_with_its_place(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(TrainerError) as caught:
        judged(module(tmp_path, body), "the answer", {})
    assert caught.value.kind == "checker-failed"
    for part in (said, "p.jsonl, line 1", "the answer"):
        assert part in caught.value.message


def test_after_a_slow_answer_the_next_is_judged(tmp_path: Path) -> None:
    name = module(tmp_path, "time.sleep(60 if answer == 'slow' else 0); return True")
    with checker(Settings(checker=name, check_seconds=0.5)) as made:
        assert [made.check("here", text, {}) for text in ("a", "slow", "b")] == ["accepted", "slow", "accepted"]


@pytest.mark.parametrize(
    ("content", "said"),
    [("def f(:", "SyntaxError"), ("raise OSError('no network')", "no network"), ("g = 1", "no attribute 'f'"),
     ("f = 3", "not a function"), ("import os; os._exit(1)", "exit code 1")],
)  # fmt: skip
def test_a_checker_that_cannot_be_loaded(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "mine.py").write_text(content)
    with pytest.raises(TrainerError) as caught:
        judged("%s:f" % (tmp_path / "mine.py"), "x", {})
    assert caught.value.kind == "bad-checker"
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("nonsense", {}, "unknown checker 'nonsense'"), ("absent.py:f", {}, "absent.py:f: no such file"),
        ("exact", {"prompt": "x"}, "line 1: no column 'answer'; it has 'prompt'"),
        ("exact", {"answer": [1]}, "must be a text or a number"),
        ("numeric", {"answer": "seven"}, "has no number"), ("regex", {"answer": "("}, "not a regular expression"),
        ("regex", {"answer": 3}, "not a regular expression"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused_by_name(name: str, row: dict, said: str) -> None:
    with pytest.raises(TrainerError) as caught:
        judged(name, "x", row)
    assert said in caught.value.message
    assert caught.value.remedy


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 20
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)


def test_what_a_checker_started_ends_with_it(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    body = f"\n    pid = os.fork() or time.sleep(90)\n    open({str(noted)!r}, 'w').write(str(pid))\n    return True"
    assert judged(module(tmp_path, body), "x", {}) == "accepted"
    assert gone(int(noted.read_text()))


def test_no_process_group_is_killed_whose_number_may_be_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a child has been waited for, its number is free, and may be that of a stranger's group."""
    waited_for, kill = [], os.killpg

    def killpg(group: int, number: int) -> None:
        try:
            os.waitid(os.P_PID, group, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            waited_for.append(group)
        kill(group, number)

    monkeypatch.setattr(os, "killpg", killpg)
    for body in ("os._exit(3)", "time.sleep(60)", "return True"):
        judge = Judge(module(tmp_path, body), 0.5)
        judge("x", {})
        judge.close()
    assert waited_for == []


@pytest.mark.slow
def test_a_killed_trainer_leaves_no_checker_behind(tmp_path: Path) -> None:
    """The parent dies by kill -9 while its checker loops for ever."""
    noted = tmp_path / "pid"
    name = module(tmp_path, f"open({str(noted)!r}, 'w').write(str(os.getpid()))\n    while True: pass")
    program = (
        f"from trainer.tasks.answers.judging import Judge\nif __name__ == '__main__': Judge({name!r}, 3.0)('x', {{}})"
    )
    (tmp_path / "parent.py").write_text(program)
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py")], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    deadline = time.monotonic() + 60
    while not (noted.exists() and noted.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert gone(int(noted.read_text()))


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    judge = Judge(module(tmp_path, "return True"), 1.0)
    assert judge("x", {}) == ("accepted", True)
    judge.close()
    judge.close()
