"""The startup hook in real interpreters: started directly, as a module, as a subprocess, as a spawned worker."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from envdoctor.change.apply import apply
from envdoctor.change.undo import undo
from envdoctor.errors import Trouble
from envdoctor.launch import hook
from tests.change.conftest import World, make_environment, quiet, run, snapshot

Verify = Callable[[Path], str | None]

# A torch of three lines and a table of two flags: what is tested is when the flags are set, not what they do.
TORCH = "calls = ['imported']\n__version__ = '2.13.0'\n"
TABLE = """
class Flag:
    def __init__(self, name, values): self.name, self.values = name, values
FLAGS = [Flag("threads", "whole number of at least 1"), Flag("sdp", "list of names"),
         Flag("benchmark", "true or false"), Flag("allocator", "text")]
def apply(torch, values):
    if values.get("threads") == 13: raise ValueError("13 is refused")
    torch.calls.append(dict(values))
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment with the small torch and the hook."""
    make_environment(tmp_path / "env")
    site = _site(tmp_path / "env")
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text(TORCH)
    (tmp_path / "table.py").write_text(TABLE)
    return tmp_path / "env"


def _site(environment: Path) -> Path:
    return next(environment.glob("lib/python3*/site-packages"))


def _hook(
    environment: Path, flags: dict[str, str], variables: dict[str, str | None] | None = None, **options: object
) -> None:
    files = hook.render(flags, variables or {}, table=environment.parent / "table.py", **options)  # type: ignore[arg-type]
    hook.write(_site(environment), files)


def _python(environment: Path, *argv: str, **variables: str) -> str:
    return run(environment / "bin" / "python", *argv, **variables)


def test_flags_are_set_right_after_import(environment: Path) -> None:
    _hook(environment, {"threads": "4", "sdp": "cudnn, flash", "benchmark": "true", "allocator": "a:1,b:2"})
    set_to = {"benchmark": True, "sdp": ["cudnn", "flash"], "threads": 4, "allocator": "a:1,b:2"}
    assert eval(_python(environment, "-c", "import torch; print(torch.calls)")) == ["imported", set_to]


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import torch; print(torch.calls[1])'])",
        "import torch, importlib; importlib.reload(torch); print({'threads': 2} if len(torch.calls) == 1 else 0)",
        "import importlib.util; s = importlib.util.find_spec('torch'); import torch; print(torch.calls[1])",
        "import torch; assert 'exec_module' not in vars(torch.__loader__); print(torch.calls[1])",
        "import os, sys; os.execv(sys.executable, [sys.executable, '-I', '-c', 'import torch; print(torch.calls[1])'])",
    ],
    ids=["subprocess", "reloaded", "looked-up-first", "loader-restored", "isolated"],
)
def test_it_works_in(environment: Path, code: str) -> None:
    _hook(environment, {"threads": "2"})
    assert eval(_python(environment, "-c", code)) == {"threads": 2}


def test_it_works_in_modules_and_spawned_workers(environment: Path, tmp_path: Path) -> None:
    _hook(environment, {"threads": "2"}, {"WORKER_VARIABLE": "on"})
    (tmp_path / "job.py").write_text(
        "import multiprocessing, os\n"
        "def work(_):\n"
        "    import torch\n"
        "    return torch.calls[1], os.environ['WORKER_VARIABLE']\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [0])[0])\n"
    )
    assert eval(_python(environment, "-m", "job")) == ({"threads": 2}, "on")


def test_a_failed_import_of_torch_stays_one(environment: Path) -> None:
    _hook(environment, {"threads": "2"})
    (_site(environment) / "torch" / "__init__.py").write_text(
        "import os\nif 'BROKEN' in os.environ: raise ImportError('no')\n" + TORCH
    )
    code = (
        "import os; os.environ['BROKEN'] = '1'\n"
        "try:\n import torch\nexcept ImportError: pass\n"
        "del os.environ['BROKEN']\nimport torch\nprint(torch.calls)"
    )
    assert eval(_python(environment, "-c", code)) == ["imported", {"threads": 2}]


def test_a_refused_flag_warns_and_the_program_runs(environment: Path) -> None:
    _hook(environment, {"threads": "13"})
    code = "import warnings\nwith warnings.catch_warnings(record=True) as w:\n import torch\nprint(w[0].message)"
    assert "13 is refused" in _python(environment, "-c", code)


def test_nothing_is_printed_and_torch_is_not_imported(environment: Path) -> None:
    _hook(environment, {"threads": "2"}, {"A": "b"})
    done = subprocess.run(
        [environment / "bin" / "python", "-c", "import sys; assert 'torch' not in sys.modules"],
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_start_loads_nothing_that_is_not_loaded_anyway(environment: Path) -> None:
    code = "import sys; print(sorted(sys.modules))"
    before = set(eval(_python(environment, "-c", code)))
    _hook(environment, {"threads": "2"}, {"A": "b"})
    assert set(eval(_python(environment, "-c", code))) - before == {"_envdoctor_startup", "__future__"}


def test_variables(environment: Path) -> None:
    _hook(
        environment,
        {},
        {"PLAIN": "x y'\"\n", "WRONG": "right", "UNWANTED": None, "UNSEEN": None},
        present={"WRONG": "seen", "UNWANTED": "seen"},
    )
    names = "PLAIN WRONG UNWANTED UNSEEN".split()
    code = f"import os; print({{n: os.environ.get(n) for n in {names}}})"
    assert eval(_python(environment, "-c", code)) == {
        "PLAIN": "x y'\"\n", "WRONG": "right", "UNWANTED": None, "UNSEEN": None
    }  # fmt: skip
    seen = eval(_python(environment, "-c", code, WRONG="seen", UNWANTED="seen", UNSEEN="any"))
    assert (seen["WRONG"], seen["UNWANTED"], seen["UNSEEN"]) == ("right", None, None)
    chosen = eval(_python(environment, "-c", code, PLAIN="mine", WRONG="mine", UNWANTED="mine"))
    assert (chosen["PLAIN"], chosen["WRONG"], chosen["UNWANTED"]) == ("mine", "mine", "mine")


def test_a_later_hook_keeps_what_an_earlier_one_set(environment: Path) -> None:
    _hook(environment, {"threads": "2"}, {"A": "1"})
    _hook(environment, {"benchmark": "true"}, {"A": "2"}, earlier=hook.values(_site(environment)))
    code = "import torch, os; print(torch.calls[1], os.environ['A'])"
    assert _python(environment, "-c", code) == "{'benchmark': True, 'threads': 2} 2"


@pytest.mark.parametrize(
    ("flags", "variables", "problem"),
    [
        ({"tf33": "true"}, {}, "unknown flag 'tf33'"),
        ({"threads": "many"}, {}, "not a whole number"),
        ({"benchmark": "maybe"}, {}, "neither true nor false"),
        ({}, {"LD_LIBRARY_PATH": "/x"}, "read before any file"),
        ({}, {"A=B": "x"}, "not the name of a variable"),
        ({}, {"A": "x\0y"}, "not the name of a variable"),
    ],
)
def test_what_cannot_be_set_is_an_error_beforehand(
    environment: Path, flags: dict[str, str], variables: dict[str, str | None], problem: str
) -> None:
    with pytest.raises(Trouble, match=problem):
        _hook(environment, flags, variables)


def test_it_comes_and_goes_with_the_change(world: World, healthy: Verify) -> None:
    before = snapshot(world.environment)
    apply(world.change(flags={"threads": "2"}, variables={"A": "b"}, install=()), verify=healthy, progress=quiet)
    code = "import os; print(os.environ.get('A'))"
    assert _python(world.environment, "-c", code) == "b"
    apply(world.change(), verify=healthy, progress=quiet)
    assert _python(world.environment, "-c", code) == "b"
    undo(world.environment)
    undo(world.environment)
    assert _python(world.environment, "-c", code) == "None"
    assert snapshot(world.environment) == before


@pytest.mark.slow
def test_the_flags_of_the_real_torch(tmp_path: Path) -> None:
    """The environment borrows the packages of the Python that runs the tests."""
    make_environment(tmp_path / "env")
    site = _site(tmp_path / "env")
    (site / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    hook.write(site, hook.render({"float32-matmul-precision": "high", "sdp": "math,flash", "threads": "3"}, {}))
    code = (
        "import torch, _envdoctor_flags as f; v = f.read_all(torch);"
        " print([v['float32-matmul-precision'], v['sdp'], v['threads'], torch.get_num_threads()])"
    )
    assert eval(_python(tmp_path / "env", "-W", "error", "-c", code)) == ["high", ["math", "flash"], 3, 3]
    assert sys.executable != os.fspath(tmp_path / "env" / "bin" / "python")
