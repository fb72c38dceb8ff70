"""What NumPy's own words, and the numbers in them, tell of the two sides of its binary interface."""

from typing import NamedTuple

from envdoctor.knowledge.questions import errors_in, installed, messages, pairs, versions
from envdoctor.rules.rule import Facts, Pattern, known

_SAYS = (
    "compiled using numpy 1",
    "built for numpy 1",
    "compiled for numpy 1",
    "_array_api not found",
    "numpy is not available",
    "numpy not available",
    "numpy.core.multiarray failed to import",
    "numpy.dtype size changed",
    "numpy.ndarray size changed",
    "compiled against abi version",
    "module compiled against api version",
)
_SIZES = Pattern(r"numpy\.(?P<what>dtype|ndarray) size changed.{0,60}Expected (?P<built>\d+)\D.{0,30}got (?P<here>\d+)")
_INTERFACE = Pattern(
    r"against A[PB]I version (?P<built>0x[0-9a-f]{1,8})\b.{0,40}(?:is|numpy) (?P<here>0x[0-9a-f]{1,8})"
)
_FOR_1 = Pattern(r"(?i:(?:compiled|built) (?:using|for) numpy 1)|_ARRAY_API not found")
_API_OF_2, _ABI_OF_2 = 0x12, 0x2000000
_API_FROM = {0xE: "1.20", 0xF: "1.22", 0x10: "1.23", 0x11: "1.25", 0x12: "2"}
"""NumPy's first release with that C interface: NPY_API_VERSION in numpy/core/setup_common.py of each."""


class Proof(NamedTuple):
    """What the numbers of a line prove, and which way out that leaves."""

    meaning: str
    usually: str
    advice: str
    wanted: str
    title: str = ""  # where the rule's own says more


_NEWER_PACKAGES = (
    "Install newer releases of the packages that fail, which are built for NumPy 2, or an older NumPy; in a notebook "
    "restart the runtime once NumPy was changed, by whatever package's installation."
)
_OF_1 = Proof(
    "A package that was compiled for NumPy 1 meets NumPy 2",
    "it came with an upgrade of something else, and the package (its name stands in the traceback) sets no limit",
    _NEWER_PACKAGES,
    "numpy<2",
)
_OF_2 = Proof(
    "A package that was compiled for NumPy 2 meets NumPy 1",
    "",
    "Install NumPy 2 where the other packages accept it, or the package's older release, which is for NumPy 1.",
    "numpy>=2",
)


def _older_numpy(least: str) -> Proof:
    return Proof(
        f"A package was compiled for NumPy {least} or later, and an older one is loaded",
        "something else holds NumPy back, or another copy of it is found first (conda's, the system's, the user's)",
        f"Install NumPy {least} or later, or the package's older release; see which NumPy is imported.",
        f"numpy>={least}" + ("" if least == "2" else ",<2"),
        "A package was compiled for a later NumPy than the one that is loaded",
    )


_OPEN = Proof(
    "What was compiled for NumPy does not get NumPy's binary interface",
    "a package was compiled for another major version of NumPy than the one that is loaded, NumPy was installed anew "
    "under a running Python, or two copies of it are mixed",
    "See which NumPy is loaded (numpy.__version__, numpy.__file__) and start Python anew. Under NumPy 2 install newer "
    "releases of the packages that fail, or numpy<2; under NumPy 1 upgrade NumPy or take their older releases.",
    "",
    "Compiled code does not get NumPy's binary interface",
)
_NO_BRIDGE = Proof(
    "What was started was built to work with NumPy and cannot use it here",
    "torch before 2.3 (or another package of that time) meets NumPy 2, NumPy is not installed in this Python, or fails "
    "when it is imported",
    "Import numpy by itself. Where it is 2 beside such a torch: numpy<2, or torch 2.3 or later; where it is missing, "
    "install it into this very Python and start that anew.",
    "numpy<2",
    "A program that works with NumPy cannot use it here",
)


def read(said: str, lines: tuple[str, ...]) -> Proof:
    for line in (said, *lines):
        if size := _SIZES.search(line):
            built, here = int(size["built"]), int(size["here"])
            if size["what"] == "dtype" and {built, here} == {88, 96}:  # NumPy 1 has 96 bytes there, NumPy 2 has 88
                return _OF_1 if built == 96 else _OF_2
            if size["what"] == "ndarray" and built > here and built in (88, 96):
                return _older_numpy("1.20" if built == 88 else "1.22")
        if interface := _INTERFACE.search(line):
            built, here = int(interface["built"], 16), int(interface["here"], 16)
            if max(built, here) >= _ABI_OF_2:
                return _OF_1 if built < here else _OF_2
            if built > here:
                return _OF_2 if here < _API_OF_2 <= built else _older_numpy(_API_FROM.get(built, "1.20"))
        if _FOR_1.search(line):
            return _OF_1
    return _NO_BRIDGE if "not available" in said.lower() else _OPEN


def release(facts: Facts) -> str | None:
    return installed.version(facts, "numpy")


def error_line(facts: Facts) -> str | None:
    """The line of a report, or what torch found of it."""
    torch = known(facts.torch)
    return messages.line_with(facts, *_SAYS) or (torch.numpy if torch and torch.numpy else None)


def has_a_row_of_its_own(facts: Facts, said: str) -> bool:
    """NumPy's own compiled parts do not fit it: no other package is to blame, and a row says so."""
    rows = errors_in(facts, said)
    return any(row.kind == "numpy-abi" and row.beside for row in rows)


def built_for_1(facts: Facts) -> dict[str, str]:
    """The releases beside NumPy 2 that came before the first that fit it."""
    numpy = release(facts)
    if not numpy or not versions.at_least(numpy, "2.0"):
        return {}
    first, present = pairs.first_with_numpy_2(), installed.with_torch(facts)
    return {name: version for name, version in present.items() if name in first and _before(version, first[name])}


def _before(version: str, first: str) -> bool:
    """Older than the first fitting release. Builds from source and of vendors ("2.3.0a0+...nv24.4") are not judged."""
    label = versions.label(version) or ""
    return versions.below(version, first) and (not label or label.startswith(("cu", "cpu", "rocm")))
