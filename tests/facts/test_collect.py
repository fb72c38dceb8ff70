"""Facts of real environments, whole, sick and in strange places; and facts in files, sound and hostile."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor import __version__
from envdoctor.errors import Trouble
from envdoctor.facts import answers, assembly, collect, torch_section
from envdoctor.facts.environment import Environment, locate
from envdoctor.facts.model import Driver, Facts, Host, Interpreter, Launcher, Network, Packages, Torch, Unavailable
from envdoctor.system import process
from tests.facts.conftest import TORCH, facts
from tests.facts.probe.venvs import Venv

ROOT = Path(__file__).resolve().parents[2]


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")}


@pytest.mark.torch
def test_every_section_of_a_healthy_environment(ours: Facts) -> None:
    assert isinstance(ours.interpreter, Interpreter)
    assert ours.interpreter.version == ".".join(map(str, sys.version_info[:3]))
    assert isinstance(ours.packages, Packages)
    assert ours.packages.complete
    assert ours.packages.damage_checked == "sizes"
    assert isinstance(ours.host, Host)
    assert {"temporary", "triton-cache", "environment"} <= {each.purpose for each in ours.host.storage}
    assert ours.host.compiler is not None
    assert isinstance(ours.driver, Driver)
    assert isinstance(ours.network, Network)
    assert isinstance(ours.launcher, Launcher | Unavailable)
    assert isinstance(ours.torch, Torch)
    assert ours.torch.version == ours.packages.version("torch")
    assert ours.torch.flags["float32-matmul-precision"].value == "highest"
    assert not isinstance(ours.extensions, Unavailable)
    assert ours.origin.kind == "probe"
    assert ours.origin.tool == f"envdoctor {__version__}"
    assert {"torch", "packages", "host"} <= set(ours.seconds)


@pytest.mark.parametrize("compiling", [False, True])
def test_the_bytecode_of_torch_stays_only_where_it_shall(venv: Venv, compiling: bool) -> None:
    venv.torch(TORCH)
    assert isinstance(facts(venv, compiling=compiling).torch, Torch)
    assert bool(list(venv.site.glob("torch/__pycache__/*.pyc"))) is compiling


def test_no_temporary_file_stays(venv: Venv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    collection = collect.begin(Environment(path=venv.path, python=venv.python))
    (folder,) = place.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    collection.finish()
    assert list(place.iterdir()) == []
    collection.abandon()  # a second time does no harm
    collect.begin(Environment(path=venv.path, python=venv.python)).abandon()
    assert list(place.iterdir()) == []


def test_the_examined_environment_is_not_changed(venv: Venv) -> None:
    venv.torch(TORCH)
    before = tree(venv.path)
    told = facts(venv, deep=True)
    assert isinstance(told.torch, Torch)
    assert tree(venv.path) == before


def test_torch_is_not_asked_when_not_wanted(venv: Venv) -> None:
    venv.torch("raise SystemExit(9)")
    told = facts(venv, torch=False)
    assert isinstance(told.torch, Unavailable)
    assert told.torch.why == "not-asked"
    assert isinstance(told.packages, Packages)


@pytest.mark.parametrize(
    ("source", "why", "reason"),
    [
        (None, "absent", "torch is not installed in this environment"),
        ("import os; os.abort()", "crashed", "import torch: SIGABRT"),
        ("import os; os._exit(0)", "crashed", "import torch: the process ended itself (exit code 0) without an answer"),
        ("import time; time.sleep(600)", "timed-out", "import torch: no answer within 2 s"),
    ],
)
def test_a_sick_torch_costs_only_its_own_section(venv: Venv, source: str | None, why: str, reason: str) -> None:
    if source is not None:
        venv.torch(source)
    told = facts(venv, torch_deadline=2.0 if why == "timed-out" else 60.0)
    assert isinstance(told.torch, Unavailable)
    assert told.torch.why == why
    assert told.torch.reason.startswith(reason)
    for section in (told.interpreter, told.packages, told.host, told.driver, told.network, told.extensions):
        assert not isinstance(section, Unavailable)


def test_an_interpreter_that_does_not_start(tmp_path: Path) -> None:
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 'error while loading shared libraries: libpython3.11.so.1.0' >&2\nexit 127\n")
    python.chmod(0o755)
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    told = collect.begin(locate(tmp_path / "env")).finish()
    for section in (told.interpreter, told.packages, told.torch, told.extensions):
        assert isinstance(section, Unavailable)
        assert "exit code 127: error while loading shared libraries" in section.reason
    assert isinstance(told.host, Host)


def test_an_interpreter_that_vanishes(venv: Venv) -> None:
    environment = locate(venv.path)
    for path in (venv.path / "bin").iterdir():
        path.unlink()
    told = collect.begin(environment).finish()
    assert isinstance(told.interpreter, Unavailable)
    assert "No such file or directory" in told.interpreter.reason
    assert isinstance(told.host, Host)


@pytest.mark.parametrize(("name", "deep"), [("environment", False), ("machine", True), ("torch", False)])
def test_a_probe_killed_from_outside(venv: Venv, name: str, deep: bool) -> None:
    venv.torch("import time; time.sleep(600)")
    collection = collect.begin(Environment(path=venv.path, python=venv.python), deep=deep)
    for victim in {name, "torch"}:
        popen = collection._children[victim]._popen
        assert popen is not None
        os.kill(popen.pid, signal.SIGKILL)
    told = collection.finish()
    assert isinstance(told.torch, Unavailable)
    assert "SIGKILL (killed from outside" in told.torch.reason
    if name == "machine" and isinstance(told.host, Unavailable):
        assert "the machine probe: SIGKILL" in told.host.reason
    if name == "environment" and isinstance(told.packages, Unavailable):
        assert "the environment probe: SIGKILL" in told.packages.reason
    if name == "environment":
        assert isinstance(told.host, Host)


def doctored(venv: Venv, line: str) -> Environment:
    """An environment whose Python does something of its own before it runs a probe."""
    start = f"import os, sys, time; sys.argv = sys.argv[1:]; {line}; import runpy"
    program = f"{start}; runpy.run_path(sys.argv[0], None, '__main__')"
    real = venv.python.resolve()
    venv.python.unlink()
    venv.python.write_text(f'#!/bin/sh\nshift 2\nexec {real} -I -S -c "{program}" "$@"\n')
    venv.python.chmod(0o755)
    return Environment(path=venv.path, python=venv.python)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the machine has a probe of its own")
@pytest.mark.parametrize(
    "ending", ["sys.exit('broken')", "os.kill(os.getpid(), 9)", "os._exit(0)", "sys.version_info = (3, 7, 9)"]
)
def test_the_machine_is_known_whatever_becomes_of_the_environments_own_python(venv: Venv, ending: str) -> None:
    """It looks at the machine once it has looked at itself; where it does not come that far, our Python does."""
    told = collect.begin(doctored(venv, ending), torch=False).finish()
    assert isinstance(told.packages, Unavailable)
    assert isinstance(told.host, Host)
    assert told.host.cpus == os.cpu_count()
    assert isinstance(told.driver, Driver)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the machine has a probe of its own")
def test_a_dead_network_share_costs_no_more_than_the_folders_on_it(venv: Venv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "QUICK", 3.0)
    told = collect.begin(doctored(venv, "os.statvfs = lambda _: time.sleep(600)"), torch=False).finish()
    assert isinstance(told.packages, Packages)
    assert told.packages.damage_checked == "sizes"
    assert isinstance(told.driver, Driver)
    assert isinstance(told.host, Host)
    assert told.host.storage == ()


def test_no_second_python_is_started_to_look_at_the_machine(venv: Venv) -> None:
    """Each start takes as long as reading a machine's files does."""
    with collect.begin(Environment(path=venv.path, python=venv.python), torch=False) as collection:
        started = {"environment"} if sys.platform == "linux" else {"environment", "machine"}
        assert {name for name in collection._children if name not in ("gpu", "cuinit")} == started
        told = collection.finish()
    assert isinstance(told.host, Host)
    assert {"host", "driver", "network", "tools", "packages"} <= set(told.seconds)


def test_children_are_gone_after_an_interrupt(venv: Venv, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.torch("import time; time.sleep(600)")
    collection = collect.begin(Environment(path=venv.path, python=venv.python))
    popen = collection._children["torch"]._popen
    assert popen is not None

    def interrupted(self: process.Child, on_line: object = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(process.Child, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collection.finish()
    assert popen.poll() is not None


def test_variables_that_take_over_children_are_taken_from_them_and_reported(
    venv: Venv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    for module in ("json", "torch", "sitecustomize", "pynvml"):
        (evil / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(evil)
    monkeypatch.setenv("PYTHONPATH", str(evil))
    monkeypatch.setenv("PYTHONSTARTUP", str(evil / "json.py"))
    monkeypatch.setenv("LD_PRELOAD", "/no/such/libtcmalloc.so")
    told = facts(venv)
    assert not (tmp_path / "ran").exists()
    assert isinstance(told.variables, dict)
    assert told.variables["LD_PRELOAD"] == "/no/such/libtcmalloc.so"
    assert "PYTHONPATH" in told.variables
    assert isinstance(told.interpreter, Interpreter)
    assert str(evil / "json.py") in told.interpreter.shadowed
    assert isinstance(told.torch, Unavailable)
    assert told.torch.why == "absent"


def test_variables_that_the_environment_sets_at_its_start(venv: Venv, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.torch(TORCH)
    line = "import os; os.environ.update(NCCL_DEBUG='WARN', X='y'); os.environ.pop('CUDA_LAUNCH_BLOCKING', 0)\n"
    (venv.site / "start.pth").write_text(line)
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    told = facts(venv)
    assert isinstance(told.variables, dict)
    assert told.variables.get("NCCL_DEBUG") == "WARN"
    assert "CUDA_LAUNCH_BLOCKING" not in told.variables
    assert "X" not in told.variables
    assert facts(venv, extra_variables=["X"]).variables["X"] == "y"  # type: ignore[index]


def test_the_startup_hook_is_seen(venv: Venv, monkeypatch: pytest.MonkeyPatch) -> None:
    from envdoctor.launch import hook

    venv.torch(TORCH)
    monkeypatch.delenv("NCCL_DEBUG", raising=False)
    hook.write(venv.site, hook.render({}, {"NCCL_DEBUG": "WARN"}))
    told = facts(venv)
    assert isinstance(told.torch, Torch)
    assert told.torch.hook
    assert told.variables["NCCL_DEBUG"] == "WARN"  # type: ignore[index]


def test_scripts_travel_as_text(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "job.sh").write_text("torchrun x\n")
    told = facts(venv, torch=False, scripts=(tmp_path / "train.py", tmp_path / "job.sh"))
    assert [(script.language, script.source) for script in told.scripts] == [
        ("python", "import torch\n"),
        ("shell", "torchrun x\n"),
    ]
    with pytest.raises(Trouble, match="no such file"):
        facts(venv, scripts=(tmp_path / "gone.py",))
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Trouble, match="not UTF-8"):
        facts(venv, torch=False, scripts=(tmp_path / "binary.py",))


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_answer_of_the_examined_python_is_survived(data: st.DataObject) -> None:
    names = [
        "section",
        "result",
        "value",
        "error",
        "stage",
        "fields",
        "environ",
        "seconds",
        "absent",
        "version",
        "flags",
    ]
    words = ["interpreter", "packages", "damage", "extensions", "success", "error", "done"]
    leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(words)
    values = leaves | st.lists(leaves, max_size=2) | st.dictionaries(st.sampled_from(names), leaves, max_size=3)
    lines = data.draw(st.lists(st.dictionaries(st.sampled_from(names), values, max_size=6), max_size=4))
    outcome = process.Outcome(argv=("python",), code=1, out="", err="", seconds=0.1)
    machine = [{"section": "storage", "result": "error", "error": "x"}]
    environment = Environment(path=Path("/env"), python=Path("/env/bin/python"))
    outcomes = {"environment": outcome, "machine": outcome}
    told = assembly.quick(environment, outcomes, {"environment": lines, "machine": machine})
    assert isinstance(torch_section.add_torch(told, outcome, lines), Facts)


@pytest.mark.parametrize("told", range(10))
def test_what_was_told_before_a_dead_disk_blocked_is_kept(told: int, venv: Venv, tmp_path: Path) -> None:
    """A dead network share stops the probe of the machine for good; every line it has written counts."""
    (tmp_path / "request").write_text("{}")
    main = collect.PROBES / "__main__.py"
    argv = [sys.executable, "-I", "-S", main, "machine", tmp_path / "request", tmp_path / "answer"]
    sound = process.run(argv, deadline=30)
    lines = answers.read(tmp_path / "answer")[:told]
    late = process.Outcome(argv=("python",), code=None, out="", err="", seconds=20.0, timed_out=True)
    found = assembly.quick(
        Environment(path=venv.path, python=venv.python),
        {"environment": sound, "machine": late},
        {"environment": [], "machine": lines},
    )
    names = [line["section"] for line in lines]
    assert isinstance(found.driver, Driver) == ("driver" in names)
    assert isinstance(found.host, Host) == ("host" in names)
    if isinstance(found.host, Host):
        assert len(found.host.storage) == names.count("storage")
    else:
        assert found.host == Unavailable(reason="the machine probe: no answer within 20 s", why="timed-out")


def test_answers_of_a_lying_probe(venv: Venv, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's Python is examined because it may be sick; what it answers is not believed blindly."""
    lies: list[dict[str, Any]] = [
        {"section": "interpreter", "result": "success", "value": {"version": 3}},
        {"section": "packages", "result": "success", "value": {"distributions": [{"name": "a"}]}},
        {"section": "extensions", "result": "success", "value": [{"nonsense": 1}]},
        {"section": "damage", "result": "success", "value": {"problems": [{}], "checked": "x", "files": []}},
        {"section": "host", "result": "error", "error": "OSError: \x1b[31mno"},
        {"fields": {"version": 5}, "stage": "done", "environ": []},
        {"result": "success"},
    ]
    monkeypatch.setattr(answers, "read", lambda path: answers.clean(lies))
    told = facts(venv)
    for section in (told.interpreter, told.packages, told.extensions, told.host, told.torch):
        assert isinstance(section, Unavailable)
    assert told.host == Unavailable(reason="host: OSError: no")


def test_beginning_imports_little() -> None:
    """Whatever is imported before the child that imports torch is started delays the whole check."""
    code = "import sys, envdoctor.facts.collect; print(sorted(m for m in sys.modules if m.split('.')[0] in %r))"
    heavy = [
        "asyncio",
        "click",
        "email",
        "importlib.metadata",
        "packaging",
        "rich",
        "torch",
        "tempfile",
        "uuid",
    ]
    outcome = process.run([sys.executable, "-c", code % (heavy,)], deadline=30, cwd=ROOT)
    assert outcome.out.strip() == "[]", outcome.err
    code = "import sys, envdoctor.facts.collect as _; print(*(f'envdoctor.{m}' in sys.modules for m in {!r}))"
    code = code.replace("{!r}", "('facts.model', 'facts.wire')")
    assert process.run([sys.executable, "-c", code], deadline=30, cwd=ROOT).out.strip() == "False False"


def test_finishing_waits_no_longer_than_the_deadlines(venv: Venv) -> None:
    venv.torch("import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(600)")
    started = time.monotonic()
    facts(venv, torch_deadline=1.0)
    assert time.monotonic() - started < 30


def test_a_check_loads_no_more_than_it_needs(venv: Venv) -> None:
    """Each of these takes as long to import as some twenty rules to judge, and none of them has a say in a check."""
    words = ["check", "--no-torch", "--target", "cpu", "--env", str(venv.path)]
    left = ("bz2", "shutil", "_hashlib", "packaging.pylock", "rich", "importlib.metadata", "uv", "yaml")
    program = (
        f"import os, sys; sys.argv = ['envdoctor', *{words!r}]\n"
        f"def leave(_): print([name for name in {left!r} if name in sys.modules], file=sys.stderr) or os.abort()\n"
        "os._exit = leave\n"
        "from envdoctor.__main__ import main; main()"
    )
    told = process.run([sys.executable, "-c", program], deadline=60)
    assert told.err.splitlines()[-1:] == ["[]"], told.err
