"""Taking a distribution out removes what is its own, whatever state it is in, and nothing else."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.change import distributions
from envdoctor.change.clone import clone
from envdoctor.change.distributions import files_of, scan


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "env" / "lib").mkdir(parents=True)
    (tmp_path / "env" / "bin").mkdir()
    return tmp_path / "env"


def put(root: Path, name: str, version: str, files: Mapping[str, str], record: str | None = "") -> Path:
    """Install by hand; ``record`` None leaves it out, a text is added to it."""
    library = root / "lib"
    info = library / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: not-this\n")
    for path, text in files.items():
        (library / path).parent.mkdir(parents=True, exist_ok=True)
        (library / path).write_text(text)
    if record is not None:
        rows = [*files, f"{info.name}/METADATA", f"{info.name}/RECORD"]
        (info / "RECORD").write_text("".join(f"{row},,\n" for row in rows) + record)
    return info


def remove(root: Path, *names: str) -> Path:
    """A clone without these distributions."""
    libraries = [root / "lib"]
    leaving = files_of(names, scan(libraries), libraries, root)
    target = root.with_name("clone")
    clone(root, target, leave_out=leaving.__contains__)
    for folder in leaving.emptied():
        with contextlib.suppress(OSError):
            (target / folder).rmdir()
    return target


def tree(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir() or not any(path.iterdir())}


def test_files_bytecode_scripts_and_litter_go(root: Path) -> None:
    put(root, "alpha", "1.0", {"alpha/__init__.py": "", "alpha/sub/x.py": "", "single.py": "", "../bin/alpha": "#!"})
    put(root, "beta", "1.0", {"beta/__init__.py": "", "other.py": ""})
    for folder in ("alpha", "."):
        (root / "lib" / folder / "__pycache__").mkdir()
    for name in ("alpha/__pycache__/__init__.cpython-311.pyc", "__pycache__/single.cpython-311.pyc",
                 "__pycache__/other.cpython-311.pyc", "alpha/.tmpXyz", "alpha/sub/orphan.so"):  # fmt: skip
        (root / "lib" / name).write_text("")
    (root / "lib" / "~eta").mkdir()
    root = remove(root, "alpha")
    assert tree(root) == {
        "bin", "lib/beta/__init__.py", "lib/other.py", "lib/__pycache__/other.cpython-311.pyc",
        "lib/beta-1.0.dist-info/METADATA", "lib/beta-1.0.dist-info/RECORD",
    }  # fmt: skip


def test_a_namespace_keeps_its_other_members(root: Path) -> None:
    put(root, "nvidia-a", "1", {"nvidia/a/lib.so": ""})
    put(root, "nvidia-b", "1", {"nvidia/b/lib.so": ""})
    root = remove(root, "nvidia-a")
    assert not (root / "lib" / "nvidia" / "a").exists()
    assert (root / "lib" / "nvidia" / "b" / "lib.so").exists()


def test_a_namespace_keeps_members_that_have_no_record(root: Path) -> None:
    put(root, "nvidia-a", "1", {"nvidia/a/lib.so": ""})
    put(root, "nvidia-b", "1", {"nvidia/b/lib.so": ""}, record=None)
    root = remove(root, "nvidia-a")
    assert not (root / "lib" / "nvidia" / "a").exists()
    assert (root / "lib" / "nvidia" / "b" / "lib.so").exists()


def test_a_file_that_two_own_stays_for_the_other(root: Path) -> None:
    put(root, "opencv", "1", {"cv2/__init__.py": "", "cv2/one.so": ""})
    put(root, "opencv-headless", "1", {"cv2/__init__.py": "", "cv2/two.so": ""})
    root = remove(root, "opencv")
    assert {path.name for path in (root / "lib" / "cv2").iterdir()} == {"__init__.py", "two.so"}


def test_without_record_the_package_of_that_name_goes(root: Path) -> None:
    info = put(root, "alpha", "1.0", {"alpha/__init__.py": "", "alpha/x.py": ""}, record=None)
    (info / "METADATA").write_text("")
    put(root, "alpha", "2.0", {"alpha/y.py": ""})
    root = remove(root, "alpha")
    assert tree(root) == {"bin", "lib"}


def test_top_level_is_believed_only_as_a_name(root: Path) -> None:
    info = put(root, "alpha", "1.0", {}, record=None)
    (info / "top_level.txt").write_text("../../outside\n_alpha\n")
    (root.parent / "outside").mkdir()
    (root / "lib" / "_alpha").mkdir()
    (root / "lib" / "_alpha" / "__init__.py").write_text("")
    root = remove(root, "alpha")
    assert (root.parent / "outside").exists()
    assert not (root / "lib" / "_alpha").exists()


def test_a_record_that_leads_out_removes_nothing_outside(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "precious.py").write_text("")
    (root / "lib" / "link").symlink_to(outside)
    rows = f"../../outside/precious.py,,\n{outside}/precious.py,,\nlink/precious.py,,\n\0,,\n"
    put(root, "alpha", "1.0", {"alpha/__init__.py": ""}, record=rows)
    root = remove(root, "alpha")
    assert (outside / "precious.py").exists()
    assert (outside).is_dir()


def test_old_egg_info(root: Path) -> None:
    info = root / "lib" / "alpha-1.0.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Name: Alpha\nVersion: 1.0\n")
    (info / "installed-files.txt").write_text("../alpha/__init__.py\n./PKG-INFO\n")
    (root / "lib" / "alpha").mkdir()
    (root / "lib" / "alpha" / "__init__.py").write_text("")
    (root / "lib" / "beta-2.egg-info").write_text("Name: beta\nVersion: 2\n")
    assert [(one.name, one.version) for one in scan([root / "lib"])] == [("alpha", "1.0"), ("beta", "2")]
    root = remove(root, "alpha", "beta")
    assert tree(root) == {"bin", "lib"}


_NAMES = st.sampled_from(["a", "b", "ns/a", "ns/b", "ns/deep/c"])


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["one", "two", "three"]), st.sets(_NAMES, min_size=1), min_size=2))
def test_whatever_is_shared_the_others_stay_whole(owned: dict[str, set[str]]) -> None:
    """Algebra: after taking one out, the others have every file of theirs, and what only it had is gone."""

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "env"
        (root / "lib").mkdir(parents=True)
        for name, folders in owned.items():
            put(root, name, "1", {f"{path}/{name}.py": "" for path in folders} | {"ns/common.py": ""})
        gone, *staying = owned
        root = remove(root, gone)
        for name in staying:
            for path in owned[name]:
                assert (root / "lib" / path / f"{name}.py").exists()
        assert (root / "lib" / "ns" / "common.py").exists()
        assert not any(gone + ".py" in files for _, _, files in os.walk(root))
        assert {one.name for one in scan([root / "lib"])} == set(staying)


def test_records_of_many_changes_are_not_kept_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributions, "_READ", {})
    monkeypatch.setattr(distributions, "_MOST", 3)
    for number in range(10):
        info = tmp_path / f"mine{number}-1.0.dist-info"
        info.mkdir()
        (info / "RECORD").write_text(f"mine{number}.py,,\n")
    found = {one.record()[0][0] for one in distributions.scan([tmp_path])}
    assert found == {f"mine{number}.py" for number in range(10)}
    assert 1 <= len(distributions._READ) <= 3
