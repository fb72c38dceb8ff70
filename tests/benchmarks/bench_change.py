"""How long do `fix` and `undo` take beside a bare ``uv pip install`` of the same packages? Interleaved rounds, medians.

    python tests/benchmarks/bench_change.py [--env OLD] [--target cpu] [--rounds 5] [--fix-only]

OLD is an environment with older packages than the target's lock asks for; it is only read. Without one it is made: the
lock's, but for 28 packages of early 2024 or without them. ``--fix-only`` leaves out what uv takes, and tells the
seconds of CPU too, which a busy machine disturbs less. Each round starts from two
fresh clones of it beside it (hard links): one is repaired with `fix`, then undone, the other one gets the very packages
that `fix` has changed from uv alone, from the same sources. Which of the two goes first alternates. Beside them uv puts
all packages of the lock into an empty environment, and the result imports torch once: what a person would type to get
the same and to see that it works. A first round, which fills uv's cache, is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from envdoctor import doctor  # noqa: E402
from envdoctor.change.clone import clone  # noqa: E402
from envdoctor.change.installers import find_uv  # noqa: E402
from envdoctor.facts.environment import locate  # noqa: E402
from envdoctor.rules.checkup import CheckOptions  # noqa: E402
from envdoctor.sources import sources  # noqa: E402
from envdoctor.system import process  # noqa: E402
from envdoctor.system.process import Outcome  # noqa: E402

# What the design promises: a change within three times uv's own time and six seconds, an undo within a fifth of one.
GOAL_RATIO, GOAL_FIX, GOAL_UNDO = 3.0, 6.0, 0.2


# What an environment of early 2024 held where today's lock for CPUs has something newer; and what it did not have.
EARLY_2024 = """
accelerate==0.30.1 datasets==2.19.1 dill==0.3.8 filelock==3.14.0 fsspec==2024.3.1 huggingface-hub==0.23.5 idna==3.7
jinja2==3.1.4 multiprocess==0.70.16 networkx==3.3 numpy==1.26.4 packaging==24.2 pandas==2.2.3 peft==0.11.1
psutil==5.9.8 pyarrow==16.1.0 pyyaml==6.0.1 regex==2024.5.15 safetensors==0.4.3 tokenizers==0.19.1 tqdm==4.66.6
transformers==4.41.2 typing-extensions==4.12.2 tzdata==2024.2 xxhash==3.4.2
""".split()
NOT_YET = ("hf-xet", "truststore", "typer")


def early_2024(environment: Path) -> Path:
    """An environment of the lock for CPUs but for 28 packages, as people still have them."""
    envdoctor("fix", "--target", "cpu", "--env", environment, "--yes", "--format", "json")
    uv, python = find_uv() or "uv", environment / "bin" / "python"
    found = sources.read(environment, variables=os.environ, folder=Path.cwd())
    older = ("install", "--quiet", "--no-deps", "--no-config", "--compile-bytecode", "--python", python, *EARLY_2024)
    for words in (older, ("uninstall", "--quiet", "--python", python, *NOT_YET)):
        outcome = process.run([uv, "pip", *words], deadline=600, env=found.uv)
        if not outcome.ok:
            raise SystemExit(f"uv pip {words[0]}: {outcome.ending}\n{outcome.err}")
    return environment


def envdoctor(*words: str | Path) -> Outcome:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    outcome = process.run([sys.executable, "-m", "envdoctor", *words], deadline=600, cwd=ROOT, env=clean)
    if outcome.code not in (0, 1):
        raise SystemExit(f"envdoctor {' '.join(map(str, words))}: {outcome.ending}\n{outcome.err}")
    return outcome


@contextmanager
def copy_of(environment: Path, folder: Path, name: str) -> Iterator[Path]:
    """A clone that knows itself by its own path; deleted afterwards, with what `fix` keeps beside it."""
    target = folder / name
    clone(environment, target)
    for script in (target / "bin").iterdir():
        if script.is_file() and not script.is_symlink() and script.stat().st_size < 100_000:
            data = script.read_bytes()
            if os.fsencode(environment) in data:  # scripts are copies in a clone, never links
                script.write_bytes(data.replace(os.fsencode(environment), os.fsencode(target)))
    try:
        yield target
    finally:
        for path in (target, *folder.glob(f".envdoctor-{name}*")):
            shutil.rmtree(path, ignore_errors=True)


def repaired(environment: Path, target: str) -> tuple[float, float, float, list[str]]:
    """Seconds of a `fix` and of two undos (the whole command, and the exchange alone), and what was installed."""
    fixed = envdoctor("fix", "--target", target, "--env", environment, "--yes", "--format", "json")
    change = json.loads(fixed.out)["change"]
    if not change["changed"]:
        raise SystemExit(f"{environment}: nothing to change for target {target}; name an older environment")
    undone = envdoctor("undo", "--env", environment, "--format", "json")
    pins = [f"{package['name']}=={package['after']}" for package in change["packages"]]
    return fixed.seconds, undone.seconds, json.loads(undone.out)["seconds"], pins


def by_uv(environment: Path, pins: Sequence[str]) -> float:
    found = sources.read(environment, variables=os.environ, folder=Path.cwd())
    words = ("--quiet", "--no-deps", "--no-config", "--python", environment / "bin" / "python")
    outcome = process.run([find_uv() or "uv", "pip", "install", *words, *pins], deadline=600, env=found.uv)
    if not outcome.ok:
        raise SystemExit(f"uv pip install: {outcome.ending}\n{outcome.err}")
    return outcome.seconds


def anew_by_uv(base: Path, folder: Path, pins: Sequence[str]) -> tuple[float, float]:
    """Seconds of an installation of everything into an empty environment, and of one import of torch in it."""
    environment = folder / "anew"
    uv = find_uv() or "uv"
    made = process.run(
        [uv, "venv", "--quiet", "--no-config", "--python", base / "bin" / "python", environment], deadline=60
    )
    if not made.ok:
        raise SystemExit(f"uv venv: {made.ending}\n{made.err}")
    try:
        seconds = by_uv(environment, pins)
        imported = process.run([environment / "bin" / "python", "-c", "import torch"], deadline=600)
        if not imported.ok:
            raise SystemExit(f"import torch: {imported.ending}\n{imported.err}")
        return seconds, imported.seconds
    finally:
        shutil.rmtree(environment, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--env", type=Path)
    parser.add_argument("--fix-only", action="store_true", help="time `fix` and `undo` alone")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.env is None:
        with tempfile.TemporaryDirectory(prefix="bench-change-early-2024-", dir=Path.home()) as made:
            rounds(early_2024(Path(made, "old")), arguments)
    else:
        rounds(arguments.env.resolve(), arguments)


def rounds(old: Path, arguments: argparse.Namespace) -> None:

    def pressure() -> str:
        return Path("/proc/pressure/cpu").read_text().splitlines()[0]

    print(f"{old} -> {arguments.target}, {arguments.rounds} rounds; {pressure()}")
    rows: list[tuple[float, float, float, float, float, float]] = []
    pins: list[str] = []
    choice = doctor.examine(locate(old), CheckOptions(target=arguments.target, torch=False)).target.choice
    every = [f"{pin.name}=={pin.version}" for pin in choice.pins] if choice else []
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-change-", dir=old.parent) as name:
        folder = Path(name)
        for number in range(arguments.rounds + 1):
            uv = 0.0
            if arguments.fix_only:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                with copy_of(old, folder, "repaired") as environment:
                    fix, undo, exchange, pins = repaired(environment, arguments.target)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                print(f"  fix {fix:6.2f} s  undo {undo:.3f} s  CPU of both {used:.2f} s", flush=True)
                if number:
                    rows.append((fix, fix, undo, exchange, fix, fix))
                continue
            if number % 2 == 0 and pins:
                with copy_of(old, folder, "plain") as environment:
                    uv = by_uv(environment, pins)
            with copy_of(old, folder, "repaired") as environment:
                fix, undo, exchange, pins = repaired(environment, arguments.target)
            if not uv:
                with copy_of(old, folder, "plain") as environment:
                    uv = by_uv(environment, pins)
            whole, imported = anew_by_uv(old, folder, every)
            what = "not counted" if number == 0 else f"ratio {fix / uv:.2f}"
            print(
                f"  fix {fix:6.2f} s  uv {uv:6.2f} s  uv anew {whole:6.2f} s + import {imported:.2f} s  "
                f"undo {undo:.3f} s (exchange {exchange:.3f} s)  {what}",
                flush=True,
            )
            if number:
                rows.append((fix, uv, undo, exchange, whole, imported))
    print(f"{len(pins)} packages: {', '.join(pins)}")
    fixes, uvs, undos, exchanges, wholes, imports = zip(*rows, strict=True)
    if arguments.fix_only:
        print(f"fix: median {statistics.median(fixes):.2f} s, best {min(fixes):.2f} s; {pressure()}")
        return
    ratio = statistics.median(fix / uv for fix, uv in zip(fixes, uvs, strict=True))
    print(f"fix / uv pip install: median {ratio:.2f} (goal: at most {GOAL_RATIO:g})")
    anew = statistics.median(fix / one for fix, one in zip(fixes, wholes, strict=True))
    print(
        f"fix / uv pip install of all {len(every)} packages into an empty environment "
        f"({statistics.median(wholes):.2f} s, and {statistics.median(imports):.2f} s for torch): median {anew:.2f}"
    )
    print(f"fix: median {statistics.median(fixes):.2f} s, best {min(fixes):.2f} s (goal: under {GOAL_FIX:g} s)")
    print(f"uv pip install: median {statistics.median(uvs):.2f} s, best {min(uvs):.2f} s")
    print(
        f"undo: median {statistics.median(undos):.3f} s with its Python's start, "
        f"{statistics.median(exchanges):.3f} s by itself (goal: under {GOAL_UNDO:g} s)"
    )
    print(f"{pressure()}; {time.monotonic() - started:.0f} s in all")


if __name__ == "__main__":
    main()
