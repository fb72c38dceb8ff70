"""Forty ways in which an installation is damaged, each recognised; and what looks like damage and is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from envdoctor.system import process
from tests.facts.probe.conftest import Ask
from tests.facts.probe.venvs import Venv


class Case(NamedTuple):
    """How a package named after the case is damaged, and the problem that must be told of it."""

    name: str
    damage: Callable[[Venv, str, Path], None]
    kind: str
    path: str
    distribution: str | None = None  # when it is not the name of the case
    deep: bool = False


def edit(path: str, data: bytes | None) -> Callable[[Venv, str, Path], None]:
    """Replace (or with None remove) a file; {m} is the module, {i} the .dist-info folder."""

    def damage(venv: Venv, module: str, info: Path) -> None:
        target = venv.site / path.format(m=module, i=info.name)
        if target.is_dir():
            shutil.rmtree(target)
        elif data is None:
            target.unlink()
        else:
            target.write_bytes(data)

    return damage


def record(change: Callable[[bytes], bytes]) -> Callable[[Venv, str, Path], None]:
    def damage(venv: Venv, module: str, info: Path) -> None:
        (info / "RECORD").write_bytes(change((info / "RECORD").read_bytes()))

    return damage


def flip(venv: Venv, module: str, info: Path) -> None:
    file = venv.site / module / "__init__.py"
    file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:])


def replace_by(kind: str) -> Callable[[Venv, str, Path], None]:
    def damage(venv: Venv, module: str, info: Path) -> None:
        file = venv.site / module / "__init__.py"
        file.unlink()
        if kind == "folder":
            file.mkdir()
        elif kind == "loop":
            file.symlink_to(file.name)
        else:
            file.symlink_to("/nowhere/at/all")

    return damage


def folder_by_file(venv: Venv, module: str, info: Path) -> None:
    shutil.rmtree(venv.site / module)
    (venv.site / module).write_text("")


def as_directory(name: str) -> Callable[[Venv, str, Path], None]:
    def damage(venv: Venv, module: str, info: Path) -> None:
        (info / name).unlink()
        (info / name).mkdir()

    return damage


def metadata(change: Callable[[str], str]) -> Callable[[Venv, str, Path], None]:
    def damage(venv: Venv, module: str, info: Path) -> None:
        (info / "METADATA").write_text(change((info / "METADATA").read_text()))
        lines = [line for line in (info / "RECORD").read_text().splitlines() if "METADATA" not in line]
        (info / "RECORD").write_text("\n".join(lines) + "\n")

    return damage


def twin(folder: str, text: str) -> Callable[[Venv, str, Path], None]:
    def damage(venv: Venv, module: str, info: Path) -> None:
        other = venv.site / folder
        shutil.copytree(info, other)
        (other / "METADATA").write_text(text)
        (other / "RECORD").write_text(f"{folder}/RECORD,,\n")

    return damage


def add(path: str, text: str = "") -> Callable[[Venv, str, Path], None]:
    def damage(venv: Venv, module: str, info: Path) -> None:
        target = venv.site / path.format(m=module)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    return damage


def script_gone(venv: Venv, module: str, info: Path) -> None:
    with (info / "RECORD").open("a") as stream:
        stream.write("../../../bin/tool,sha256=abc,10\n")


def poisoned(venv: Venv, module: str, info: Path) -> None:
    file = venv.site / module / "__init__.py"
    os.link(file, venv.path / "cache-entry")
    with (venv.path / "cache-entry").open("a") as stream:
        stream.write("# edited in place\n")


def file_for_folder(venv: Venv, module: str, info: Path) -> None:
    shutil.rmtree(info)
    info.write_text("")


def empty_folder(venv: Venv, module: str, info: Path) -> None:
    shutil.rmtree(info)
    info.mkdir()


def killed_uninstall(venv: Venv, module: str, info: Path) -> None:
    shutil.rmtree(info)


def killed_upgrade(venv: Venv, module: str, info: Path) -> None:
    venv.package("half-upgraded", "2.0")


NUL = b"\0" * 200
FILE = "{m}/__init__.py"
CASES = [
    Case("file-deleted", edit(FILE, None), "missing-file", "file_deleted/__init__.py"),
    Case("file-truncated", edit(FILE, b"VA"), "wrong-size", "file_truncated/__init__.py"),
    Case("file-emptied", edit(FILE, b""), "wrong-size", "file_emptied/__init__.py"),
    Case("file-grown", edit(FILE, b"VALUE = 1\n# mine\n"), "wrong-size", "file_grown/__init__.py"),
    Case("file-zeroed", edit(FILE, b"\0" * 10), "wrong-hash", "file_zeroed/__init__.py", deep=True),
    Case("bit-flipped", flip, "wrong-hash", "bit_flipped/__init__.py", deep=True),
    Case("file-to-folder", replace_by("folder"), "wrong-size", "file_to_folder/__init__.py"),
    Case("file-to-broken-link", replace_by("link"), "missing-file", "file_to_broken_link/__init__.py"),
    Case("file-to-loop", replace_by("loop"), "unreadable", "file_to_loop/__init__.py"),
    Case("folder-to-file", folder_by_file, "missing-file", "folder_to_file/__init__.py"),
    Case("folder-deleted", edit("{m}", None), "missing-file", "folder_deleted/__init__.py"),
    Case("script-deleted", script_gone, "missing-file", "../../../bin/tool"),
    Case("cache-poisoned", poisoned, "wrong-size", "cache_poisoned/__init__.py"),
    Case("record-deleted", edit("{i}/RECORD", None), "no-record", "record_deleted-1.0.dist-info/RECORD"),
    Case("record-a-folder", as_directory("RECORD"), "no-record", "record_a_folder-1.0.dist-info/RECORD"),
    Case("record-empty", edit("{i}/RECORD", b""), "empty-record", "record_empty-1.0.dist-info/RECORD"),
    Case("record-blank", edit("{i}/RECORD", b"\r\n\r\n"), "empty-record", "record_blank-1.0.dist-info/RECORD"),
    Case("record-zeroed", edit("{i}/RECORD", NUL), "empty-record", "record_zeroed-1.0.dist-info/RECORD"),
    Case("record-cut", record(lambda data: data[:-25]), "broken-record", "record_cut-1.0.dist-info/RECORD"),
    Case("record-binary", edit("{i}/RECORD", b"a,\xff\xfe,1\n"), "broken-record", "record_binary-1.0.dist-info/RECORD"),
    Case("record-text", edit("{i}/RECORD", b"hello\n"), "broken-record", "record_text-1.0.dist-info/RECORD"),
    Case("record-size", edit("{i}/RECORD", b"a,b,many\n"), "broken-record", "record_size-1.0.dist-info/RECORD"),
    Case("record-quote", edit("{i}/RECORD", b'"a,b\nc,d,1\n'), "broken-record", "record_quote-1.0.dist-info/RECORD"),
    Case(
        "record-climbs",
        record(lambda data: b"../../../../../../../../etc/passwd,sha256=x,1\n" + data),
        "escaping-record",
        "../../../../../../../../etc/passwd",
    ),
    Case("record-absolute", record(lambda data: data + b"/etc/fstab,,\n"), "escaping-record", "/etc/fstab"),
    Case(
        "record-hidden-climb",
        record(lambda data: data + b"a/../../../../../../../../../etc/hosts,,\n"),
        "escaping-record",
        "a/../../../../../../../../../etc/hosts",
    ),
    Case("metadata-deleted", edit("{i}/METADATA", None), "no-metadata", "metadata_deleted-1.0.dist-info"),
    Case("metadata-empty", edit("{i}/METADATA", b""), "broken-metadata", "metadata_empty-1.0.dist-info"),
    Case("metadata-zeroed", edit("{i}/METADATA", NUL), "broken-metadata", "metadata_zeroed-1.0.dist-info"),
    Case("metadata-binary", edit("{i}/METADATA", b"\x7fELF\xff\n"), "broken-metadata", "metadata_binary-1.0.dist-info"),
    Case("metadata-a-folder", as_directory("METADATA"), "unreadable", "metadata_a_folder-1.0.dist-info"),
    Case(
        "metadata-no-name",
        metadata(lambda text: text.replace("Name: metadata-no-name\n", "")),
        "nameless",
        "metadata_no_name-1.0.dist-info",
    ),
    Case(
        "metadata-no-version",
        metadata(lambda text: text.replace("\nVersion: 1.0", "")),
        "broken-metadata",
        "metadata_no_version-1.0.dist-info",
    ),
    Case(
        "other-version",
        metadata(lambda text: text.replace("Version: 1.0", "Version: 2.0")),
        "version-disagrees",
        "other_version-1.0.dist-info",
    ),
    Case(
        "other-project",
        metadata(lambda text: text.replace("Name: other-project", "Name: somebody-else")),
        "version-disagrees",
        "other_project-1.0.dist-info",
    ),
    Case(
        "other-local-label",
        metadata(lambda text: text.replace("Version: 1.0", "Version: 1.0+cpu")),
        "version-disagrees",
        "other_local_label-1.0.dist-info",
    ),
    Case("info-a-file", file_for_folder, "no-metadata", "info_a_file-1.0.dist-info"),
    Case("info-empty", empty_folder, "no-metadata", "info_empty-1.0.dist-info"),
    Case("half-upgraded", killed_upgrade, "duplicate", "half_upgraded-"),
    Case(
        "two-spellings",
        twin("Two.Spellings-1.0.dist-info", "Metadata-Version: 2.1\nName: Two.Spellings\nVersion: 1.0\n\n"),
        "duplicate",
        "pellings-1.0.dist-info",
    ),
    Case("stash", add("~tash/__init__.py"), "leftover", "~tash"),
    Case("cached-info", add("~ached_info-1.0.dist-info/METADATA"), "leftover", "~ached_info-1.0.dist-info"),
    Case("old-stash", add("-ld_stash/__init__.py"), "leftover", "-ld_stash"),
    Case("uv-killed", add(".tmpAb12Cd/x"), "partial-file", ".tmpAb12Cd", distribution=""),
    Case("uv-killed-inside", add("{m}/.tmpQq9"), "partial-file", "uv_killed_inside/.tmpQq9", deep=True),
    Case("older-module", add("{m}/removed_in_1.py"), "orphan-file", "older_module/removed_in_1.py", deep=True),
    Case("planted-library", add("{m}/_c.so"), "orphan-file", "planted_library/_c.so", deep=True),
    Case(
        "path-gone", add("path_gone.pth", "/no/such/folder\n"), "dangling-path-file", "path_gone.pth", distribution=""
    ),
    Case("link-gone", add("link-gone.egg-link", "/no/such/project\n.\n"), "dangling-path-file", "link-gone.egg-link"),
]
# Without RECORD of every package, strangers cannot be told from the package's own files: an environment of its own.
ALONE = [
    Case("killed-uninstall", killed_uninstall, "orphan-file", "killed_uninstall/", distribution="", deep=True),
]
NEED_RECORDS = {"uv-killed-inside", "older-module", "planted-library", *(case.name for case in ALONE)}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory, ask: Ask) -> dict[bool, list[dict[str, str]]]:
    """What a deep look tells of two environments: with all damages, and with those that leave every RECORD whole."""
    told = {}
    for whole, cases in ((False, CASES), (True, [case for case in [*CASES, *ALONE] if case.name in NEED_RECORDS])):
        venv = Venv(tmp_path_factory.mktemp("damaged") / "env")
        for case in cases:
            info = venv.package(case.name)
            case.damage(venv, case.name.replace("-", "_"), info)
        told[whole] = ask(venv.python, deep=True)["damage"]["problems"]
    return told


def test_there_are_forty_and_more() -> None:
    assert len({case.name for case in [*CASES, *ALONE]}) >= 40


@pytest.mark.parametrize("case", [*CASES, *ALONE], ids=lambda case: case.name)
def test_damage_is_recognised(case: Case, reported: dict[bool, list[dict[str, str]]]) -> None:
    owner = case.name if case.distribution is None else case.distribution
    problems = reported[case.name in NEED_RECORDS]
    told = [problem for problem in problems if problem["kind"] == case.kind and case.path in problem["path"]]
    assert [problem["distribution"] for problem in told] == [owner], problems


def test_the_quick_look_finds_all_but_contents_and_strangers(tmp_path: Path, ask: Ask) -> None:
    venv = Venv(tmp_path / "env")
    for case in CASES:
        case.damage(venv, case.name.replace("-", "_"), venv.package(case.name))
    report = ask(venv.python)["damage"]
    assert report["checked"] == "sizes"
    told = {(problem["kind"], problem["distribution"]) for problem in report["problems"]}
    for case in CASES:
        owner = case.name if case.distribution is None else case.distribution
        assert ((case.kind, owner) in told) is not case.deep, case.name


def test_a_poisoned_cache_is_named(reported: dict[bool, list[dict[str, str]]]) -> None:
    (problem,) = [found for found in reported[False] if found["distribution"] == "cache-poisoned"]
    assert "hard link" in problem["detail"]


def test_a_sound_environment_has_no_damage(venv: Venv, ask: Ask) -> None:
    venv.package("plain")
    venv.package("windows-lines", newline="\r\n")
    venv.package("quoted", files={'quoted/with "quotes", and comma.txt': "x"})
    quoted = venv.site / "quoted-1.0.dist-info" / "RECORD"
    text = quoted.read_text().replace('quoted/with "quotes", and comma.txt', '"quoted/with ""quotes"", and comma.txt"')
    quoted.write_text(text)
    # Same version in other words, as tools write it in directory names
    venv.package("calver", "2024.01.05").rename(venv.site / "calver-2024.1.5.dist-info")
    record = venv.site / "calver-2024.1.5.dist-info" / "RECORD"
    record.write_text(record.read_text().replace("2024.01.05", "2024.1.5"))
    # Two packages that bring the same file, the second one another content: as opencv's four packages do
    venv.package("first", files={"both/__init__.py": "1\n"})
    venv.package("second", files={"both/__init__.py": "second\n"})
    (venv.site / "both" / "__pycache__").mkdir()
    (venv.site / "both" / "__pycache__" / "x.cpython-311.pyc").write_bytes(b"")
    (venv.site / "_virtualenv.py").write_text("")
    report = ask(venv.python)["damage"]
    assert report["problems"] == []
    assert {entry["name"]: entry["files"] for entry in report["files"]}["plain"] == 5
    venv.package("third", files={"both/__init__.py": "2\n"})  # the size of the first one's, but not its content
    assert ask(venv.python)["damage"]["problems"] == []
    # Whose code was overwritten by whom is worth knowing to the one who looks deep.
    deep = ask(venv.python, deep=True)["damage"]["problems"]
    assert {(problem["distribution"], problem["detail"]) for problem in deep} == {
        ("first", "overwritten by second, third"),
        ("second", "overwritten by first, third"),
    }


def test_changes_that_people_mean_are_no_damage(venv: Venv, ask: Ask) -> None:
    info = venv.package(
        "moved", files={"moved/cacert.pem": "CERTIFICATE\n", "moved/__pycache__/x.cpython-311.pyc": "old"}
    )
    (venv.path / "bin" / "tool").write_text(f"#!{venv.python}\nprint(1)\n")
    with (info / "RECORD").open("a") as stream:
        stream.write("../../../bin/tool,sha256=ofAnotherPlace,12\n")
    (venv.site / "moved" / "cacert.pem").write_text("CERTIFICATE\nOF OUR COMPANY\n")
    (venv.site / "moved" / "__pycache__" / "x.cpython-311.pyc").write_text("compiled again")
    assert ask(venv.python, deep=True)["damage"]["problems"] == []
    (venv.site / "moved" / "cacert.pem").write_text("CERT")
    (venv.path / "bin" / "tool").write_text("#!/gone/bin/python\nprint(1)\n")
    problems = ask(venv.python)["damage"]["problems"]
    assert [problem["path"] for problem in problems] == ["moved/cacert.pem", "../../../bin/tool"]


def test_packages_of_conda_and_debian_are_left_to_their_managers(venv: Venv, ask: Ask) -> None:
    info = venv.package("rewritten")
    (info / "INSTALLER").write_text("conda")
    (venv.site / "rewritten" / "__init__.py").write_text("prefix put in later\n")
    (venv.package("listed-elsewhere") / "INSTALLER").write_text("conda")
    (venv.site / "listed_elsewhere-1.0.dist-info" / "RECORD").unlink()
    assert ask(venv.python)["damage"]["problems"] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user takes root; any other user sees this anyway")
def test_what_may_not_be_read_is_not_called_missing(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The probe as another user, in a world that this user may enter."""
    import json
    import tempfile

    from tests.facts.probe.conftest import PROBE

    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None or shutil.which("setpriv") is None:
        pytest.skip("needs a system Python and setpriv")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(PROBE.parent, folder / "envdoctor" / "probe", ignore=shutil.ignore_patterns("__pycache__"))
        version = process.run(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], deadline=30
        ).out.strip()
        process.run([python, "-m", "venv", "--without-pip", folder / "env"], deadline=60)
        site = folder / "env" / "lib" / f"python{version}" / "site-packages"
        for package in ("metadata", "record", "info", "files"):
            info = site / f"{package}-1.0.dist-info"
            (site / package).mkdir(parents=True)
            info.mkdir()
            (site / package / "m.py").write_text("")
            (info / "METADATA").write_text(f"Name: {package}\nVersion: 1.0\n")
            (info / "RECORD").write_text(f"{package}/m.py,,0\n")
        for path in ("metadata-1.0.dist-info/METADATA", "record-1.0.dist-info/RECORD", "info-1.0.dist-info", "files"):
            (site / path).chmod(0)
        (folder / "request").write_text("{}")
        (folder / "answers").mkdir()
        (folder / "answers").chmod(0o777)
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        probe = [folder / "env" / "bin" / "python", "-I", "-S", folder / "envdoctor" / "probe" / "__main__.py"]
        outcome = process.run(
            [*nobody, *probe, "environment", folder / "request", folder / "answers" / "a"],
            deadline=60,
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        )
        assert outcome.ok, outcome.err
        sections = {
            line["section"]: line for line in map(json.loads, (folder / "answers" / "a").read_text().splitlines())
        }
    told = {(problem["kind"], problem["path"]) for problem in sections["damage"]["value"]["problems"]}
    assert told == {
        ("unreadable", "metadata-1.0.dist-info"),
        ("unreadable", "record-1.0.dist-info/RECORD"),
        ("unreadable", "info-1.0.dist-info"),
        ("unreadable", "info-1.0.dist-info/RECORD"),
        ("unreadable", "files/m.py"),
    }
    assert sections["interpreter"]["value"]["writable"] is False
