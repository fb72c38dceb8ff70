"""Asking uv which packages, versions and wheels satisfy some requirements, on every interpreter a stack is to serve."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from envdoctor.change import failure
from envdoctor.change.installers import find_uv
from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter
from envdoctor.locks.platforms import environments, place, python_ranges
from envdoctor.locks.stack import Stack
from envdoctor.locks.writing.inputs import Inputs
from envdoctor.locks.writing.trim import with_addresses
from envdoctor.sources.sources import Sources
from envdoctor.system import temporary
from envdoctor.system.process import Outcome, run
from envdoctor.values.document import read_toml

MEMORY = 6 * 2**30  # bytes of address space; the largest universal resolution of a CUDA stack took 0.9 GB
SECONDS = 600.0  # a cold universal resolution of a CUDA stack took 17 s; a slow index may take minutes
# What uv says of a release of which an index holds the wheels of some platforms only.
_PARTIAL = re.compile(r"has no (?:\S.{0,400}-compatible wheels|wheels with a matching)", re.DOTALL)


class Unreachable(Trouble):
    """No answer from a network: asking again, or for less, would not help."""


def resolve(inputs: Inputs, sources: Sources, *, keep: Stack | None = None, seconds: float = SECONDS) -> dict[str, Any]:
    """uv's universal resolution as a pylock dict, still with addresses. Wheels only.

    The versions of the lock ``keep`` are preferred. A build with a local label ("2.11.0+cu128") that the sources lack
    is looked for where uv's torch backends know it to be. Raises `Trouble` with uv's words.
    """
    with temporary.folder() as root:
        # The only door through which `uv pip compile` takes the environments to resolve for is a project's table.
        (root / "pyproject.toml").write_text(tomli_w.dumps({"tool": {"uv": {"environments": _whole(inputs.served)}}}))
        (root / "requirements.in").write_text("\n".join(inputs.requirements) + "\n", "utf-8")
        (root / "constraints.in").write_text("\n".join(inputs.constraints) + "\n", "utf-8")
        answer = root / "pylock.answer.toml"
        outcome = None
        variables = _environment(sources, root)
        ways = [((), variables), *((("--torch-backend", label), variables) for label in labels(inputs.requirements))]
        for backend, environment in ways:  # grows while it runs: a partial mirror is asked last the second time
            answer.unlink(missing_ok=True)
            if keep is not None:
                answer.write_text(_preferences(keep), "utf-8")
            argv = _limit_memory(_command(inputs, sources, answer, backend))
            attempt = run(argv, deadline=seconds, cwd=root, env=environment, leash=True)
            if attempt.ok:
                return with_addresses(read_toml(answer), root)
            outcome = outcome or attempt
            if failure.understand(attempt.err, ()).cause == "network":
                break  # another way to ask would wait as long
            if environment is variables and _PARTIAL.search(attempt.err) and sources.extra:
                ways += [(backend, _main_index_first(variables, root))]
        assert outcome is not None
        raise _trouble(outcome, sources)


def _command(inputs: Inputs, sources: Sources, answer: Path, backend: tuple[str, ...]) -> list[str]:
    uv = find_uv()
    if uv is None:
        raise Trouble("uv was not found", remedy="Install it beside envdoctor: pip install uv", exit_code=3)
    oldest = min((place(one)[0] for one in inputs.served), key=lambda python: int(python.partition(".")[2]))
    return [
        uv, "pip", "compile", "requirements.in", "--constraints", "constraints.in",
        "--universal", "--python", sys.executable, "--python-version", oldest, "--no-build",
        "--format", "pylock.toml", "--output-file", str(answer), "--no-annotate", "--no-header", "--quiet",
        *(["--no-index"] if sources.uv.get("UV_NO_INDEX") else []),  # uv 0.13 has no such variable, only the option
        *(["--no-deps"] if inputs.exact else []),
        *(["--exclude-newer", inputs.exclude_newer] if inputs.exclude_newer else []),
        *inputs.options,
        *backend,
    ]  # fmt: skip


def _main_index_first(variables: Mapping[str, str], root: Path) -> dict[str, str]:
    """The sources with the main index before the others: of one release uv sees the first index's files only.

    Which index that is where nobody configured one uv says itself.
    """
    main = variables.get("UV_DEFAULT_INDEX")
    if main is None:
        argv = [find_uv() or "uv", "pip", "compile", "-", "--emit-index-url", "--no-header", "--quiet"]
        asked = run(argv, deadline=30.0, cwd=root, env=dict(variables))
        found = re.search(r"^--index-url (\S+)", asked.out, re.MULTILINE)
        main = found[1] if found else ""
    return {**variables, "UV_INDEX": f"{main} {variables.get('UV_INDEX', '')}".strip()}


def _limit_memory(argv: list[str]) -> list[str]:
    """With a limit to its memory: an index may send without end, and uv reads on until none is left."""
    if sys.platform != "linux" or not os.access("/bin/sh", os.X_OK):
        return argv
    return ["/bin/sh", "-c", f'ulimit -v {MEMORY // 1024} 2>/dev/null; exec "$@"', "sh", *argv]


def _environment(sources: Sources, root: Path) -> dict[str, str]:
    """The user's sources, with the project's table of this resolution as the only configuration file."""
    variables = {key: value for key, value in sources.uv.items() if key != "UV_NO_CONFIG"}
    variables.setdefault("UV_HTTP_RETRIES", "2")  # uv's three take 4 s to say that there is no network
    return variables | {"XDG_CONFIG_HOME": str(root / "none"), "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}


def labels(requirements: Sequence[str]) -> list[str]:
    """Local labels of torch builds among exact requirements ("cu128", "cpu"), each once."""
    found: dict[str, None] = {}
    for requirement in map(Requirement, requirements):
        for clause in requirement.specifier:
            try:
                label = Version(clause.version).local or ""
            except InvalidVersion:
                continue
            if re.fullmatch(r"cpu|cu\d+|rocm[\d.]+|xpu", label):
                found[label] = None
    return list(found)


def _trouble(outcome: Outcome, sources: Sources) -> Trouble:
    lines = [line for line in outcome.err.splitlines() if not line.startswith("warning: The requested Python version")]
    starved = "memory allocation" in outcome.err or "out of memory" in outcome.err.lower()
    if outcome.timed_out or outcome.not_started or (outcome.code or 0) < 0 or starved:
        # It said nothing about the requirements, and so nothing is said about them.
        why = (
            f"ran out of its {MEMORY / 2**30:.0f} GB of memory"
            if starved
            else f"ended without an answer ({outcome.ending})"
        )
        return Trouble(
            sources.redact("\n".join([f"uv {why}, so nothing was resolved", *lines[-5:]])),
            remedy="Look at what the index serves, and whether this machine has memory to spare; then try again.",
            exit_code=3,
        )
    if failure.understand(outcome.err, ()).cause == "network":
        return Unreachable(
            sources.redact("\n".join([f"the network fails, so nothing could be resolved ({outcome.ending})", *lines])),
            remedy="Check connection, proxy and index.",
            exit_code=3,
        )
    if (partial := _PARTIAL.search(outcome.err)) and sources.extra:
        release = _partial_release(outcome.err[: partial.start()])
        indexes = sources.redact(", ".join(sources.extra))
        return Trouble(
            sources.redact(
                "\n".join([f"no index has {release} for every machine that is served ({outcome.ending})", *lines])
            ),
            remedy=f"One of these may hold only some of its wheels, and uv takes a release from the first index that "
            f"has it: {indexes}. Leave it out (PIP_CONFIG_FILE={os.devnull}), or serve fewer Pythons or machines.",
            exit_code=3,
        )
    return Trouble(
        sources.redact("\n".join([f"uv found no set of wheels for these requirements ({outcome.ending})", *lines])),
        remedy="Loosen the requirements, serve fewer Pythons or machines, or name the index that has the wheels.",
        exit_code=3,
    )


def _partial_release(before: str) -> str:
    """The release that uv speaks of last: "name==1.0" or "name{a marker}==1.0"."""
    found = re.search(r"([\w.-]+)(?:\{[^{}]*\})?(==\S+)?\s*$", before)
    return f"{found[1]}{found[2] or ''}" if found else "a release"


def _preferences(keep: Stack) -> str:
    """The versions of a lock, as uv reads them from the output file of an earlier run."""
    packages = []
    for package in keep.lock.packages:
        entry: dict[str, Any] = {"name": str(package.name), "version": str(package.version)}
        if package.marker is not None:
            entry["marker"] = str(package.marker)
        packages.append(entry)
    return tomli_w.dumps({"lock-version": "1.0", "created-by": "envdoctor", "packages": packages})


def _whole(served: Sequence[Interpreter]) -> list[str]:
    """Markers that state machine and Pythons both, one for each unbroken run of Pythons on a machine."""
    answer = []
    for machine in sorted({place(one)[1] for one in served}):
        own = [one for one in served if place(one)[1] == machine]
        answer += [
            f"{text} and {term}" for text in environments(own) for term in python_ranges(place(o)[0] for o in own)
        ]
    return answer
