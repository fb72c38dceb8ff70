"""Installed distributions, read from their own metadata; nothing is imported, not even ``importlib.metadata``."""

from __future__ import annotations

import json
import os
import re
from collections import namedtuple

from .files import RECORD_LIMIT, contents, regular
from .places import EnvironmentPlaces

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

HEADER = 1 << 14  # bytes that nearly every header ends in
HEADER_LIMIT = 1 << 20  # bytes; the longest header seen (370 Requires-Dist lines) has 40 kB


if TYPE_CHECKING:

    class Problem(NamedTuple):
        """A damage, in the words of `envdoctor.facts.DamagedFile`."""

        distribution: str
        kind: str
        path: str
        detail: str = ""

else:
    Problem = namedtuple("Problem", "distribution kind path detail", defaults=("",))


if TYPE_CHECKING:

    class Found(NamedTuple):
        """A metadata directory: where it is, and what it says."""

        location: str
        folder: str  # name of the .dist-info or .egg-info entry
        value: Dict[str, Any]  # fields of facts.Distribution
        record: Optional[bytes]
        looked: bool  # was RECORD looked for, in vain when `record` is None?
        url: str  # url of direct_url.json

else:
    Found = namedtuple("Found", "location folder value record looked url")


class Reading:
    """All distributions of the search path, in its order, and the problems seen while reading them."""

    def __init__(self) -> None:
        self.found: List[Found] = []
        self.problems: List[Problem] = []


def read(places: EnvironmentPlaces) -> Reading:
    reading = Reading()
    for directory in places.search:
        try:
            with os.scandir(directory) as entries:
                names = [entry.name for entry in entries]
        except OSError as error:
            if directory in places.site:
                reading.problems.append(Problem("", "unreadable", directory, error.strerror or ""))
            continue
        here: Dict[str, Found] = {}
        for name in names:
            if name.endswith((".dist-info", ".egg-info")) and name[0] not in "~-":
                _add(reading, here, directory, name)
            elif name.endswith(".egg-link"):
                _add_link(reading, directory, name)
            elif name.startswith(".tmp"):
                reading.problems.append(Problem("", "partial-file", name))
        for name in names:
            if name[0] in "~-":
                reading.problems.append(Problem(_owner(name, here), "leftover", name))
    for found in places.path_files:
        for line in found.dangling:
            reading.problems.append(Problem("", "dangling-path-file", os.path.basename(found.path), line))
    return reading


def section(places: EnvironmentPlaces, reading: Reading) -> Dict[str, Any]:
    """The packages section. Of one name on several directories the first counts, as it does for ``import``."""
    first: Dict[str, str] = {}
    distributions = []
    for found in reading.found:
        name = found.value["name"]
        if name and first.setdefault(name, found.location) == found.location:
            distributions.append(found.value)
    return {
        "distributions": sorted(distributions, key=lambda value: str(value["name"])),
        "pip": next((d["version"] for d in distributions if d["name"] == "pip"), None),
        "conda": _conda(places.prefix) if places.is_conda else {},
    }


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _add_link(reading: Reading, directory: str, name: str) -> None:
    """A development installation of old setuptools: its first line names the project's folder."""
    try:
        with open(os.path.join(directory, name), encoding="utf-8", errors="surrogateescape", opener=regular) as stream:
            target = stream.readline(4096).strip()
    except OSError as error:
        reading.problems.append(Problem(normalise(name[:-9]), "unreadable", name, error.strerror or ""))
        return
    if not os.path.isdir(target):
        reading.problems.append(Problem(normalise(name[:-9]), "dangling-path-file", name, target))


def _owner(leftover: str, here: Dict[str, Found]) -> str:
    """Whose stash this is: pip overwrites the first letters of a name with ``~`` (older ones: with ``-``)."""
    ending = normalise(leftover.lstrip("~-").partition("-")[0])
    return min((name for name in here if name.endswith(ending)), key=len, default=ending)


def _add(reading: Reading, here: Dict[str, Found], directory: str, folder: str) -> None:
    path = os.path.join(directory, folder)
    stem = folder.rpartition(".")[0]
    stated_name, _, stated_version = stem.rpartition("-") if folder.endswith(".dist-info") else stem.partition("-")
    stated_name = stated_name or stated_version
    told = normalise(stated_name) if re.match(r"[A-Za-z0-9]", stated_name) and not stem.startswith("-") else ""
    kind = "dist-info" if folder.endswith(".dist-info") else "egg-info"
    metadata = os.path.join(path, "METADATA")
    if kind == "egg-info":  # a folder, or from distutils a single file
        metadata = os.path.join(path, "PKG-INFO") if os.path.isdir(path) else path
    header, problem = _header(metadata)
    if problem is not None:
        reading.problems.append(Problem(told, problem[0], folder, problem[1]))
    name = _first(header, "name")
    version = _first(header, "version") or ""
    if not told and not name:
        reading.problems.append(Problem("", "nameless", folder))
        return
    if problem is None and (not name or not version):
        absent = "no Name" if not name else "no Version"
        reading.problems.append(Problem(told, "nameless" if not name else "broken-metadata", folder, absent))
    if kind == "dist-info" and name and version and _differs(stated_name, stated_version, name, version):
        reading.problems.append(Problem(told, "version-disagrees", folder, "METADATA says %s %s" % (name, version)))
    text = {} if kind == "egg-info" else _texts(path)
    direct = _direct_url(text.get("direct_url.json", ""))
    key = normalise(name or stated_name)
    value: Dict[str, Any] = {
        "name": key,
        "version": version or stated_version,
        "location": directory,
        "installer": text.get("INSTALLER", "").strip() or None,
        "editable": direct[1],
        "source": direct[0],
        "requires": header.get("requires-dist", []),
        "requires_python": _first(header, "requires-python"),
        "tags": re.findall(r"(?m)^Tag:\s*(\S+)", text.get("WHEEL", "")),
    }
    record, looked = (None, False) if kind == "egg-info" else _record(reading, path, key)
    if record is not None and b".dist-info/variant.json" in record:
        value["variant"] = _variant(os.path.join(path, "variant.json"))
    found = Found(directory, folder, value, record, looked, direct[2])
    twin = here.setdefault(key, found)
    if twin is not found:
        if kind == "egg-info" or twin.folder.endswith(".egg-info"):
            return  # setuptools develop keeps an .egg-info beside the .dist-info
        detail = "also %s" % twin.folder
        reading.problems.append(Problem(key, "duplicate", folder, detail))
    reading.found.append(found)


def _header(path: str) -> Tuple[Dict[str, List[str]], Optional[Tuple[str, str]]]:
    """The header fields (lower-case names) of METADATA, up to its first blank line, and what is wrong with it."""
    try:
        data = contents(path, HEADER)
        if len(data) == HEADER and b"\n\n" not in data and b"\r\n\r\n" not in data:
            data = contents(path, HEADER_LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return {}, ("no-metadata", os.path.basename(path))
    except OSError as error:
        return {}, ("unreadable", error.strerror or str(error))
    if not data.strip(b"\0 \r\n\t"):
        return {}, ("broken-metadata", "empty" if not data else "blank")
    fields: Dict[str, List[str]] = {}
    key = ""
    for line in data.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n"):
        if not line:
            break
        if line[0] in " \t":
            if key:
                fields[key][-1] += "\n" + line.strip()
            continue
        key, colon, content = line.partition(":")
        key = key.strip().lower()
        if not colon or not key:
            return fields, ("broken-metadata", "line %r" % line[:60])
        fields.setdefault(key, []).append(content.strip())
    return fields, None


def _first(header: Dict[str, List[str]], key: str) -> Optional[str]:
    values = header.get(key)
    return values[0] if values and values[0] and values[0] != "UNKNOWN" else None


def _differs(stated_name: str, stated_version: str, name: str, version: str) -> bool:
    """Does the directory name another project or another version than METADATA?"""
    return normalise(stated_name) != normalise(name) or _plain(stated_version) != _plain(version)


def _plain(version: str) -> Tuple[Tuple[str, ...], str]:
    """A version without what spelling may change: case, separators, leading zeros, trailing ``.0``."""
    public, _, local = version.lower().lstrip("v").partition("+")
    parts = re.findall(r"[0-9]+|[a-z]+", public.replace("alpha", "a").replace("beta", "b"))
    numbers = [part.lstrip("0") or "0" for part in parts]
    while numbers and numbers[-1] == "0":
        numbers.pop()
    return tuple(numbers), re.sub(r"[-_.]+", ".", local)


def _texts(folder: str) -> Dict[str, str]:
    """INSTALLER, WHEEL and direct_url.json, as far as they are there."""
    texts = {}
    for name in ("INSTALLER", "WHEEL", "direct_url.json"):
        try:
            texts[name] = contents(folder + os.sep + name, 65536).decode("utf-8", "replace")
        except OSError:
            pass
    return texts


def _direct_url(text: str) -> Tuple[Optional[str], bool, str]:
    """Source kind, editable, URL of a direct_url.json (its credentials are the scrubber's business)."""
    try:
        data = json.loads(text) if text else None
    except ValueError:
        return None, False, ""
    if not isinstance(data, dict):
        return None, False, ""
    url = str(data.get("url", ""))
    if "vcs_info" in data:
        return "vcs", False, url
    if "archive_info" in data:
        return "archive", False, url
    details = data.get("dir_info")
    return "file", isinstance(details, dict) and details.get("editable") is True, url


def _variant(path: str) -> List[str]:
    """The properties of the one variant that a variant.json describes (PEP 825), as that writes them in a line; none of
    a file in another form, whose properties are not what an installer went by."""
    try:
        with open(path, "rb", opener=regular) as stream:
            variants = json.loads(stream.read(65536).decode("utf-8"))["variants"]
        (namespaces,) = variants.values()
        lines = [
            "%s :: %s :: %s" % (namespace, feature, value)
            for namespace, features in sorted(namespaces.items())
            for feature, values in sorted(features.items())
            for value in values
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    return [line for line in lines if re.match(r"[a-z0-9_]+ :: [a-z0-9_]+ :: [a-z0-9_.]+\Z", line)]


def _record(reading: Reading, path: str, name: str) -> Tuple[Optional[bytes], bool]:
    """RECORD, and whether it was looked at: one that may not be read is told as such, not as missing."""
    try:
        return contents(path + os.sep + "RECORD", RECORD_LIMIT), True
    except PermissionError as error:
        place = os.path.basename(path) + "/RECORD"
        reading.problems.append(Problem(name, "unreadable", place, error.strerror or ""))
        return None, False
    except OSError:
        return None, True


def _conda(prefix: str) -> Dict[str, str]:
    """conda package -> "version build", from the file names of conda-meta (name-version-build.json)."""
    found = {}
    names: Set[str] = set(os.listdir(os.path.join(prefix, "conda-meta")))
    for name in sorted(names):
        parts = name[:-5].rsplit("-", 2) if name.endswith(".json") else []
        if len(parts) == 3:
            found[parts[0]] = "%s %s" % (parts[1], parts[2])
    return found
