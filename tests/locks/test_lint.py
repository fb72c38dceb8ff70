"""What a lock must never be. The first 25 cases are those on which installers differ; `test_fetch.py` beside it has
the three of them that only show when the files come (wrong sha256, wrong size over http and from a folder)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import Trouble
from envdoctor.facts.model import Unavailable
from envdoctor.locks import stack
from envdoctor.locks.lint import lint
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.stack import Stack
from tests.locks.writing.conftest import lock, package, wheel, write_lock

LOCKFILES = Path(__file__).resolve().parents[2] / "lockfiles"
SHA = "a" * 64


def alpha(**fields: Any) -> dict[str, Any]:
    """A lock of one package whose wheel has the given fields (None takes one away)."""
    return lock(package("alpha", wheels=[wheel("alpha", **fields)]))


def one(**fields: Any) -> dict[str, Any]:
    return lock(package("alpha", **fields))


REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    # hashes
    "no hashes key": (alpha(hashes=None), "Missing required value"),
    "empty hashes": (alpha(hashes={}), "At least one hash"),
    "md5 only": (alpha(hashes={"md5": "a" * 32}), "no sha256"),
    "sha1 only": (alpha(hashes={"sha1": "a" * 40}), "no sha256"),
    "sha512 only": (alpha(hashes={"sha512": "a" * 128}), "no sha256"),
    "sha256 in capitals": (alpha(hashes={"sha256": "A" * 64}), "no sha256 of 64 hexadecimal digits"),
    "sha256 too short": (alpha(hashes={"sha256": "a" * 63}), "no sha256 of 64"),
    "sha256 too long": (alpha(hashes={"sha256": "a" * 65}), "no sha256 of 64"),
    "sha256 empty": (alpha(hashes={"sha256": ""}), "no sha256 of 64"),
    "sha256 with its name before it": (alpha(hashes={"sha256": f"sha256:{SHA}"}), "no sha256 of 64"),
    "sha256 with a newline": (alpha(hashes={"sha256": SHA + "\n"}), "no sha256 of 64"),
    "sha256 a number": (alpha(hashes={"sha256": 1}), "strings"),
    "hashes a text": (alpha(hashes=SHA), "expected Mapping"),
    # sizes
    "size negative": (alpha(size=-1), "a size of -1 bytes"),
    "size zero": (alpha(size=0), "a size of 0 bytes"),
    "size true": (alpha(size=True), "Unexpected type"),
    "size a text": (alpha(size="1000"), "Unexpected type"),
    "size a fraction": (alpha(size=1000.5), "Unexpected type"),
    "size beyond any wheel": (alpha(size=2**62), "a size of"),
    "no size": (alpha(size=None), "without size"),
    # addresses
    "http address": (alpha(url="http://host.invalid/alpha-1.0-py3-none-any.whl"), "not by address"),
    "https address": (alpha(url="https://host.invalid/alpha-1.0-py3-none-any.whl"), "not by address"),
    "file address": (alpha(url="file:///etc/alpha-1.0-py3-none-any.whl", path=None), "not by address"),
    "script address": (alpha(url="javascript:1/alpha-1.0-py3-none-any.whl", path=None), "not by address"),
    "ftp address": (alpha(url="ftp://host.invalid/alpha-1.0-py3-none-any.whl"), "not by address"),
    "address with a password": (
        alpha(url="https://me:secret@host.invalid/alpha-1.0-py3-none-any.whl"),
        "not by address",
    ),
    "index": (one(index="https://host.invalid/simple"), "a lock names no index"),
    # paths
    "path upwards": (alpha(path="../wheels/alpha-1.0-py3-none-any.whl"), "leaves the lock's folder"),
    "path upwards inside": (alpha(path="wheels/../../alpha-1.0-py3-none-any.whl"), "leaves the lock's folder"),
    "path absolute": (alpha(path="/tmp/alpha-1.0-py3-none-any.whl"), "leaves the lock's folder"),
    "path of the home": (alpha(path="~/alpha-1.0-py3-none-any.whl"), "leaves the lock's folder"),
    "path with backslashes": (alpha(path="..\\alpha-1.0-py3-none-any.whl"), "leaves the lock's folder"),
    "path with a drive": (alpha(path="C:/alpha-1.0-py3-none-any.whl"), "leaves the lock's folder"),
    "path with a scheme": (alpha(path="file:wheels/alpha-1.0-py3-none-any.whl"), "leaves the lock's folder"),
    "path on a network share": (alpha(path="//host/share/alpha-1.0-py3-none-any.whl"), "leaves the lock's folder"),
    "path with NUL": (alpha(path="wheels/\0/alpha-1.0-py3-none-any.whl"), "control character"),
    "path with a newline": (alpha(path="wheels\x0b/alpha-1.0-py3-none-any.whl"), "control character"),
    "path of another file": (
        alpha(path="wheels/other.whl", name="alpha-1.0-py3-none-any.whl"),
        "is another file than 'alpha-1.0-py3-none-any.whl'",
    ),
    "neither path nor address": (alpha(path=None), "path or url must be provided"),
    # names
    "wheel of another project": (one(wheels=[wheel("beta")]), "not consistent with package name"),
    "wheel of another version": (one(wheels=[wheel("alpha", "2.0")]), "not consistent with package version"),
    "wheel that is none": (alpha(path="wheels/alpha-1.0.zip"), "Invalid wheel filename"),
    "wheel name of 300 bytes": (alpha(path=f"wheels/alpha-1.0-py3-none-{'a' * 300}.whl"), "more than 255 bytes"),
    "wheel name of a million tags": (
        alpha(path=f"wheels/alpha-1.0-{'.'.join('a' * 35)}-{'.'.join('b' * 35)}-{'.'.join('c' * 35)}.whl"),
        "more than 64 combinations",
    ),
    "the same wheel twice": (one(wheels=[wheel("alpha"), wheel("alpha")]), "twice"),
    "project name not normalised": (one(name="Alpha_"), "not normalized"),
    "project name with an escape": (one(name="al\x1b[31mpha"), "control character"),
    "no name": (one(name=None), "Missing required value"),
    "no version": (one(version=None), "no version"),
    "version that is none": (one(version="one"), "Invalid version"),
    # sources that run code
    "vcs": (
        one(wheels=None, vcs={"type": "git", "url": "https://host.invalid/a.git", "commit-id": "b" * 40}),
        "only wheels may be locked",
    ),
    "directory": (one(wheels=None, directory={"path": "."}), "only wheels may be locked"),
    "archive": (
        one(wheels=None, archive={"path": "alpha.zip", "hashes": {"sha256": SHA}}),
        "only wheels may be locked",
    ),
    "sdist": (
        one(wheels=None, sdist={"path": "alpha-1.0.tar.gz", "hashes": {"sha256": SHA}}),
        "only wheels may be locked",
    ),
    "sdist beside wheels": (
        one(sdist={"path": "alpha-1.0.tar.gz", "hashes": {"sha256": SHA}}),
        "only wheels may be locked",
    ),
    "nothing at all": (one(wheels=None), "Exactly one of"),
    # whom it serves
    "two active entries of one name": (lock(package("alpha"), package("alpha", "2.0")), "Multiple packages"),
    "two active entries on one Python": (
        lock(
            package("alpha", marker="python_version < '3.13'"),
            package("alpha", "2.0", marker="python_version > '3.11'"),
        ),
        "Python 3.12 on x86_64",
    ),
    "requires a Python that is none of ours": (lock(**{"requires-python": ">=4"}), "serves none of CPython"),
    "environments of another system": (lock(environments=["sys_platform == 'emscripten'"]), "serves none of CPython"),
    "no wheel for Windows, which it says it serves": (
        lock(
            package("alpha", wheels=[wheel("alpha", tag="py3-none-macosx_14_0_arm64")]),
            environments=["sys_platform == 'darwin'", "sys_platform == 'win32'"],
        ),
        "on AMD64",
    ),
    "no wheel for a Python it says it serves": (
        one(wheels=[wheel("alpha", tag="cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64")]),
        "Python 3.10 on x86_64",
    ),
    "no wheel for the C library of torch itself": (
        lock(package("alpha", wheels=[wheel("alpha", tag="py3-none-manylinux_2_39_x86_64")])),
        "on x86_64",
    ),
    "package that requires another Python": (one(**{"requires-python": ">=3.12"}), "Python 3.10 on x86_64"),
    # dependencies
    "dependency that is absent": (one(dependencies=[{"name": "gamma"}]), "alpha needs gamma, which is not in the lock"),
    "dependency without a name": (one(dependencies=[{"version": "1"}]), "alpha needs None"),
    "dependency with a number for a name": (one(dependencies=[{"name": 1}]), "alpha needs 1"),
    "dependencies of texts": (one(dependencies=["gamma"]), "Unexpected type"),
    # markers
    "marker that is none": (one(marker="is it?"), "marker"),
    "marker with an unknown variable": (one(marker="gpu == 'h100'"), "gpu"),
    "marker of 200 parentheses": (one(marker="(" * 200 + "python_version > '3'" + ")" * 200), "too long or too deep"),
    "marker of 40,000 characters": (one(marker=" or ".join(["python_version > '3'"] * 2000)), "too long or too deep"),
    "markers of a million characters": (
        lock(*[package(f"p{n}", marker=" or ".join(["python_version > '3'"] * 300)) for n in range(150)]),
        "markers of 1079400 characters",
    ),
    "environment of 200 parentheses": (
        lock(environments=["(" * 200 + "python_version > '3'" + ")" * 200]),
        "too long or too deep",
    ),
    # the document
    "lock-version 2.0": (lock(**{"lock-version": "2.0"}), "not supported"),
    "lock-version a number": (lock(**{"lock-version": 1.0}), "Unexpected type"),
    "no lock-version": (lock(**{"lock-version": None}), "Missing required value"),
    "no created-by": (lock(**{"created-by": None}), "Missing required value"),
    "created-by that turns the terminal red": (lock(**{"created-by": "\x1b[31muv"}), "control character"),
    "created-by that turns writing around": (lock(**{"created-by": "\u202euv"}), "control character"),
    "a key with an escape": (alpha(**{"\x1b]0;x\x07": 1}), "control character in the key"),
    "requires-python that is none": (lock(**{"requires-python": "three"}), "Invalid specifier"),
    "no packages": ({"lock-version": "1.0", "created-by": "a test", "packages": []}, "it locks no packages"),
    "packages a text": ({"lock-version": "1.0", "created-by": "a test", "packages": "all"}, "Unexpected type"),
    "wheels a table": (one(wheels={"path": "x"}), "Unexpected type"),
    "2,001 packages": (lock(*[package(f"p{n}") for n in range(2001)]), "2001 packages"),
    "upload-time a text": (alpha(**{"upload-time": "yesterday"}), "Unexpected type"),
    "attestation without a kind": (one(**{"attestation-identities": [{"publisher": "x"}]}), "Missing required value"),
}

WARNED: dict[str, tuple[dict[str, Any], str]] = {
    "lock-version 1.9": (lock(**{"lock-version": "1.9"}), "only what version 1.0 says is read"),
    "unknown top-level key": (lock(colour="red"), "no key 'colour'"),
    "unknown key of a package": (one(colour="red"), "no key 'colour'"),
    "unknown key of a wheel": (alpha(colour="red"), "no key 'colour'"),
}

ACCEPTED: dict[str, dict[str, Any]] = {
    "the plain lock": lock(),
    "md5 beside sha256": alpha(hashes={"md5": "a" * 32, "sha256": SHA}),
    "a tool's own table": lock(tool={"uv": {"note": "\x1b[31m"}}),
    "attestation": one(**{"attestation-identities": [{"kind": "GitHub"}]}),
    "extras and groups that nobody asks for": lock(extras=["gpu"], **{"dependency-groups": ["dev"]}),
    "two entries that never meet": lock(
        package("alpha", marker="python_version < '3.12'"), package("alpha", "2.0", marker="python_version >= '3.12'")
    ),
    "a marker of the other machine": lock(package("alpha"), package("beta", marker="platform_machine == 'aarch64'")),
    "whom it serves left open": lock(
        package("alpha", wheels=[wheel("alpha", tag="cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64")]),
        **{"requires-python": None},
    ),
    "the widest wheel": alpha(path="wheels/alpha-1.0-py2.py3-none-any.whl"),
    "the folder of the lock itself": alpha(path="alpha-1.0-py3-none-any.whl"),
    "name beside the path": alpha(name="alpha-1.0-py3-none-any.whl"),
}


def dumped(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "pylock.case.toml"
    path.write_text(tomli_w.dumps(data), "utf-8")
    return path


@pytest.mark.parametrize("case", REJECTED)
def test_rejected(case: str, tmp_path: Path) -> None:
    data, words = REJECTED[case]
    flaws = lint(dumped(tmp_path, data))
    assert flaws[0].fatal
    assert words in flaws[0].problem
    assert not [flaw for flaw in flaws if "\x1b" in flaw.problem + flaw.where]


@pytest.mark.parametrize("case", WARNED)
def test_warned(case: str, tmp_path: Path) -> None:
    data, words = WARNED[case]
    (flaw,) = lint(dumped(tmp_path, data))
    assert not flaw.fatal
    assert words in flaw.problem
    assert flaw.where


@pytest.mark.parametrize("case", ACCEPTED)
def test_accepted(case: str, tmp_path: Path) -> None:
    assert lint(dumped(tmp_path, ACCEPTED[case])) == ()


def test_the_table_is_as_long_as_it_claims() -> None:
    assert len(REJECTED) + len(WARNED) + len(ACCEPTED) >= 25 + 40


RAW: dict[str, tuple[Callable[[str], bytes], str]] = {
    "not TOML": (lambda text: b"[[packages", "not valid TOML"),
    "empty": (lambda text: b"", "Missing required value"),
    "cut off": (lambda text: text.encode()[: len(text) // 2], ""),
    "not UTF-8": (lambda text: text.encode() + b"# \xff", "not UTF-8 text"),
    "UTF-16": (lambda text: text.encode("utf-16"), "not UTF-8 text"),
    "a key twice": (lambda text: b'created-by = "x"\n' + text.encode(), "not valid TOML"),
    "5 MiB": (lambda text: text.encode() + b"#" * (5 * 2**20), "larger than 4 MiB"),
    "arrays in arrays": (
        lambda text: b"x = " + b"[" * 5000 + b"]" * 5000 + b"\n" + text.encode(),
        "not readable as TOML",
    ),
    "tables in tables": (lambda text: b"x = " + b"{a=" * 5000 + b"1" + b"}" * 5000 + b"\n", "not readable as TOML"),
    "a key of 20,000 parts": (lambda text: b".".join([b"a"] * 20000) + b" = 1\n", "a key of more than 64 parts"),
    "such a key in a table": (
        lambda text: b"x = { " + b".".join([b"a"] * 20000) + b" = 1 }\n",
        "a key of more than 64",
    ),
    "such a key in quotes": (lambda text: b" . ".join([b'"a"'] * 20000) + b" = 1\n", "a key of more than 64 parts"),
    "such a header": (lambda text: b"[" + b".".join([b"a"] * 20000) + b"]\n", "a key of more than 64 parts"),
    "a number of 5,000 digits": (lambda text: b"x = " + b"9" * 5000 + b"\n", "not readable as TOML"),
    "carriage returns inside": (lambda text: text.replace("\n", "\r").encode(), "not valid TOML"),
}


@pytest.mark.parametrize("case", RAW)
def test_rejected_as_a_document(case: str, tmp_path: Path) -> None:
    make, words = RAW[case]
    path = write_lock(tmp_path, lock())
    path.write_bytes(make(path.read_text("utf-8")))
    (flaw,) = lint(path)
    assert flaw.fatal
    assert words in flaw.problem


@pytest.mark.parametrize("change", [lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n")])
def test_marks_and_line_ends_of_other_systems_are_read(tmp_path: Path, change: Callable[[str], str]) -> None:
    path = write_lock(tmp_path, lock())
    path.write_bytes(change(path.read_text("utf-8")).encode())
    assert lint(path) == ()


@pytest.mark.parametrize("name", ["pylock.a.b.toml", "pylock.toml", "lock.toml", "pylock..toml"])
def test_the_name_of_the_file_is_the_stack(tmp_path: Path, name: str) -> None:
    path = write_lock(tmp_path, lock()).rename(tmp_path / name)
    assert "a stack is named pylock.<name>.toml" in lint(path)[0].problem


def test_a_flaw_names_its_line(tmp_path: Path) -> None:
    path = write_lock(tmp_path, lock(package("alpha"), package("beta", wheels=[wheel("beta", hashes={"md5": "x"})])))
    (flaw,) = lint(path)
    number = int(flaw.where.removeprefix("line ").partition(",")[0])
    assert "beta" in path.read_text().splitlines()[number - 1]


def test_fatal_flaws_come_first_and_not_thousands_of_them(tmp_path: Path) -> None:
    strange = {f"colour{n}": n for n in range(2000)}
    flaws = lint(dumped(tmp_path, lock(package("alpha", dependencies=[{"name": "gamma"}]), **strange)))
    assert flaws[0].fatal
    assert len(flaws) <= 25


@pytest.mark.parametrize("path", sorted(LOCKFILES.glob("pylock.*.toml")), ids=lambda path: path.name)
def test_bundled_locks_have_no_flaw(path: Path) -> None:
    assert lint(path) == ()


# --- anything at all -------------------------------------------------------------------------------------------------

texts = st.text(max_size=12) | st.sampled_from(
    ["alpha", "1.0", "python_version > '3'", "wheels/alpha-1.0-py3-none-any.whl", "sha256", SHA, "1.0.0.0", ">=3"]
)
leaves = texts | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False) | st.datetimes()
keys = st.sampled_from(
    "name version marker requires-python dependencies vcs directory archive index sdist wheels packages environments "
    "hashes sha256 size url path extras created-by lock-version tool upload-time attestation-identities kind".split()
)
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | texts, inner, max_size=4), max_leaves=12
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything inside a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inside for place in places(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A sound lock in which one to three things were replaced by anything."""
    data: Any = lock()
    for _ in range(draw(st.integers(1, 3))):
        data = replaced(data, draw(st.sampled_from(places(data)[1:])), draw(anything))
    return dict(data)


def judge(path: Path) -> None:
    """Everything that reads a lock either answers or raises `Trouble`."""
    flaws = lint(path)
    assert all(isinstance(flaw.problem, str) and flaw.problem for flaw in flaws)
    found: Stack | Trouble
    try:
        found = stack.load(path)
    except Trouble as error:
        found = error
    if isinstance(found, Trouble):
        assert flaws[0].fatal
        assert flaws[0].problem == found.problem
        return
    chosen = stack.select(found, interpreter("3.12", "x86_64"))
    assert isinstance(chosen, (tuple, Unavailable))
    if isinstance(chosen, tuple):
        assert all(pin.wheel and math.isfinite(len(pin.sha256)) and len(pin.sha256) == 64 for pin in chosen)


fuzzing = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@fuzzing
@given(mutated() | st.dictionaries(keys | texts, anything, max_size=6))
def test_no_document_makes_the_reader_stumble(tmp_path: Path, data: dict[str, Any]) -> None:
    path = tmp_path / "pylock.fuzz.toml"
    path.write_bytes(tomli_w.dumps(data).encode("utf-8", "replace"))
    judge(path)


@fuzzing
@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
    st.integers(0, 400),
)
def test_no_bytes_make_the_reader_stumble(tmp_path: Path, noise: bytes, at: int) -> None:
    path = write_lock(tmp_path, lock())
    sound = path.read_bytes()
    path.write_bytes(sound[:at] + noise + sound[at + len(noise) // 2 :])
    judge(path)
