"""Compare installed files with what RECORD says of them: presence and size always, hashes and strangers when asked.

RECORD is the package's own claim. It finds interrupted installations, full disks and edited files; it does not prove
that nobody tampered.
"""

from __future__ import annotations

import csv
import os
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from . import hashes
from .packages import Found, Problem, Reading
from .places import Places

MOST = 20  # files of one kind told per distribution; the rest is counted
CODE = (".py", ".so", ".pyd", ".dll", ".dylib")


class Entry(NamedTuple):
    """A file that RECORD lists, with its path as written there."""

    path: str
    hash: str
    size: Optional[int]


def read(places: Places, reading: Reading, *, deep: bool) -> Dict[str, Any]:
    """All damage. Changes the working directory: short relative paths halve the cost of each look."""
    problems = list(reading.problems)
    odd: List[Tuple[Found, Problem, Entry]] = []
    files: List[Dict[str, Any]] = []
    records = [(found, _parse(found, problems)) for found in reading.found if found.folder.endswith(".dist-info")]
    for found, entries in records:
        name = found.value["name"]
        if entries is None:
            continue
        files.append({"location": found.location, "name": name, "files": len(entries)})
        if not _trusted(found):
            continue
        os.chdir(found.location)
        _escapes(found, entries, places, problems)
        odd.extend((found, problem, entry) for problem, entry in _compare(name, entries))
    problems.extend(_unshared(odd, records))
    if deep:
        for found, entries in records:
            if entries and _trusted(found):
                os.chdir(found.location)
                problems.extend(_altered(found.value["name"], entries))
        problems.extend(_strangers(places, records))
    return {
        "problems": _shortened(problems),
        "checked": "hashes" if deep else "sizes",
        "files": files,
    }


def _trusted(found: Found) -> bool:
    """conda rewrites prefixes inside files after RECORD was written, and Debian's own packages carry none."""
    return found.value["installer"] not in ("conda", "debian") and not found.value["editable"]


def _parse(found: Found, problems: List[Problem]) -> Optional[List[Entry]]:
    name, place = found.value["name"], found.folder + "/RECORD"
    if found.record is None:
        if found.location.endswith("/dist-packages") or found.value["installer"] in ("conda", "debian", "rpm"):
            return None  # the system's package manager keeps its own list
        problems.append(Problem(name, "no-record", place))
        return None
    data = found.record
    if not data.strip(b"\0 \r\n"):
        problems.append(Problem(name, "empty-record", place, "%d bytes" % len(data)))
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        problems.append(Problem(name, "broken-record", place, "not UTF-8 at byte %d" % error.start))
        return None
    entries: List[Entry] = []
    for number, row in enumerate(_rows(text), 1):
        if len(row) == 3 and row[0] and "\0" not in row[0]:
            size = row[2]
            if not size:
                if ".pyc" not in row[0]:
                    entries.append(Entry(row[0], row[1], None))
                continue
            if size.isdigit() and len(size) < 16:
                entries.append(Entry(row[0], row[1], int(size)))
                continue
        problems.append(Problem(name, "broken-record", place, "line %d" % number))
        return None
    return entries


def _rows(text: str) -> Iterator[List[str]]:
    """RECORD's lines. Nearly all are plain, and splitting them costs half of what the csv module takes."""
    if '"' in text:
        for row in csv.reader(text.splitlines()):
            if row:
                yield row
        return
    for line in text.split("\n"):
        if line and line != "\r":
            yield line.rstrip("\r").rsplit(",", 2)


def _escapes(found: Found, entries: List[Entry], places: Places, problems: List[Problem]) -> None:
    """Entries outside of the environment; they are not looked at, and must not be removed by anybody either."""
    base = os.path.join(places.prefix, "")
    if not os.path.join(found.location, "").startswith(base):
        base = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(found.location))), "")
    kept = []
    for entry in entries:
        if entry.path[0] in "./\\" or "/../" in entry.path or ":" in entry.path[:3]:
            target = os.path.normpath(os.path.join(found.location, entry.path))
            if not target.startswith(base):
                problems.append(Problem(found.value["name"], "escaping-record", entry.path))
                continue
        kept.append(entry)
    entries[:] = kept


def _compare(name: str, entries: List[Entry]) -> Iterator[Tuple[Problem, Entry]]:
    look = os.stat
    for entry in entries:
        path, _, size = entry
        try:
            real = look(path).st_size
        except (FileNotFoundError, NotADirectoryError):
            yield Problem(name, "missing-file", path), entry
        except OSError as error:
            yield Problem(name, "unreadable", path, error.strerror or ""), entry
        else:
            if size is not None and real != size:
                yield Problem(name, "wrong-size", path, "%d bytes, should have %d" % (real, size)), entry


def _unshared(
    odd: List[Tuple[Found, Problem, Entry]], records: List[Tuple[Found, Optional[List[Entry]]]]
) -> Iterator[Problem]:
    """Drop wrong sizes that another distribution's RECORD explains: some share a file, and the last one wins."""
    sizes: Dict[Tuple[str, str], Set[Optional[int]]] = {}
    wanted = {(found.location, entry.path) for found, problem, entry in odd if problem.kind == "wrong-size"}
    if wanted:
        for found, entries in records:
            for entry in entries or ():
                if (found.location, entry.path) in wanted:
                    sizes.setdefault((found.location, entry.path), set()).add(entry.size)
    for found, problem, entry in odd:
        if problem.kind == "wrong-size":
            real = os.stat(os.path.join(found.location, entry.path)).st_size
            if real in sizes[(found.location, entry.path)]:
                continue
        yield problem


def _altered(name: str, entries: List[Entry]) -> Iterator[Problem]:
    for entry, found in hashes.differing(entries):
        kind = "wrong-hash" if found.startswith("sha") else "unreadable"
        yield Problem(name, kind, entry.path, found)


def _strangers(places: Places, records: List[Tuple[Found, Optional[List[Entry]]]]) -> Iterator[Problem]:
    """Code in directories that belong to packages, which no package lists: remains of older versions, or planted."""
    for location in places.search:
        listed: Set[str] = set()
        owners: Dict[str, str] = {}
        for found, entries in records:
            if found.location != location or not entries:
                continue
            listed.update(entry.path for entry in entries)
            for entry in entries:
                folder, slash, _ = entry.path.rpartition("/")
                if slash and folder[0] != "." and not folder.endswith(".dist-info"):
                    owners.setdefault(folder, found.value["name"])
        if any(found.location == location and entries is None for found, entries in records):
            continue  # a package without RECORD would make all of its files strangers
        for folder, owner in sorted(owners.items()):
            try:
                names = os.listdir(os.path.join(location, folder))
            except OSError:
                continue
            for name in sorted(names):
                path = folder + "/" + name
                if name.startswith(".tmp"):
                    yield Problem(owner, "partial-file", path)
                elif name.endswith(CODE) and path not in listed:
                    yield Problem(owner, "orphan-file", path)


def _shortened(problems: List[Problem]) -> List[Dict[str, str]]:
    counts: Dict[Tuple[str, str], int] = {}
    told: List[Problem] = []
    for problem in problems:
        key = (problem.distribution, problem.kind)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= MOST:
            told.append(problem)
    for (distribution, kind), count in counts.items():
        if count > MOST:
            last = max(i for i, p in enumerate(told) if (p.distribution, p.kind) == (distribution, kind))
            more = "and %d more" % (count - MOST)
            told[last] = told[last]._replace(detail=", ".join(filter(None, (told[last].detail, more))))
    return [problem._asdict() for problem in told]
