"""RECORD, as an installer left it: what it says of each file, and what of that is to be looked at."""

from __future__ import annotations

import os

from .packages import Found, Problem
from .places import EnvironmentPlaces

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

    Entry = Tuple[str, str, Optional[int]]  # path as RECORD writes it, hash, size

DEBIAN = "/usr/lib/python3/dist-packages"  # Debian's own packages; pip's go elsewhere
OTHERS = ("conda", "debian", "rpm")  # installers that keep a list of their own


def has_trusted_record(found: Found) -> bool:
    """Is RECORD what the installer left? conda, Debian and rpm change files (prefixes, debug symbols) afterwards."""
    return not found.value["editable"] and not is_managed_elsewhere(found)


def is_managed_elsewhere(found: Found) -> bool:
    return found.value["installer"] in OTHERS or found.location == DEBIAN


def parse(found: Found, problems: List[Problem]) -> Optional[List[Entry]]:
    name, place = found.value["name"], found.folder + "/RECORD"
    if found.record is None:
        if not found.looked:
            return None
        if found.location.endswith("/dist-packages") or is_managed_elsewhere(found):
            return None  # the system's package manager keeps its own list
        problems.append(Problem(name, "no-record", place))
        return None
    if not found.record.strip(b"\0 \r\n"):
        problems.append(Problem(name, "empty-record", place, "%d bytes" % len(found.record)))
        return None
    try:
        return entries_of(found.record.decode("utf-8"))
    except UnicodeDecodeError as error:
        problems.append(Problem(name, "broken-record", place, "not UTF-8 at byte %d" % error.start))
    except ValueError as error:
        problems.append(Problem(name, "broken-record", place, str(error)))
    return None


def entries_of(text: str) -> List[Entry]:
    """RECORD's entries without compiled .pyc files. ValueError names the line that is not one."""
    text = text.replace("\r\n", "\n")
    if '"' in text:
        import csv

        rows = [row for row in csv.reader(text.splitlines()) if row]
    else:
        rows = [line.rsplit(",", 2) for line in text.split("\n") if line and ".pyc," not in line]
    try:
        # Compiled files are made anew by whoever runs the package, whatever RECORD says of them
        return [(path, stated, int(size) if size else None) for path, stated, size in rows if path[-4:] != ".pyc"]
    except ValueError:
        number = next(number for number, row in enumerate(rows, 1) if len(row) != 3 or not row[2].isdigit())
        raise ValueError("entry %d" % number) from None


def inside(found: Found, entries: List[Entry], places: EnvironmentPlaces, problems: List[Problem]) -> List[Entry]:
    """Entries inside of the environment. Others are not looked at, and nobody must remove what they name."""
    base = os.path.join(places.prefix, "")
    if not os.path.join(found.location, "").startswith(base):
        base = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(found.location))), "")
    strange = ("", ".", "/", "\\")
    outside = set()
    for path in [
        path for path, _, _ in entries if path[:1] in strange or "/../" in path or ":" in path or "\0" in path
    ]:
        target = os.path.normpath(os.path.join(found.location, path))
        if not path or "\0" in path or not target.startswith(base):
            problems.append(Problem(found.value["name"], "escaping-record", path.replace("\0", "?")))
            outside.add(path)
    return [entry for entry in entries if entry[0] not in outside] if outside else entries
