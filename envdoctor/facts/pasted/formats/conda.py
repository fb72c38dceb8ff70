"""``conda list``, its export forms and environment files."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import INFERRED, LISTED, Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

FORMAT = "conda-list"
_VERSION = Pattern(r"\d[\w.!+*-]*")
_BUILD = Pattern(
    r"(?:py\d|pyh|pyhd|h[0-9a-f]{6}|cuda|cpu|gpu|mkl|\d{1,4}$|pypi|nompi|cu\d|openblas|nomkl|[0-9a-f]{7}_)[\w.]*",
    re.IGNORECASE,
)
_TOLD = Pattern(
    r"(?!^)(?<![\w./=-])(?P<name>pytorch(?:-[cg]pu)?)[ \t]+(?P<version>\d[\w.]{1,20})[ \t]+"
    r"(?P<build>(?:cpu|cuda\d{2,3})_\w{0,12}py\d{2,3}\w{1,20}|py3\.\d{1,2}_(?:cpu|cuda[\d.]{2,6})[\w.]{1,30})(?!\S)"
)
"""A row of it within a person's sentence."""
_NOT_PYTHON = frozenset(
    "blas cudatoolkit cudnn nccl magma ffmpeg mkl openssl sqlite zlib tk readline xz ncurses cpuonly".split()
)
"""conda packages that are no Python distributions: kept in `Packages.conda` alone."""


def read(page: Page, draft: Draft) -> None:
    """Rows of ``conda list`` after its heading; rows with a build elsewhere; ``name=version=build`` of an export."""
    listed = False
    for number, line in page.left():
        text = re.sub(r"^conda(?: list| package)?s?:\s+(?=[a-z])", "", line)
        if re.match(r"#?\s*packages in environment at ", text):
            draft.format(FORMAT)
            draft.whole_list = listed = True
            page.take(number)
        elif re.match(r"#?\s*Name\s+Version\s+Build\b", text):
            listed = True
            page.take(number)
        elif export := re.fullmatch(r"([a-z0-9_][\w.-]*)=(?:=\s?)?(\d[\w.!+]*)=([\w.]+)", text):
            page.take(number)
            read_row(draft, [export[1], export[2], export[3]])
            draft.format(FORMAT)
        elif (pinned := re.fullmatch(r"([a-z0-9_][\w.-]*)==(\d[\w.!+]*)\s+([\w.]+)(?:\s+([\w./:-]+))?", text)) and (
            _BUILD.fullmatch(pinned[3]) or pinned[4]
        ):
            page.take(number)
            read_row(draft, [part for part in pinned.groups() if part])
            draft.format(FORMAT)
        elif told := _TOLD.search(text):
            read_row(draft, [told["name"], told["version"], told["build"]])
        elif _row(text.split(), listed) and read_row(draft, text.split()):
            page.take(number)
            draft.format(FORMAT)


def _row(row: list[str], listed: bool) -> bool:
    if not (2 if listed else 3) <= len(row) <= 4 or not re.fullmatch(r"[a-z0-9_][\w.-]*", row[0]):
        return False
    return bool(_VERSION.fullmatch(row[1])) and (len(row) == 2 or bool(_BUILD.fullmatch(row[2])))


def read_row(draft: Draft, row: list[str]) -> bool:
    """Name, version, build, channel. A row from PyPI is a plain distribution; conda's pytorch is torch."""
    if len(row) < 2 or not _VERSION.fullmatch(row[1]):
        return False
    name, version, build = row[0].lower(), row[1], row[2] if len(row) > 2 else ""
    draft.claim("interpreter.is_conda", True, INFERRED)
    if build.startswith(("pypi", "<pip>")) or row[-1] == "pypi":
        draft.package(name, version, LISTED)
        return True
    draft.conda.setdefault(name, f"{version} {build}".strip())
    if name in ("pytorch", "pytorch-gpu", "pytorch-cpu"):
        draft.package("torch", version, LISTED, build=build or None, installer="conda")
        draft.claim("torch.cuda", "" if name == "pytorch-cpu" else words.cuda_of_tag(build), INFERRED)
    elif name == "cpuonly" or (name == "pytorch-mutex" and "cpu" in build + version):
        draft.claim("torch.cuda", "", INFERRED)
    elif name == "python":
        draft.claim("interpreter.version", version, LISTED)
    elif name not in _NOT_PYTHON and not name.startswith(("lib", "cuda-", "_", "pytorch-", "mkl-")):
        draft.package(name, version, LISTED, build=build or None, installer="conda")
    return True
