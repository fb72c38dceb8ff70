"""The startup hook: what makes flags and variables permanent for one environment, and for it alone.

Four small files beside the packages: a ``.pth`` line, which Python runs at its start (site's documentation), the code
it calls, the table of flags, and the same values once more as JSON for the next change to read.
"""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envdoctor import bundle
from envdoctor.errors import Trouble
from envdoctor.system.process import run

COMPILE_SECONDS = 30.0
PTH = "envdoctor-startup.pth"
_CODE = "_envdoctor_startup.py"
_TABLE = "_envdoctor_flags.py"
_VALUES = "_envdoctor_startup.json"
FILES = (PTH, _CODE, _TABLE, _VALUES)

# Read before Python runs any start-up file: by the dynamic loader, by the interpreter itself, by the allocator at load.
_TOO_EARLY = ("LD_", "PYTHON", "MALLOC_", "GLIBC_TUNABLES", "MIMALLOC_")


def too_early(name: str) -> str | None:
    """Why the hook cannot set this variable, or None. It then belongs into the shell's or the job's settings."""
    if name.startswith(_TOO_EARLY) and name != "PYTHONWARNINGS":
        return f"{name} is read before any file of the environment; set it where the program is started"
    return None


def values(library: Path) -> tuple[dict[str, str], dict[str, list[str | None]]]:
    """Flags and variables of the hook that is installed in this folder; both empty without one."""
    try:
        data = json.loads((library / _VALUES).read_text(encoding="utf-8"))
        return dict(data["flags"]), dict(data["variables"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}, {}


def render(
    flags: Mapping[str, str],
    variables: Mapping[str, str | None],
    *,
    earlier: tuple[Mapping[str, str], Mapping[str, list[str | None]]] = ({}, {}),
    present: Mapping[str, str] | None = None,
    table: Path | None = None,
) -> dict[str, str]:
    """The hook's files, name -> text, for these values on top of those an ``earlier`` change has set.

    ``present`` are the variables of the calling shell: the value found there is the one that was judged wrong, so it is
    replaced, while any other that somebody sets later wins over the hook. Raises `Trouble` for a flag that does not
    exist, a value of the wrong kind, and a variable that no start-up file can set.
    """
    table = table or bundle.flags_table()
    all_flags = {**earlier[0], **flags}
    values = typed_flags(all_flags, table)
    all_variables = dict(earlier[1])
    for name, value in variables.items():
        if (why := too_early(name)) is not None:
            raise Trouble(why, where=name)
        if "=" in name or "\0" in name + (value or "") or not name:
            raise Trouble(f"{name!r} is not the name of a variable", where="variables")
        all_variables[name] = [value, (present or {}).get(name)]
    line = f"import _envdoctor_startup as e; e.start({all_variables!a}, {values!a})"
    return {
        PTH: line + "\n",
        _CODE: (Path(__file__).parent / "startup.py").read_text(encoding="utf-8"),
        _TABLE: table.read_text(encoding="utf-8"),
        _VALUES: json.dumps({"flags": all_flags, "variables": all_variables}, indent=1, sort_keys=True) + "\n",
    }


def write(library: Path, files: Mapping[str, str]) -> None:
    """Put the hook's files into a folder of packages, each as a new file: older ones may be shared by hard link."""
    for name, text in files.items():
        (library / name).unlink(missing_ok=True)
        (library / name).write_text(text, encoding="utf-8")


def precompile(python: Path, library: Path, final: Path) -> bool:
    """Compile the hook for the environment's Python: under 1 ms at every start, not 6.

    Images often set PYTHONDONTWRITEBYTECODE. ``final`` is the folder that the bytecode names as its own.
    """
    code = "import py_compile, sys\nfor f, d in zip(sys.argv[1::2], sys.argv[2::2]): py_compile.compile(f, dfile=d)"
    pairs = [os.fspath(folder / name) for name in (_CODE, _TABLE) for folder in (library, final)]
    return run([python, "-I", "-c", code, *pairs], deadline=COMPILE_SECONDS).ok


def typed_flags(flags: Mapping[str, str], table: Path | None = None) -> dict[str, Any]:
    """Flags travel as text; the table says which kind of value each of them takes. Raises `Trouble` for other ones."""
    table = table or bundle.flags_table()
    known = {flag.name: str(flag.values) for flag in runpy.run_path(str(table))["FLAGS"]}
    return {name: _value(name, text, known) for name, text in sorted(flags.items())}


def _value(name: str, text: str, known: Mapping[str, str]) -> Any:
    if name not in known:
        raise Trouble(f"unknown flag {name!r}", remedy=f"The flags are {', '.join(sorted(known))}.")
    kind = known[name]
    if kind.startswith("list"):
        return [word.strip() for word in text.split(",") if word.strip()]
    if kind == "true or false":
        if text not in ("true", "false"):
            raise Trouble(f"flag {name}: {text!r} is neither true nor false", remedy="Correct the target file.")
        return text == "true"
    if kind.startswith("whole number"):
        if not text.isdecimal():
            raise Trouble(f"flag {name}: {text!r} is not a whole number", remedy="Correct the target file.")
        return int(text)
    return text
