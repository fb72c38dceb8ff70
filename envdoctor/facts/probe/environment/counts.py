"""Files counted where all is well, a distribution at a time: nothing is kept of a file."""

from __future__ import annotations

import json
import os

from .packages import Found
from .places import EnvironmentPlaces
from .records import has_trusted_record, inside

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional, Tuple

    from .records import Entry

    Count = Tuple[int, List[str]]  # number of files, and those of another size than RECORD says

PARALLEL = 1_000_000  # bytes of RECORD, some 10,000 files, from which on a second process pays


def counts_of(found: List[Found], places: EnvironmentPlaces, *, cores: int) -> Dict[int, Count]:
    """The counts of those distributions whose RECORDs are plain and whose files are all there, by their ``id``.

    Nearly always that is all of them, and nothing else is kept of 65,000 files. Where there are many, a forked process
    looks at half of them beside us, if there are as many ``cores``: half of the time is spent in the kernel.
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


def _counts(share: List[Found], places: EnvironmentPlaces) -> Dict[int, Count]:
    counts = {}
    for found in share:
        count = _count(found, places)
        if count is not None:
            counts[id(found)] = count
    return counts


def _begin_elsewhere(share: List[Found], places: EnvironmentPlaces) -> Callable[[], Dict[int, Count]]:
    """`_counts` of these distributions in a forked process, beside us. What is returned waits for it; where it fails
    none of them is counted, and all of them are looked at file by file."""
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

    def fetch() -> Dict[int, Count]:
        with open(answer, "rb") as stream:
            told = stream.read()
        os.waitpid(child, 0)
        counts = json.loads(told) if told.endswith(b"]") else []
        return {id(found): count for found, count in zip(share, counts) if count is not None}  # noqa: B905

    return fetch


def _count(found: Found, places: EnvironmentPlaces) -> Optional[Count]:
    """How many files a distribution has, and those of another size than RECORD says; None where one is not there or not
    to be looked at, or RECORD is not plain."""
    columns = _columns(found.record) if found.record and found.folder.endswith(".dist-info") else None
    if columns is None or not has_trusted_record(found):
        return None
    text, paths, sizes = columns
    if any(odd in text for odd in ("\n.", "\n/", "\n\\", "\n,", "/../", ":", "\0")) or text[0] in "./\\,":
        entries: List[Entry] = [(path, "", None) for path in paths]
        if len(inside(found, entries, places, [])) != len(paths):
            return None
    look = os.stat
    try:
        os.chdir(found.location)
        seen = [look(path).st_size for path in paths]
    except OSError:
        return None
    stated = [int(size) if size else there for size, there in zip(sizes, seen)]  # noqa: B905
    if seen == stated:
        return len(paths), []
    return len(paths), [path for path, size, there in zip(paths, stated, seen) if size != there]  # noqa: B905


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
