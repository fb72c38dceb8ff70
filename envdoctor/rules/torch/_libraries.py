"""Reading the list of native libraries that torch has mapped, or that a report names."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from envdoctor.rules.rule import Facts, Pattern, known

_FILE = Pattern(
    r"(?P<folder>.*/)?(?P<stem>lib[A-Za-z][A-Za-z0-9_+-]{0,120}?)(?:-[0-9a-f]{8,120})?\.so(?:\.(?P<version>[\d.]+))?$"
)


class Library(NamedTuple):
    """One mapped library: ``stem`` is "libcudart", ``version`` what its file name carries ("12", "9.1.0", "")."""

    path: str
    stem: str
    version: str

    @property
    def major(self) -> str:
        return self.version.partition(".")[0]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


def read(paths: Iterable[str]) -> tuple[Library, ...]:
    """The libraries among these paths; copies that differ only in spelling count once."""
    matches = [match for path in dict.fromkeys(paths) if (match := _FILE.match(path))]
    return tuple(Library(match[0], match["stem"], match["version"] or "") for match in matches)


def mapped_libraries(facts: Facts) -> tuple[Library, ...]:
    torch = known(facts.torch)
    return read(torch.libraries) if torch else ()


def is_environments(library: Library, facts: Facts) -> bool:
    """Does it lie in the environment (site-packages of any kind, its prefix)? Paths may be shortened: "~/env/..."."""
    interpreter = known(facts.interpreter)
    homes = [interpreter.prefix, interpreter.base_prefix] if interpreter and interpreter.prefix else []
    if re.search(r"/(site|dist)-packages/", library.path):
        return True
    return any(home and home not in ("/usr", "/") and library.path.startswith(home.rstrip("/") + "/") for home in homes)


def short(path: str) -> str:
    """The end of a long path: what tells two copies apart stands in the last folders."""
    parts = path.split("/")
    return path if len(parts) <= 6 else "…/" + "/".join(parts[-4:])
