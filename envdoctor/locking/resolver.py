"""Asking uv which packages, versions and wheels satisfy some requirements, on every interpreter a stack may serve."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w
import uv

from envdoctor.document import read_toml
from envdoctor.errors import Trouble
from envdoctor.facts import Interpreter
from envdoctor.locking.inputs import Inputs
from envdoctor.locking.platforms import environments, place, python_ranges
from envdoctor.process import run
from envdoctor.stack import Stack

SECONDS = 600.0  # a cold universal resolution of a CUDA stack took 17 s; a slow index may take minutes


def resolve(
    inputs: Inputs,
    *,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    keep: Stack | None = None,
) -> dict[str, Any]:
    """uv's universal resolution as a pylock dict, still with addresses. Wheels only.

    ``options`` are uv's own (``--index``, ``--find-links``, ...); the versions of the lock ``keep`` are preferred.
    Raises `Trouble` with uv's words.
    """
    with tempfile.TemporaryDirectory(prefix="envdoctor-lock-") as folder:
        root = Path(folder)
        # The only door through which `uv pip compile` takes the environments to resolve for is a project's table.
        (root / "pyproject.toml").write_text(tomli_w.dumps({"tool": {"uv": {"environments": _whole(inputs.served)}}}))
        (root / "requirements.in").write_text("\n".join(inputs.requirements) + "\n", "utf-8")
        (root / "constraints.in").write_text("\n".join(inputs.constraints) + "\n", "utf-8")
        if keep is not None:
            (root / "pylock.answer.toml").write_text(_preferences(keep), "utf-8")
        outcome = run(
            [
                uv.find_uv_bin(), "pip", "compile", "requirements.in", "--constraints", "constraints.in",
                "--universal", "--format", "pylock.toml", "--output-file", "pylock.answer.toml",
                "--no-build", "--no-annotate", "--no-header", "--quiet",
                "--python-version", min((place(one)[0] for one in inputs.served), key=_minor),
                *(["--no-deps"] if inputs.exact else []),
                *(["--exclude-newer", inputs.exclude_newer] if inputs.exclude_newer else []),
                *options,
            ],
            deadline=SECONDS,
            cwd=root,
            env={**(os.environ if env is None else env), "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"},
        )  # fmt: skip
        if not outcome.ok:
            lines = [line for line in outcome.err.splitlines() if not line.startswith("warning: The requested Python")]
            raise Trouble(
                "\n".join([f"uv found no set of wheels for these requirements ({outcome.ending})", *lines]),
                remedy="Loosen the requirements, narrow the Pythons and machines, or name the index that has the wheels.",
                exit_code=3,
            )
        return read_toml(root / "pylock.answer.toml")


def _preferences(keep: Stack) -> str:
    """The versions of a lock, as uv reads them from the output file of an earlier run."""
    packages = []
    for package in keep.lock.packages:
        entry: dict[str, Any] = {"name": str(package.name), "version": str(package.version)}
        if package.marker is not None:
            entry["marker"] = str(package.marker)
        packages.append(entry)
    return tomli_w.dumps({"lock-version": "1.0", "created-by": "envdoctor", "packages": packages})


def _whole(served: Iterable[Interpreter]) -> list[str]:
    """Markers that state machine and Python both, one for each run of Pythons on a machine."""
    served = list(served)
    machines = sorted({place(one)[1] for one in served})
    return [
        f"{text} and {term}"
        for machine in machines
        for text in environments([one for one in served if place(one)[1] == machine])
        for term in python_ranges(place(one)[0] for one in served if place(one)[1] == machine)
    ]


def _minor(python: str) -> int:
    return int(python.partition(".")[2])
