"""Compare installed files with what RECORD says of them: presence and size always, hashes and strangers when asked.

RECORD is the package's own claim. It finds interrupted installations, full disks and edited files; it does not prove
that nobody tampered.
"""

from __future__ import annotations

import json
import os

from .files import regular
from .packages import Found, Problem, Reading
from .places import EnvironmentPlaces

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

    Entry = Tuple[str, str, Optional[int]]  # path as RECORD writes it, hash, size
    Record = Tuple[Found, Optional[List[Entry]]]

DEBIAN = "/usr/lib/python3/dist-packages"  # Debian's own packages; pip's go elsewhere
OTHERS = ("conda", "debian", "rpm")  # installers that keep a list of their own
MOST = 20  # files of one kind told per distribution; the rest is counted
PARALLEL = 1_000_000  # bytes of RECORD, some 10,000 files, from which on a second process pays
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
    well = {} if deep else _counted_if_well(reading.found, places, cores=3 if beside else 2)
    _look([found for found in reading.found if id(found) not in well], places, problems, odd, files, records)
    for found in reading.found:
        if id(found) in well:
            files.append({"location": found.location, "name": found.value["name"], "files": well[id(found)]})
            if odd:  # which the RECORD of a sound distribution may explain
                records.append((found, _parse(found, problems)))
    if deep:
        told = {(found.location, problem.path) for found, problem in odd}
        for found, entries in records:
            if entries and _has_trusted_record(found):
                os.chdir(found.location)
                rest = [entry for entry in entries if (found.location, entry[0]) not in told]
                odd.extend((found, problem) for problem in _altered_files(found.value["name"], rest))
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
        entries = _parse(found, problems)
        records.append((found, entries))
        if entries is None:
            continue
        files.append({"location": found.location, "name": found.value["name"], "files": len(entries)})
        if _has_trusted_record(found):
            os.chdir(found.location)
            entries[:] = _inside(found, entries, places, problems)
            odd.extend((found, problem) for problem in _compare(found.value["name"], entries))


def _counted_if_well(found: List[Found], places: EnvironmentPlaces, *, cores: int) -> Dict[int, int]:
    """How many files those distributions have, by their ``id``, of which every file is as RECORD says.

    Nearly always that is all of them, and nothing is kept of 65,000 files but that. Where there are many, a forked
    process looks at half of them beside us, with as many ``cores`` at least: half of the time is spent in the kernel.
    """
    mine, others = _shares(found, cores)
    fetch = _begin_elsewhere(others, places) if others else dict
    counts = _counts(mine, places)
    counts.update(fetch())
    return counts


def _shares(found: List[Found], cores: int) -> Tuple[List[Found], List[Found]]:
    """For two processes, about the same number of bytes of RECORD for each; all for one where there is little to do, or
    fewer than so many ``cores`` to do it on."""
    sizes = [len(each.record or b"") for each in found]
    if sum(sizes) < PARALLEL or not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < cores:
        return found, []
    half, at = sum(sizes) // 2, 0
    while half > 0:
        half -= sizes[at]
        at += 1
    return found[:at], found[at:]


def _counts(share: List[Found], places: EnvironmentPlaces) -> Dict[int, int]:
    counts = {}
    for found in share:
        number = _count_if_well(found, places)
        if number is not None:
            counts[id(found)] = number
    return counts


def _begin_elsewhere(share: List[Found], places: EnvironmentPlaces) -> Callable[[], Dict[int, int]]:
    """`_counts` of these distributions in a forked process, beside us. What is returned waits for it; where it fails
    none of them is known to be well, and all of them are looked at again."""
    answer, mouth = os.pipe()
    try:
        child = os.fork()
    except OSError:  # as many processes as are allowed here
        os.close(mouth)
        os.close(answer)
        return dict
    if child == 0:
        try:
            counts = _counts(share, places)
            with open(mouth, "w", encoding="ascii") as stream:
                json.dump([counts.get(id(found)) for found in share], stream)
        finally:
            os._exit(0)
    os.close(mouth)

    def fetch() -> Dict[int, int]:
        with open(answer, "rb") as stream:
            told = stream.read()
        os.waitpid(child, 0)
        numbers = json.loads(told) if told.endswith(b"]") else []
        return {id(found): number for found, number in zip(share, numbers) if number is not None}  # noqa: B905

    return fetch


def _count_if_well(found: Found, places: EnvironmentPlaces) -> Optional[int]:
    """How many files a distribution has; None where any of them is not as RECORD says, or RECORD is not plain."""
    columns = _columns(found.record) if found.record and found.folder.endswith(".dist-info") else None
    if columns is None or not _has_trusted_record(found):
        return None
    text, paths, sizes = columns
    if any(odd in text for odd in ("\n.", "\n/", "\n\\", "\n,", "/../", ":", "\0")) or text[0] in "./\\,":
        entries: List[Entry] = [(path, "", None) for path in paths]
        if len(_inside(found, entries, places, [])) != len(paths):
            return None
    look = os.stat
    try:
        os.chdir(found.location)
        seen = [look(path).st_size for path in paths]
    except OSError:
        return None
    if "" in sizes:  # RECORD's own line has none
        seen = [size for size, stated in zip(seen, sizes) if stated]  # noqa: B905
        sizes = [stated for stated in sizes if stated]
    return len(paths) if seen == list(map(int, sizes)) else None


def _columns(record: bytes) -> Optional[Tuple[str, List[str], List[str]]]:
    """RECORD's text, paths and sizes, without compiled files; None where it is not as plain as nearly all are.

    One split of the text costs a fifth of one for each line.
    """
    try:
        text = record.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    if '"' in text or text[-1:] != "\n" or text.count(",") != 2 * text.count("\n") or "\n\n" in text:
        return None
    fields = text.replace("\n", ",").split(",")
    paths, hashes, sizes = fields[0:-1:3], fields[1::3], fields[2::3]
    if text.count("=") != len(hashes) - hashes.count(""):  # the commas stand elsewhere
        return None
    if ".pyc," in text:  # made anew by whoever runs the package, whatever RECORD says of them
        kept = [number for number, path in enumerate(paths) if path[-4:] != ".pyc"]
        paths, sizes = [paths[number] for number in kept], [sizes[number] for number in kept]
    return (text, paths, sizes) if "".join(sizes).isdecimal() else None


def _has_trusted_record(found: Found) -> bool:
    """Is RECORD what the installer left? conda, Debian and rpm change files (prefixes, debug symbols) afterwards."""
    return not found.value["editable"] and not _is_managed_elsewhere(found)


def _is_managed_elsewhere(found: Found) -> bool:
    return found.value["installer"] in OTHERS or found.location == DEBIAN


def _parse(found: Found, problems: List[Problem]) -> Optional[List[Entry]]:
    name, place = found.value["name"], found.folder + "/RECORD"
    if found.record is None:
        if not found.looked:
            return None
        if found.location.endswith("/dist-packages") or _is_managed_elsewhere(found):
            return None  # the system's package manager keeps its own list
        problems.append(Problem(name, "no-record", place))
        return None
    if not found.record.strip(b"\0 \r\n"):
        problems.append(Problem(name, "empty-record", place, "%d bytes" % len(found.record)))
        return None
    try:
        return _entries(found.record.decode("utf-8"))
    except UnicodeDecodeError as error:
        problems.append(Problem(name, "broken-record", place, "not UTF-8 at byte %d" % error.start))
    except ValueError as error:
        problems.append(Problem(name, "broken-record", place, str(error)))
    return None


def _entries(text: str) -> List[Entry]:
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


def _inside(found: Found, entries: List[Entry], places: EnvironmentPlaces, problems: List[Problem]) -> List[Entry]:
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
        if real not in known and not _is_intended(path, problem, known):
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


def _is_intended(path: str, problem: Problem, known: Set[Any]) -> bool:
    """Changes that people make on purpose: an environment moved with its scripts, a company's certificate added."""
    if problem.kind not in ("wrong-size", "wrong-hash"):
        return False
    if path.endswith("/cacert.pem"):
        return os.stat(path).st_size > max((size for size in known if isinstance(size, int)), default=0)
    if not problem.path.startswith("../"):
        return False
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
            found.location == location and (entries is None or _is_managed_elsewhere(found))
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
