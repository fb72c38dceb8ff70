"""Run the probes side by side and put what they find together: `begin` starts them, `finish` waits.

Little is imported before the children run: the import of torch in the first of them takes longest, and everything that
the doctor does meanwhile costs nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envdoctor.errors import Trouble
from envdoctor.facts import answers
from envdoctor.facts.environment import Environment
from envdoctor.system import process, temporary

if TYPE_CHECKING:
    from envdoctor.facts.model import Facts

PROBES = Path(__file__).resolve().parent / "probe"
BARE = ("-I", "-S", str(PROBES / "__main__.py"))
QUICK = 20.0  # seconds for the probes that only read files: 0.1 s where disks are healthy
HASHING = 600.0  # with every file hashed: 5 GB took 2.5 s; a cold network disk takes minutes
COMPILING = 120.0  # for torch's first import, which compiles a thousand modules
NVML = 5.0  # nvmlInit takes 0.1 s with persistence mode, 1-2 s a GPU without (the driver starts up for the query)
CUINIT = 20.0  # on 8 GPUs without persistence mode cuInit was seen to take several seconds

# Files that show the NVIDIA driver (Linux, Jetson, WSL, Windows). None of them: nobody needs to be asked.
TRACES = (
    "/sys/module/nvidia", "/proc/driver/nvidia", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvhost-gpu", "/dev/nvgpu",
    "/usr/lib/wsl/lib/libcuda.so.1", "C:\\Windows\\System32\\nvml.dll",
)  # fmt: skip

SMI = ("/usr/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi", "/opt/bin/nvidia-smi")

# Would change or take over our children; they are taken away from them, and reported among the variables.
TAKEN = ("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "__PYVENV_LAUNCHER__")


class Collection:
    """Probes on their way. `finish` gives the facts; leaving the ``with`` block before that ends them without."""

    def __init__(
        self,
        environment: Environment,
        folder: Path,
        children: Mapping[str, process.Child],
        *,
        scripts: tuple[Path, ...],
        extra_variables: tuple[str, ...],
        again: Callable[[], Collection] | None = None,
    ) -> None:
        """``again`` begins anew, for an environment that was exchanged for another one meanwhile."""
        self.environment = environment
        self._folder = folder
        self._children = dict(children)
        self._scripts = scripts
        self._extra_variables = extra_variables
        self._again = again
        self._seen = _directory_mark(environment.path)
        self._quick: Facts | None = None

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def finish(self) -> Facts:
        """Wait for every probe and build the facts. A probe that died leaves its sections `Unavailable`, with why.

        An environment that a `fix` or an `undo` exchanges meanwhile is read again: half of each would look like damage.
        Raises `Trouble` only for a script of the user's that cannot be read.
        """
        import dataclasses

        from envdoctor.facts.model import Unavailable

        facts = self._finish()
        if _directory_mark(self.environment.path) == self._seen:
            return facts
        if self._again is not None:
            with self._again() as collection:
                return collection.finish()
        return dataclasses.replace(facts, packages=Unavailable(reason="the environment is being changed all the time"))

    def quick(self) -> Facts:
        """What is read from files, while torch may still be on its way: all facts but torch's own."""
        from envdoctor.facts import torch_section

        return torch_section.add_torch(self._without_torch(), None, ())

    def _without_torch(self) -> Facts:
        if self._quick is not None:
            return self._quick
        from envdoctor.facts import assembly

        torch = self._children.pop("torch", None)
        try:
            outcomes = {name: child.wait() for name, child in self._children.items()}
        finally:
            if torch is not None:
                self._children["torch"] = torch
        told = {name: answers.read(self._folder / f"{name}.json") for name in {**outcomes, "machine": None}}
        if "machine" not in outcomes:
            outcomes["machine"] = outcomes["environment"]
            if not told["machine"]:  # the environment's Python did not come that far: ours will
                outcomes["machine"] = process.run(
                    _of_machine(self._folder), deadline=QUICK, env=child_variables(os.environ)
                )
                told["machine"] = answers.read(self._folder / "machine.json")
        if any("error" in line for line in told.get("gpu", ())):
            outcomes.update(_smi())
        self._quick = assembly.quick(
            self.environment, outcomes, told, scripts=self._scripts, extra_variables=self._extra_variables
        )
        return self._quick

    def _finish(self) -> Facts:
        from envdoctor.facts import torch_section

        try:
            facts = self._without_torch()  # put together while torch is still being imported
            torch = self._children.get("torch")
            outcome = torch.wait() if torch is not None else None
            return torch_section.add_torch(
                facts, outcome, answers.read(self._folder / "torch.json"), self._extra_variables
            )
        finally:
            self.abandon()

    def abandon(self) -> None:
        """End all probes and remove their files."""
        for child in self._children.values():
            child.kill()
        self._children = {}
        temporary.remove(self._folder)


def begin(
    environment: Environment,
    *,
    torch: bool = True,
    deep: bool = False,
    flags_table: Path | None = None,
    scripts: Sequence[Path] = (),
    extra_variables: Iterable[str] = (),
    torch_deadline: float = 60.0,
    compiling: bool = False,
    attempts: int = 5,
) -> Collection:
    """Start all probes of ``environment`` and return at once.

    ``deep`` hashes every installed file. ``flags_table`` is trainer/flags.py, which reads torch's switches; without it
    they are unknown. ``scripts`` are read as text. ``extra_variables`` are names to report beside the allow-list.
    ``compiling`` leaves the bytecode of torch in an environment that has just been made, so that nobody waits for it.
    ``attempts`` is how often an environment is read that is exchanged for another one meanwhile.
    Raises `Trouble` when there is no such environment, or no place for the probes' answers.
    """
    environment.require()
    for script in scripts:
        if not os.path.isfile(script):
            raise Trouble("no such file", file=script, remedy="Check the path of the script.")
    folder = temporary.new_folder()
    children: dict[str, process.Child] = {}
    traces = any(map(os.path.exists, TRACES))
    clean = child_variables(os.environ)

    def start(name: str, argv: Sequence[str | Path], deadline: float) -> None:
        children[name] = process.Child(argv, deadline=deadline, env=clean)

    try:
        if torch:
            table = "" if flags_table is None else str(flags_table)
            arguments = [str(folder / "torch.json"), table, "device" if traces else ""]
            # As the environment itself would start: with its .pth files and user site, without our shell's PYTHON*.
            writing = () if compiling else ("-B",)
            limit = max(torch_deadline, COMPILING) if compiling else torch_deadline
            isolation = ["-E", *writing, "-X", "faulthandler", *(["-s"] if os.environ.get("PYTHONNOUSERSITE") else [])]
            start("torch", [environment.python, *isolation, PROBES / "torch_state.py", *arguments], limit)
        request = folder / "request.json"
        request.write_text(json.dumps(_request(environment, deep=deep, beside=torch)), encoding="utf-8")
        answer, machine = folder / "environment.json", folder / "machine.json"
        if deep or sys.platform != "linux":  # where one Python may be emulated, and see another machine
            limit = HASHING if deep else QUICK
            start("environment", [environment.python, *BARE, "environment", request, answer], limit)
            start("machine", _of_machine(folder), QUICK)
        else:  # each start of a Python costs as much as reading a machine's files
            start("environment", [environment.python, *BARE, "environment", request, answer, machine], QUICK)
        if traces:
            start("gpu", [sys.executable, "-I", PROBES / "gpu.py", folder / "gpu.json"], NVML)
            start("cuinit", [sys.executable, "-I", "-S", PROBES / "cuinit.py", folder / "cuinit.json"], CUINIT)
    except BaseException:
        for child in children.values():
            child.kill()
        temporary.remove(folder)
        raise
    return Collection(
        environment,
        folder,
        children,
        scripts=tuple(scripts),
        extra_variables=tuple(extra_variables),
        again=None
        if attempts <= 1
        else lambda: begin(
            environment,
            torch=torch,
            deep=deep,
            flags_table=flags_table,
            scripts=scripts,
            extra_variables=extra_variables,
            torch_deadline=torch_deadline,
            compiling=compiling,
            attempts=attempts - 1,
        ),
    )


def _of_machine(folder: Path) -> list[str | Path]:
    return [sys.executable, *BARE, "machine", folder / "request.json", folder / "machine.json"]


def _directory_mark(path: Path) -> tuple[int, int] | None:
    """Which directory lies at a path, and when it came there: a rename changes its time, there and back too."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


def child_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that probes get: all but those which would load foreign code into them or move Python's parts."""
    return {
        name: value
        for name, value in environ.items()
        if name not in TAKEN and (not name.startswith("PYTHON") or name == "PYTHONUSERBASE")
    }


def _request(environment: Environment, *, deep: bool, beside: bool) -> dict[str, Any]:
    paths = os.environ.get("PYTHONPATH", "")
    try:
        cwd = os.getcwd()
    except OSError:  # removed under our feet
        cwd = ""
    return {
        "cwd": cwd,
        "deep": deep,
        "beside": beside,  # torch is being imported meanwhile, which takes longest: it keeps a core to itself
        "prefix": str(environment.path),
        "python_path": [path for path in paths.split(os.pathsep) if path],
        "no_user_site": bool(os.environ.get("PYTHONNOUSERSITE")),
        "active": os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX"),
        "variables": {name: os.environ[name] for name in TAKEN if name in os.environ},
    }


def _smi() -> dict[str, process.Outcome]:
    """What nvidia-smi says once NVML has failed: the sentence that people search for. Not run from PATH."""
    for path in SMI:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            if status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022:
                return {"smi": process.run([path], deadline=NVML, env=child_variables(os.environ))}
    return {}


def read(path: Path) -> Facts:
    """Recorded facts (``envdoctor facts``, or ``write``). Raises `Trouble` naming the file and the place."""
    from envdoctor.facts import recorded

    return recorded.read(path)


def write(facts: Facts, path: Path) -> None:
    """Record facts, scrubbed for sharing. Raises `Trouble` when the file cannot be written."""
    from envdoctor.facts import recorded

    recorded.write(facts, path)


def to_document(facts: Facts) -> dict[str, Any]:
    """The JSON document that `write` writes."""
    from envdoctor.facts import recorded

    return recorded.to_document(facts)
