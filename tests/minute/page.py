"""The page of the first minute: what the twenty frictions come to today, the fresh boxes, and ranks that meet."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from envdoctor.system import process
from tests.minute.frictions import FRICTIONS, Friction
from tests.minute.place import ROOT, Place, Said

PAGE = ROOT / "tests" / "FIRST_MINUTE.md"
BOXES = {
    "test_root_without_an_environment": "root, no environment",
    "test_a_user_who_may_not_write": "a user who may not write",
    "test_a_conda_base": "conda's base (its layout: a Python of its own with conda-meta, named by CONDA_PREFIX)",
    "test_an_externally_managed_python": "an externally managed Python",
    "test_no_network_and_a_folder_of_wheels": "no network, a folder of wheels",
    "test_what_was_fetched_is_installed_by_the_line_that_it_prints": "no network, what `fetch` fetched",
    "test_no_network_and_no_wheels": "no network, no wheels",
    "test_behind_a_mirror": "behind a mirror",
    "test_run_by_uvx": "uvx",
}
BOXES_TITLE = "## Seven kinds of fresh machines"
MEETINGS_TITLE = "## Many processes and two hosts"
HEAD = """# The first minute, as it is today

Written by `python -m tests.minute`, which types every line below for real (minutes; root and a network for all of it);
`pytest -m slow tests/minute` holds the first part against today's program. Numbers are those of the run that wrote it.
`./env` is an environment with torch, `./old` one with old packages, `-t small` a lock for it, `...` the settings of a
model of a few thousand weights.
"""


def frictions(place: Place) -> Iterator[tuple[int, Friction, Said]]:
    """Each of them typed, in their order: what one changes, the next ones find."""
    place.checkout()
    for number, one in enumerate(FRICTIONS, 1):
        yield number, one, one.run(place)


def friction_text(number: int, one: Friction, said: Said) -> str:
    """A friction's section."""
    held = ", ".join(f"`{path}`" for path in one.held)
    was = f"then:\n\n```text\n{one.was}\n```"
    now = f"now (exit code {said.code}):\n\n```text\n$ {one.shown}\n{said.text}\n```"
    return f"## {number}. {one.title}\n\n{was}\n\n{now}\n\nHeld by {held}.\n"


def comparable(text: str) -> str:
    """A section without what each run has of its own: numbers with a point, times, counted bytes, how far a bar is."""
    text = re.sub(r"(\d+ min )?\d+ s\b", "# s", re.sub(r"\d+\.\d+(e-?\d+)?", "#", text))
    text = re.sub(r"\b\d+(?= ?(%|it/s|tok/s|kB|MB|GB|tokens|windows?)( |$))|\d+:\d+", "#", text)
    return re.sub(r"[━╸╺─ ]+", " ", text)


def sections(page: str) -> dict[int, str]:
    """The frictions' sections of a page, by their number."""
    found = re.findall(r"^## (\d+)\. .*?(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    texts = re.findall(r"^(## \d+\. .*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    return {int(number): text.rstrip() + "\n" for number, text in zip(found, texts, strict=True)}


def ran(paths: Sequence[str]) -> list[ElementTree.Element]:
    """Every test of these files, whatever its marker, as pytest's own report has it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = ["-q", "-n0", "-p", "no:cacheprovider", "-m", "slow or install or not slow"]
        words += ["-o", "junit_family=xunit1", f"--junitxml={report}"]
        outcome = process.run([sys.executable, "-m", "pytest", *words, *paths], deadline=1800, cwd=ROOT, env=os.environ)
        sys.stderr.write(outcome.out[-2000:])
        return list(ElementTree.parse(report).iter("testcase"))


def properties(case: ElementTree.Element, name: str) -> list[str]:
    """What a test told by ``record_property``."""
    return [one.attrib["value"] for one in case.iter("property") if one.attrib["name"] == name]


def outcome_of(case: ElementTree.Element) -> str:
    """As expected, skipped (and why), or failed."""
    skipped = case.find("skipped")
    if skipped is not None:
        return f"not run here: {skipped.attrib.get('message', '')}"
    failed = case.find("failure") is not None or case.find("error") is not None
    return "FAILED" if failed else "as expected"


def boxes_text(cases: Sequence[ElementTree.Element]) -> str:
    """Situation, command, exit code, seconds: a row for each command that a test typed."""
    rows = ["| situation | typed | what came of it | exit code | seconds |", "|---|---|---|---|---|"]
    for case in cases:
        title = BOXES.get(case.attrib["name"].partition("[")[0])
        if title is None:
            continue
        variant = re.search(r"\[(.*)\]", case.attrib["name"])
        title += f" ({variant[1]})" if variant else ""
        typed = [row for text in properties(case, "typed") for row in json.loads(text)]
        if not typed or outcome_of(case) != "as expected":
            rows.append(f"| {title} | {outcome_of(case)} | | | |")
        for line, code, seconds, said in typed:
            rows.append(f"| {title} | `{shortened(line)}` | {shortened(said)} | {code} | {seconds:.1f} |")
            title = ""
    return (
        "## Seven kinds of fresh machines\n\n`tests/real/test_fresh_boxes.py`; small wheels of its own.\n\n"
        + "\n".join(rows)
    )


def shortened(line: str) -> str:
    """A command without the paths of a test's folder."""
    line = re.sub(r"/\S*/(?=[^/\s]+)", "…/", line)
    return re.sub(r" --select packages --ignore packages/no-pip", "", line)


def meetings_text(cases: Sequence[ElementTree.Element]) -> str:
    """What was told by ranks that met, and how long the test took."""
    rows = ["| what | told | seconds |", "|---|---|---|"]
    for case in cases:
        told = properties(case, "told")
        if told or outcome_of(case) != "as expected":
            name = case.attrib["name"].removeprefix("test_").replace("_", " ")
            rows.append(f"| {name} | {'; '.join(told) or outcome_of(case)} | {float(case.attrib['time']):.1f} |")
    return (
        "## Many processes and two hosts\n\n`tests/ranks`; hosts are network namespaces with a cable.\n\n"
        + "\n".join(rows)
    )


PARTS = ("frictions", "boxes", "meetings")


def split(page: str) -> dict[str, str]:
    """The parts of a page, by their names; an empty one where it is not there yet."""
    found = dict.fromkeys(PARTS, "")
    for text in re.findall(r"^(## .*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE):
        part = "boxes" if text.startswith(BOXES_TITLE) else "meetings" if text.startswith(MEETINGS_TITLE) else PARTS[0]
        found[part] += text
    return found


def write(parts: Sequence[str]) -> int:
    """Write these parts of the page anew; 1 where something did not end as it should."""
    written, wrong = dict[str, str](), list[str]()
    if "frictions" in parts:
        with tempfile.TemporaryDirectory(prefix="first-minute-") as folder:
            told = list(frictions(Place(Path(folder))))
        written["frictions"] = "\n".join(friction_text(*row) for row in told) + "\n"
        wrong += [f"friction {number}: exit code {said.code}" for number, one, said in told if said.code != one.code]
    tests = {"boxes": ("tests/real/test_fresh_boxes.py", boxes_text), "meetings": ("tests/ranks", meetings_text)}
    for part, (path, text) in tests.items():
        if part in parts:
            cases = ran([path])
            written[part] = text(cases) + "\n\n"
            wrong += [case.attrib["name"] for case in cases if outcome_of(case) == "FAILED"]
    page = split(PAGE.read_text("utf-8") if PAGE.exists() else "") | written
    PAGE.write_text(HEAD + "\n" + "".join(page.values()).rstrip() + "\n", encoding="utf-8")
    print("\n".join(wrong), file=sys.stderr)
    return int(bool(wrong))
