"""What others wrote and we read: targets, configurations, reports, cards, notebooks."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.change.bench import Attack, Bench, adder
from tests.change.strange.telling import ODD, plain, told

ATTACKS: dict[str, Attack] = {}
attack = adder(ATTACKS)


# --- targets with baselines, as they are handed on

BASELINE = (
    '[[baseline]]\nworkload = "w"\nstack = "small"\nevidence = "measured"\nwindows = [[1.0, 1.0], [1.0], [1.0]]\n'
)


def _target(b: Bench, baseline: str) -> Path:
    path = b.target.parent / "theirs.toml"
    path.write_text(b.target.read_text() + baseline, "utf-8", errors="surrogatepass")
    return path


def _shown(b: Bench, baseline: str, codes: Sequence[int], what: str) -> str:
    path = _target(b, baseline)
    said = told(b, ["baseline", "show", "--target", str(path)], codes, f"{what}, show")
    told(b, ["baseline", "show", "--target", str(path), "--format", "json"], codes, f"{what}, json")
    return said


@attack
def baseline_of_impossible_numbers(b: Bench, chance: random.Random) -> None:
    """NaN, infinity, zero, below zero, true, text, nothing, a date: refused with the line."""
    for number in ("nan", "inf", "-inf", "0", "-1.5", "true", '"9"', "[1]", "1979-05-27", "9" * 400, "1e999"):
        said = _shown(b, BASELINE.replace("1.0, 1.0", f"1.0, {number}"), [2, 3], number[:9])
        b.expect("theirs.toml" in said and "line" in said, f"{number[:9]}: no line: {said[:200]}")


@attack
def baseline_of_odd_sizes(b: Bench, chance: random.Random) -> None:
    """Numbers at the ends of what a float holds, one process, one window, none: shown or refused, no traceback."""
    for windows in (
        "[[1e308, 1e308], [1e308]]",
        "[[5e-324]]",
        "[[1e-300, 1e300]]",
        "[[1.0]]",
        "[]",
        "[[]]",
        "[[[1.0]]]",
    ):
        _shown(b, BASELINE.replace("[[1.0, 1.0], [1.0], [1.0]]", windows), [0, 2, 3], windows)


@attack
def baseline_with_a_million_numbers(b: Bench, chance: random.Random) -> None:
    """4 MB of windows: shown or refused in seconds, in few words."""
    many = "[" + ",".join(["1.5"] * 900_000) + "]"
    path = _target(b, BASELINE.replace("[1.0, 1.0]", many))
    began = time.monotonic()
    said = told(b, ["baseline", "show", "--target", str(path)], [0, 2, 3], "a million")
    b.expect(len(said) < 5_000, f"{len(said)} characters")
    b.expect(time.monotonic() - began < 30, "slow")


@attack
def baseline_with_steering_texts(b: Bench, chance: random.Random) -> None:
    """Escapes, markup and annotations as GPU, source, workload and lock: refused, or harmless in every output."""
    quoted = json.dumps(ODD)
    for key in ("gpu", "source", "lock", "workload", "stack", "colour"):
        extra = "\n".join(line for line in BASELINE.splitlines() if not line.startswith(f"{key} "))
        _shown(b, f"{extra}\n{key} = {quoted}\n", [0, 2, 3], key)
    for key in ("title", "flags", "sources", "conditions"):
        path = b.target.parent / "theirs.toml"
        text = b.target.read_text()
        replaced = {"title": text.replace('"CPU"', quoted), "flags": text.replace("[flags]", f"[flags]\n{quoted} = 1")}
        path.write_text(replaced.get(key, text + f"[{key}]\na = {quoted}\n"))
        told(b, ["check", "--no-torch", "--target", str(path), "--env", str(b.world.environment)], [0, 1, 2, 3], key)


@attack
def baseline_named_as_a_path_or_a_command(b: Bench, chance: random.Random) -> None:
    """A workload called ../../x or $(touch x): `verify` and `record` refuse it by name and write nothing."""
    for name in ("../../../escaped", "$(touch escaped)", "; touch escaped;", "-rf", "/etc/passwd", "a" * 5000):
        path = _target(b, BASELINE.replace('"w"', json.dumps(name)))
        for words in (["verify"], ["baseline", "record"]):
            given = [*words, "--target", str(path), "--env", str(b.world.environment), f"--workload={name}"]
            said = told(b, given, [2, 3], f"{words[-1]} {name[:20]}")
            b.expect(len(said) < 8_000, f"{words[-1]} {name[:20]}: {len(said)} characters")
    b.expect(not list(b.folder.rglob("escaped*")), "something was made")


@attack
def baselines_kept_that_are_not_ours(b: Bench, chance: random.Random) -> None:
    """Kept runs of `run --repeat-baseline` that are broken, of odd types or a link: a sentence with the file."""
    state = b.folder / "state"
    kept = state / "envdoctor" / "baselines"
    kept.mkdir(parents=True)
    program = b.folder / "train.py"
    program.write_text("print('done')\n")
    sound = ["run", "--repeat-baseline", "new", "--", sys.executable, "-V"]
    told(b, sound, [0], "sound", env={"XDG_STATE_HOME": str(state)})
    for content in ("", "[]", "{", '{"schema": 1, "runs": 7}', '{"schema": 1, "runs": [7, null, {"windows": "x"}]}',
                    '{"schema": 1, "runs": [{"schema": 1, "windows": [{"rate": NaN}]}]}', "[" * 99_999):  # fmt: skip
        (kept / "mine.json").write_text(content)
        python = b.world.environment / "bin" / "python"
        words = ["run", "--repeat-baseline", "mine", "--", str(python), str(program)]
        told(b, words, [2, 3], content[:20], env={"XDG_STATE_HOME": str(state)})
    for name in ("../../x", "a/b", ".hidden", "x" * 300, "a\nb", ODD[:40], ""):
        said = told(b, ["run", f"--repeat-baseline={name}", "--", sys.executable, "-V"], [2], f"name {name!r:.20}")
        b.expect(len(said) < 3_000, "long")


# --- envdoctor.toml of a repository that was cloned


def _project(b: Bench, text: str) -> Path:
    project = b.folder / "project"
    project.mkdir(exist_ok=True)
    (project / "envdoctor.toml").write_text(text, "utf-8")
    return project


@attack
def configuration_of_odd_texts(b: Bench, chance: random.Random) -> None:
    """NUL, escapes, newlines, a megabyte, a surrogate as every key's value: a sentence."""
    for key in ("target", "stack", "env", "select", "ignore", "fail-on", "script", "dockerfile", "price", "targets"):
        for value in ("a\0b", ODD, "line\nline", "x" * 1_000_000, "", " ", "-", "--help", "../" * 2_000):
            project = _project(b, f"{key} = {json.dumps(value)}\n".replace("\\u007f", ""))
            words = ["check", "--no-torch"] + ([] if key == "env" else ["--env", str(b.world.environment)])
            said = told(b, words, [0, 1, 2, 3], f"{key} {value!r:.12}", cwd=project)
            b.expect(len(said) < 6_000, f"{key} {value!r:.12}: {len(said)} characters")


@attack
def configuration_that_points_at_devices(b: Bench, chance: random.Random) -> None:
    """Scripts, images and targets at /dev/zero, a pipe, a folder, /proc/self/mem: no wait without end, no traceback."""
    os.mkfifo(b.folder / "pipe")
    for key in ("script", "dockerfile", "target", "env"):
        for place in ("/dev/zero", "/dev/urandom", str(b.folder), "/proc/self/mem", "/dev/full"):
            project = _project(b, f"{key} = {json.dumps(place)}\n")
            words = ["check", "--no-torch"] + ([] if key == "env" else ["--env", str(b.world.environment)])
            told(b, words, [0, 1, 2, 3], f"{key} {place}", cwd=project)


@attack
def configuration_that_asks_git_for_a_program(b: Bench, chance: random.Random) -> None:
    """Targets from addresses that are options or programs to git and ssh: nothing is run, nothing is made."""
    canary = b.folder / "escaped"
    digest = "0" * 64
    for address in (
        f"git+ext::sh -c touch% {canary}/x#path=locks/t.toml&sha256={digest}",
        f"git+--upload-pack=touch {canary}#path=t.toml&sha256={digest}",
        f"git+ssh://-oProxyCommand=touch${{IFS}}{canary}/x#path=t.toml&sha256={digest}",
        f"git+https://example.invalid/x@--upload-pack=touch {canary}#path=t.toml&sha256={digest}",
        f"git+file://{b.folder}/x@-c core.fsmonitor=touch {canary}#path=t.toml&sha256={digest}",
        f"file:///etc/passwd#sha256={digest}",
        f"http://127.0.0.1:9/t.toml#sha256={digest}",
        f"https://127.0.0.1:9/../../t.toml#sha256={digest}",
    ):
        for key in ("target", "targets"):
            project = _project(b, f"{key} = {json.dumps(address)}\n")
            said = told(
                b, plain(b, *(("--target", "t") if key == "targets" else ())), [2, 3], address[:30], cwd=project
            )
            b.expect("root:" not in said, f"{address[:30]}: a file of the system is told")
    b.expect(not canary.exists(), "a program was run")


@attack
def configuration_that_reads_secrets(b: Bench, chance: random.Random) -> None:
    """Keys that point at a private file: its text is in no output."""
    secret = b.folder / "id_ed25519"
    secret.write_text("-----BEGIN KEY-----\nhunter2hunter2\nexport TOKEN=hunter2hunter2\n")
    for key in ("target", "script", "dockerfile", "stack", "env"):
        project = _project(b, f"{key} = {json.dumps(str(secret))}\n")
        words = ["check", "--no-torch", "--verbose"] + ([] if key == "env" else ["--env", str(b.world.environment)])
        said = told(b, words, [0, 1, 2, 3], key, cwd=project)
        b.expect("hunter2" not in said, f"{key}: the secret is told: {said[:300]}")


# --- reports of a fleet


def _facts(b: Bench) -> dict[str, Any]:
    done = b.run(["facts", "--no-torch", "--env", str(b.world.environment)], codes={0})
    return dict(json.loads(done.stdout))


def _fleet(b: Bench, folder: Path, codes: Sequence[int] = (0, 1, 3), *more: str) -> str:
    page = b.folder / "fleet.html"
    said = told(b, ["fleet", str(folder), "--output", f"html={page}", *more], codes, folder.name)
    if page.exists():
        text = page.read_text("utf-8", errors="replace")
        b.expect("<script>alert" not in text, f"{folder.name}: a script in the page")
        page.unlink()
    return said


@attack
def fleet_with_pipes_and_devices(b: Bench, chance: random.Random) -> None:
    """A folder of reports with a pipe, /dev/zero, links in circles, a folder x.json: not waited for."""
    facts, folder = _facts(b), b.folder / "reports"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.json").write_text(json.dumps(facts))
    os.mkfifo(folder / "pipe.json")
    (folder / "zero.json").symlink_to("/dev/zero")
    (folder / "circle.json").symlink_to("circle.json")
    (folder / "folder.json").mkdir()
    (folder / "up").symlink_to("..")
    (folder / "terminal.json").symlink_to("/dev/tty")
    (folder / "ticks.json").symlink_to("/proc/kmsg")
    _fleet(b, folder, (0, 1, 3))


@attack
def fleet_of_steering_names(b: Bench, chance: random.Random) -> None:
    """Machines, packages and settings whose names steer: harmless as text, JSON and page."""
    facts, folder = _facts(b), b.folder / "reports"
    folder.mkdir()
    for number, name in enumerate((ODD.replace("/", "_"), "plain", "-rf", "..json", "\n\n::error::taken")):
        one = json.loads(json.dumps(facts))
        one["facts"][f"key {ODD}"] = ODD
        for package in (one["facts"].get("environment") or one["facts"].get("packages") or {}).get("packages", [])[:1]:
            package["name"], package["version"] = ODD, f"{ODD}{number}"
        one["facts"]["settings"] = {"variables": {ODD: f"{ODD} {number}"}}
        (folder / f"{name}.json").write_text(json.dumps(one))
    _fleet(b, folder)


@attack
def fleet_of_huge_and_deep_reports(b: Bench, chance: random.Random) -> None:
    """Versions of a megabyte, 100,000 packages, arrays 50,000 deep, 70 MB of one file: bounded in time and words."""
    facts, folder = _facts(b), b.folder / "reports"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.json").write_text(json.dumps(facts))
    long = json.loads(json.dumps(facts))
    long["facts"]["hardware"] = {"gpus": [{"name": "x" * 1_000_000, "memory": 10**300}]}
    (folder / "long.json").write_text(json.dumps(long))
    (folder / "deep.json").write_text('{"schema": 1, "facts": ' + "[" * 50_000 + "]" * 50_000 + "}")
    (folder / "deeper.json").write_text('{"schema": 1, "facts": {"packages": ' + '{"a":' * 900 + "1" + "}" * 900 + "}}")
    many = json.loads(json.dumps(facts))
    many["facts"]["packages"] = [{"name": f"p{n}", "version": "1"} for n in range(100_000)]
    (folder / "many.json").write_text(json.dumps(many))
    os.truncate(_made(folder / "huge.json"), 70 << 20)
    _fleet(b, folder)


def _made(path: Path) -> Path:
    path.touch()
    return path


@attack
def fleet_of_lying_speeds(b: Bench, chance: random.Random) -> None:
    """NaN, infinity, below zero, 10^400, text as speeds: nobody is called slow or fast by them, no traceback."""
    facts, folder = _facts(b), b.folder / "reports"
    folder.mkdir()
    for number, speed in enumerate(
        ("NaN", "Infinity", "-Infinity", "-5", "0", "1e999", "9" * 400, '"x"', "[1]", "true")
    ):
        text = json.dumps({**facts, "verdict": "as-expected", "workload": "w", "steps_per_second": 123456789})
        (folder / f"m{number}.json").write_text(text.replace("123456789", speed))
    for number in range(4):
        text = json.dumps({**facts, "verdict": "as-expected", "workload": "w", "steps_per_second": 5.0 + number / 100})
        (folder / f"sound{number}.json").write_text(text)
    said = _fleet(b, folder)
    b.expect("nan" not in said.lower().replace("resonan", "") and "inf " not in said.lower(), f"told: {said[:400]}")


@attack
def fleet_of_odd_types(b: Bench, chance: random.Random) -> None:
    """Each part of a report replaced by each other type: read, or its reason is told."""
    facts, folder = _facts(b), b.folder / "reports"
    folder.mkdir()
    for number, key in enumerate([*facts, *facts["facts"]]):
        for kind, value in enumerate((None, 7, "x", [], {}, [None], {"a": None}, True, -1)):
            one = json.loads(json.dumps(facts))
            (one if key in facts else one["facts"])[key] = value
            (folder / f"m{number}-{kind}.json").write_text(json.dumps(one))
    _fleet(b, folder)


@attack
def cards_that_are_not_ours(b: Bench, chance: random.Random) -> None:
    """--cards at another file, a link to one, a folder, a pipe's folder: what was there is as it was."""
    facts, folder = _facts(b), b.folder / "reports"
    folder.mkdir()
    for number, speed in enumerate((5.0, 5.1, 1.0)):
        document = {**facts, "verdict": "as-expected", "workload": "w", "steps_per_second": speed}
        (folder / f"m{number}.json").write_text(json.dumps(document))
    mine = b.folder / "precious.json"
    for content in ('{"mine": 1}', "[]", "text\n", '{"schema": 1, "cards": {"x": {"seen": "1"}}}', "{" * 9_999, "\xff"):
        mine.write_text(content)
        _fleet(b, folder, (2, 3), "--cards", str(mine))
        b.expect(mine.read_text() == content, f"overwritten: {content[:20]}")
    draft = b.folder / ".cards.json.partial"
    draft.symlink_to(mine)
    _fleet(b, folder, (0, 1, 2, 3), "--cards", str(b.folder / "cards.json"))
    b.expect(mine.read_text() == "\xff", "written through a link that lay where the draft is made")


# --- a notebook's check()


@attack
def notebook_of_odd_environments(b: Bench, chance: random.Random) -> None:
    """check() with NUL, a pipe, a file, nothing, a surrogate, 5,000 characters: an answer or one kind of error."""
    os.mkfifo(b.folder / "pipe")
    code = """
import sys, envdoctor
from envdoctor.errors import Trouble
places = ("", "\\ud800", "x" * 5000, "~nobody-there", "/dev/zero", "/proc/self")
for env in ("a\\0b", sys.argv[1] + "/pipe", sys.argv[1], *places):
    for call in (envdoctor.check, envdoctor.fix):
        try:
            found = call(env=env)
            found._repr_html_() if hasattr(found, "_repr_html_") else repr(found)
        except Trouble as trouble:
            str(trouble)
        except Exception as error:
            print("BAD", call.__name__, repr(env)[:20], type(error).__name__, str(error)[:200])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(b.folder)], capture_output=True, text=True, timeout=120, cwd=b.folder
    )
    b.bad += [line for line in done.stdout.splitlines() if line.startswith("BAD")]
    b.expect(done.returncode == 0, done.stderr[-400:])


@attack
def notebook_of_hostile_names(b: Bench, chance: random.Random) -> None:
    """A package with script, style and markup for a name and version: the notebook's page has none of it live."""
    (site,) = b.world.environment.glob("lib/python3*/site-packages")
    info = site / "evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        'Metadata-Version: 2.1\nName: <img src=x onerror=alert(1)>\nVersion: 1"><script>alert(1)</script>\n'
        "Requires-Dist: <svg/onload=alert(2)>\nRequires-Dist: missing-thing>=2\n"
    )
    (info / "RECORD").write_text("<script>alert(3)</script>.py,sha256=x,1\n[x](javascript:alert(4)),,\n")
    code = """
import sys, envdoctor
found = envdoctor.check(env=sys.argv[1], torch=False)
for name in ("_repr_html_", "_repr_markdown_", "__repr__"):
    if hasattr(found, name): print(name, getattr(found, name)())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(b.world.environment)], capture_output=True, text=True, timeout=60, cwd=b.folder
    )
    b.expect(done.returncode == 0, done.stderr[-400:])
    page = done.stdout.partition("_repr_markdown_")[0].partition("__repr__ ")[0]
    for live in ("<script>alert", "<img src=x", "<svg/onload"):
        b.expect(live not in page, f"live: {live}")
