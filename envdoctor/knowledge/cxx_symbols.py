"""What a mangled C++ name tells of the compiler's setting: which of the two std::string it takes.

GCC has two since 5: the old one, which the mangling shortens to "Ss", and that of the new ABI, which is spelled
std::__cxx11::basic_string (_GLIBCXX_USE_CXX11_ABI=1). Code of the one does not find functions of the other.
"""

from __future__ import annotations

import re

from envdoctor.values.pattern import Pattern

_SYMBOL = Pattern(r"_Z\w+")
_NEW = re.compile(r"St7__cxx11|NSt7_{0,2}$|B5cxx11")
"""The middle one: where the line is cut off in it."""
_OLD = re.compile(r"(?<![a-z])(?:[RPKOE]{0,3})Ss(?![a-z])")


def has_new_strings(line: str) -> bool | None:
    """Does the mangled name of this line take the new ABI's string? False: the old one's; None where it takes none."""
    found = _SYMBOL.search(line)
    if found is None:
        return None
    if _NEW.search(found[0]):
        return True
    return False if _OLD.search(_without_names(found[0])) else None


def _without_names(symbol: str) -> str:
    """The name without its identifiers, each of which stands behind its length: what is left is grammar."""
    kept, place = [], 2
    while place < len(symbol):
        length = re.match(r"\d{1,3}", symbol[place:])
        if length is None:
            kept.append(symbol[place])
            place += 1
        else:
            kept.append("-")
            place += len(length[0]) + int(length[0])
    return "".join(kept)
