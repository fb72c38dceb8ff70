"""Compare installed files with what RECORD says of them: presence and size always, hashes and strangers when asked.

RECORD is the package's own claim. It finds interrupted installations, full disks and edited files; it does not prove
that nobody tampered.
"""

from __future__ import annotations

import os

from .counts import counts_of
from .files import regular
from .packages import Found, Problem, Reading
from .places import EnvironmentPlaces
from .records import has_trusted_record, inside, is_managed_elsewhere, parse

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

    from .records import Entry

    Record = Tuple[Found, Optional[List[Entry]]]

MOST = 20  # files of one kind told per distribution; the rest is counted
SHARED = ", shared by hard link: the installer's cache may be damaged alike"
NOT_IMPORTED = ("tests", "test", "docs", "doc", "examples", "benchmarks", "scripts")  # left at the top by mistake
CODE = (".py", ".so", ".pyd", ".dll", ".dylib")


def read(places: EnvironmentPlaces, reading: Reading, *, deep: bool, beside: bool = False) -> Dict[str, Any]:
    """All damage; ``beside``: another process of ours has a core to itself meanwhile.

    Changes the working directory: short relative paths halve the cost of each look.
    """
    problems = list(reading.problems)
    odd: List[Tuple[Found, Problem]] = []
    files: List[Dict[str, Any]] = []
    records: List[Record] = []
    counts = {} if deep else counts_of(reading.found, places, cores=3 if beside else 2)
    _look([found for found in reading.found if id(found) not in counts], places, problems, odd, files, records)
    for found in reading.found:
        if id(found) in counts:
            number, differing = counts[id(found)]
            files.append({"location": found.location, "name": found.value["name"], "files": number})
            if differing:
                os.chdir(found.location)
                these = set(differing)
                rows = [entry for entry in parse(found, problems) or () if entry[0] in these]
                odd.extend((found, problem) for problem in _compare(found.value["name"], rows))
    odd = [(found, problem) for found, problem in odd if not _is_moved_script(found, problem)]
    if odd:  # another RECORD may explain it
        records.extend((found, parse(found, problems)) for found in reading.found if id(found) in counts)
    if deep:
        told = {(found.location, problem.path) for found, problem in odd}
        for found, entries in records:
            if entries and has_trusted_record(found):
                os.chdir(found.location)
                rest = [entry for entry in entries if (found.location, entry[0]) not in told]
                altered = [(found, problem) for problem in _altered_files(found.value["name"], rest)]
                odd.extend(each for each in altered if not _is_moved_script(*each))
        problems.extend(_strangers(places, records))
    if deep:
        problems.extend(_overwritten_files(records))
    problems.extend(_without_shared_files(odd, records))
    return {"problems": _limit_problems(problems), "checked": "hashes" if deep else "sizes", "files": files}


def _look(
    share: List[Found],
    places: EnvironmentPlaces,
    problems: List[Problem],
    odd: List[Tuple[Found, Problem]],
    files: List[Dict[str, Any]],
    records: List[Record],
) -> None:
    """Read the RECORDs of these distributions, and look at every file that they name."""
    for found in share:
        if not found.folder.endswith(".dist-info"):
            continue
        entries = parse(found, problems)
        records.append((found, entries))
        if entries is None:
            continue
        files.append({"location": found.location, "name": found.value["name"], "files": len(entries)})
        if has_trusted_record(found):
            os.chdir(found.location)
            entries[:] = inside(found, entries, places, problems)
            odd.extend((found, problem) for problem in _compare(found.value["name"], entries))


def _compare(name: str, entries: List[Entry]) -> Iterator[Problem]:
    look = os.stat
    for path, _, size in entries:
        try:
            seen = look(path)
        except (FileNotFoundError, NotADirectoryError):
            yield Problem(name, "missing-file", path)
        except OSError as error:
            yield Problem(name, "unreadable", path, error.strerror or "")
        else:
            if size is not None and seen.st_size != size:
                detail = "%d bytes, should have %d%s" % (seen.st_size, size, SHARED if seen.st_nlink > 1 else "")
                yield Problem(name, "wrong-size", path, detail)


def _without_shared_files(odd: List[Tuple[Found, Problem]], records: List[Record]) -> Iterator[Problem]:
    """Drop differences that another distribution's RECORD explains: some share a file, and the last one wins."""
    stated: Dict[Tuple[str, str], Set[Any]] = {}
    wanted = {(found.location, problem.path) for found, problem in odd if problem.kind in ("wrong-size", "wrong-hash")}
    if wanted:
        for found, entries in records:
            for path, digest, size in entries or ():
                if (found.location, path) in wanted:
                    stated.setdefault((found.location, path), set()).update((size, digest.rstrip("=")))
    for found, problem in odd:
        path = os.path.join(found.location, problem.path)
        known = stated.get((found.location, problem.path), set())
        real: Any = os.stat(path).st_size if problem.kind == "wrong-size" else problem.detail
        if real not in known and not _is_own_certificate(path, problem, known):
            yield problem


def _overwritten_files(records: List[Record]) -> Iterator[Problem]:
    """Code that two distributions list with different contents: the last one wins, and the others run its code."""
    owners: Dict[str, List[Tuple[str, str, Found]]] = {}
    for found, entries in records:
        for path, stated, _ in entries or ():
            if path.endswith(CODE) and stated and path.partition("/")[0] not in NOT_IMPORTED:
                owners.setdefault(os.path.join(found.location, path), []).append((stated, path, found))
    for place, several in sorted(owners.items()):
        if len({stated.rstrip("=") for stated, _, _ in several}) < 2:
            continue
        from . import hashes

        for stated, path, found in several:
            if list(hashes.differing_files([(place, stated, None)])):
                others = sorted({str(f.value["name"]) for _, _, f in several} - {found.value["name"]})
                yield Problem(found.value["name"], "wrong-hash", path, "overwritten by %s" % ", ".join(others))


def _is_own_certificate(path: str, problem: Problem, known: Set[Any]) -> bool:
    """A change that people make on purpose: a company's certificate added."""
    if problem.kind not in ("wrong-size", "wrong-hash") or not path.endswith("/cacert.pem"):
        return False
    return os.stat(path).st_size > max((size for size in known if isinstance(size, int)), default=0)


def _is_moved_script(found: Found, problem: Problem) -> bool:
    """A change that people make on purpose: an environment moved, with the first lines of its scripts."""
    if problem.kind not in ("wrong-size", "wrong-hash") or not problem.path.startswith("../"):
        return False
    path = os.path.join(found.location, problem.path)
    with open(path, "rb", opener=regular) as stream:
        line = stream.readline(1024)
    return line[:2] == b"#!" and os.path.exists(os.fsdecode(line[2:].split()[0] if line[2:].split() else b""))


def _altered_files(name: str, entries: List[Entry]) -> Iterator[Problem]:
    from . import hashes  # loads hashlib and a thread pool, which nobody else needs

    for path, found in hashes.differing_files(entries):
        kind = "wrong-hash" if found.startswith("sha") else "unreadable"
        yield Problem(name, kind, path, found)


def _strangers(places: EnvironmentPlaces, records: List[Record]) -> Iterator[Problem]:
    """Code in directories that belong to packages, which no package lists: remains of older versions, or planted."""
    for location in places.search:
        listed: Set[str] = set()
        owners: Dict[str, str] = {}
        for found, entries in records:
            if found.location != location or not entries:
                continue
            listed.update(path for path, _, _ in entries)
            for path, _, _ in entries:
                folder, slash, _ = path.rpartition("/")
                if slash and folder[0] != "." and not folder.endswith(".dist-info"):
                    owners.setdefault(folder, found.value["name"])
        # A package without RECORD would make all of its files strangers
        if any(
            found.location == location and (entries is None or is_managed_elsewhere(found))
            for found, entries in records
        ):
            continue
        yield from _ownerless(location, listed)
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


def _ownerless(location: str, listed: Set[str]) -> Iterator[Problem]:
    """Importable modules beside the packages that belong to none: what a killed uninstallation leaves."""
    known = {path.partition("/")[0] for path in listed}
    with os.scandir(location) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name in known or entry.name[0] in "_.~-":  # virtualenv and hooks put _files.py here
                continue
            if entry.name.endswith(CODE) and not entry.name.endswith("customize.py"):
                yield Problem("", "orphan-file", entry.name)
            elif os.path.isfile(os.path.join(entry.path, "__init__.py")):
                yield Problem("", "orphan-file", entry.name + "/")


def _limit_problems(problems: List[Problem]) -> List[Dict[str, str]]:
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
