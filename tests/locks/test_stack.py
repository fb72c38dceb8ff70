from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.tags import sys_tags

from envdoctor.bundle import lockfiles
from envdoctor.errors import Trouble
from envdoctor.facts.model import Interpreter, Unavailable
from envdoctor.locks import stack
from envdoctor.locks.platforms import interpreter
from envdoctor.locks.stack import Locked
from tests.locks.writing.conftest import lock, package, wheel, write_lock

X86 = "manylinux_2_17_x86_64.manylinux2014_x86_64"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("python", ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"])
def test_a_bundled_lock_read_for_one_interpreter_locks_the_same(python: str, machine: str) -> None:
    asked = interpreter(python, machine)
    for path in sorted(lockfiles().glob("pylock.*.toml")):
        whole, part = stack.load(path), stack.load_for(path, asked)
        assert stack.select(part, asked) == stack.select(whole, asked), path
        assert (part.name, part.torch, part.cuda) == (whole.name, whole.torch, whole.cuda)
        if python in ("3.10", "3.11", "3.12", "3.13", "3.14"):
            assert _wheels(part) < _wheels(whole), "what is of no use was read as well"


@pytest.mark.parametrize("libc", ["glibc 2.41", "glibc 2.27", "glibc 2.17", "glibc 2.4", "musl", None])
@pytest.mark.parametrize("free_threaded", [False, True])
def test_an_excerpt_locks_what_packaging_selects(libc: str | None, free_threaded: bool) -> None:
    """The same wheels in the same words, whatever the interpreter; or both say why not."""
    for python, machine in (("3.10", "x86_64"), ("3.12", "aarch64"), ("3.14", "x86_64")):
        asked = replace(interpreter(python, machine), libc=libc, free_threaded=free_threaded)
        for path in sorted(lockfiles().glob("pylock.*.toml")):
            assert stack.select(stack.load_for(path, asked), asked) == stack.select(stack.load(path), asked), path


def test_packaging_is_not_asked_where_an_excerpt_tells() -> None:
    asked = interpreter("3.11", "x86_64")
    for path in sorted(lockfiles().glob("pylock.*.toml")):
        part = stack.load_for(path, asked)
        assert part.excerpt
        assert isinstance(stack.select(part, asked), tuple)
        assert "lock" not in vars(part), "it was read a second time"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "tqdm"', 'name = "tqdm"\nrequires-python = ">=3.10"'),
        ('name = "tqdm"', 'name = "Tqdm_x"'),
        ('path = "wheels/tqdm', 'path = "../tqdm'),
        ('path = "wheels/tqdm', 'path = "wheels/deep/tqdm'),
        ("size = ", "size = 0"),
        ("sha256 = ", "sha384 = "),
        ('created-by = "envdoctor"', 'created-by = "envdoctor"\nextras = ["more"]'),
        ('name = "tqdm"', 'name = "idna"'),
        ('requires-python = ">=3.10,<3.15"', 'requires-python = ">=3.12"'),
    ],
)
def test_what_an_excerpt_does_not_know_is_left_to_packaging(tmp_path: Path, old: str, new: str) -> None:
    asked, path = interpreter("3.11", "x86_64"), tmp_path / "pylock.cpu.toml"
    text = (lockfiles() / "pylock.cpu.toml").read_text()
    assert old in text
    path.write_text(text.replace(old, new))

    def told(read: Callable[[], stack.Stack]) -> object:
        try:
            return stack.select(read(), asked)
        except Trouble as trouble:
            return str(trouble)

    assert told(lambda: stack.load_for(path, asked)) == told(lambda: stack.load(path))


def _wheels(read: stack.Stack) -> int:
    return sum(len(package.wheels or ()) for package in read.lock.packages)


def test_a_lock_that_is_laid_out_otherwise_is_read_whole(tmp_path: Path) -> None:
    path, asked = tmp_path / "pylock.cpu.toml", interpreter("3.11", "x86_64")
    path.write_text((lockfiles() / "pylock.cpu.toml").read_text().replace("wheels = [{", "wheels=[{"))
    whole = stack.load(path)
    assert _wheels(stack.load_for(path, asked)) == _wheels(whole)
    assert stack.select(stack.load_for(path, asked), asked) == stack.select(whole, asked)


def test_a_mistake_in_a_lock_read_for_one_interpreter_is_named_by_its_own_line(tmp_path: Path) -> None:
    text = (lockfiles() / "pylock.cpu.toml").read_text().replace('name = "tqdm"', "name = tqdm")
    path = tmp_path / "pylock.cpu.toml"
    path.write_text(text)
    line = text[: text.index("name = tqdm")].count("\n") + 1
    with pytest.raises(Trouble) as caught:
        stack.load_for(path, interpreter("3.11", "x86_64"))
    assert caught.value.where.startswith(f"line {line}")


def test_a_lock_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    path, asked = tmp_path / "pylock.cpu.toml", interpreter("3.11", "x86_64")
    text = (lockfiles() / "pylock.cpu.toml").read_text()
    path.write_text(text)
    first = stack.load_for(path, asked)
    assert stack.load_for(path, asked) is first
    assert _wheels(stack.load_for(path, interpreter("3.12", "x86_64"))) > 0
    assert stack.load_for(path, interpreter("3.12", "x86_64")) is not first
    path.write_text(text.replace('created-by = "envdoctor"', 'created-by = "others"'))
    assert (first.lock.created_by, stack.load_for(path, asked).lock.created_by) == ("envdoctor", "others")


def test_what_a_stack_is(tmp_path: Path) -> None:
    found = stack.load(write_lock(tmp_path, lock(package("torch", "2.11.0"), package("beta")), "cu130"))
    assert (found.name, found.torch, found.cuda, len(found.lock.packages)) == ("cu130", "2.11.0", "", 2)


@pytest.mark.parametrize(
    ("packages", "torch", "cuda"),
    [
        ([package("alpha")], None, None),
        ([package("torch", "2.13.0+cpu")], "2.13.0+cpu", ""),
        ([package("torch", "2.11.0+cu130")], "2.11.0+cu130", "13.0"),
        ([package("torch", "2.4.0+cu118")], "2.4.0+cu118", "11.8"),
        (
            [package("torch", "2.7.1"), package("nvidia-cuda-runtime-cu12", "12.6.77", wheels=None)],
            "2.7.1",
            "12.6",
        ),
        ([package("torch", "2.11.0"), package("nvidia-cuda-runtime", "13.0.96", wheels=None)], "2.11.0", "13.0"),
        ([package("torch", "2.11.0")], "2.11.0", ""),
    ],
)
def test_the_cuda_line(tmp_path: Path, packages: list[dict[str, object]], torch: str | None, cuda: str | None) -> None:
    for entry in packages:
        stem = str(entry["name"]).replace("-", "_")
        entry.setdefault("wheels", [wheel(stem, str(entry["version"]))])
    found = stack.load(write_lock(tmp_path, lock(*packages)))
    assert (found.torch, found.cuda) == (torch, cuda)


def test_a_mistake_names_file_line_and_remedy(tmp_path: Path) -> None:
    path = write_lock(tmp_path, lock(package("alpha"), package("beta", index="https://host.invalid")), "mine")
    with pytest.raises(Trouble) as caught:
        stack.load(path)
    error = caught.value
    assert error.file == str(path)
    number = int(error.where.removeprefix("line ").partition(",")[0])
    assert path.read_text().splitlines()[number - 1].startswith("index = ")
    assert error.remedy == "Write it again: envdoctor lock mine"


def test_selection_takes_the_best_wheel_of_each_package(tmp_path: Path) -> None:
    numpy = [
        wheel("numpy", tag=f"cp311-cp311-{X86}"),
        wheel("numpy", tag="cp311-cp311-manylinux_2_28_x86_64"),
        wheel("numpy", tag=f"cp312-cp312-{X86}"),
        wheel("numpy"),
    ]
    data = lock(package("numpy", wheels=numpy), package("alpha"), package("beta", marker="python_version < '3.11'"))
    found = stack.load(write_lock(tmp_path, data))

    def wheels(one: Interpreter) -> list[str]:
        pins = stack.select(found, one)
        assert isinstance(pins, tuple)
        return [pin.wheel for pin in pins]

    plain = "alpha-1.0-py3-none-any.whl"
    new = interpreter("3.11", "x86_64", libc="glibc 2.36")
    assert wheels(new) == [plain, "numpy-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"]
    assert wheels(replace(new, libc="glibc 2.27")) == [plain, f"numpy-1.0-cp311-cp311-{X86}.whl"]
    assert wheels(replace(new, libc="glibc 2.12")) == [plain, "numpy-1.0-py3-none-any.whl"]
    assert wheels(interpreter("3.11", "aarch64")) == [plain, "numpy-1.0-py3-none-any.whl"]
    assert wheels(interpreter("3.10", "x86_64")) == [plain, "beta-1.0-py3-none-any.whl", "numpy-1.0-py3-none-any.whl"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lock(**{"requires-python": ">=3.13"}), "stack case is not for this Python"),
        (lock(environments=["sys_platform == 'win32'"]), "environments"),
        (lock(package("alpha", wheels=[wheel("alpha", tag="cp39-cp39-win_amd64")])), "alpha"),
        (lock(package("alpha"), package("alpha", "2.0")), "Multiple packages"),
    ],
)
def test_not_for_this_interpreter(tmp_path: Path, data: dict[str, object], words: str) -> None:
    pins = stack.select(stack.load(write_lock(tmp_path, data)), interpreter("3.12", "x86_64"))
    assert isinstance(pins, Unavailable)
    assert words in pins.reason


def test_an_interpreter_of_which_nothing_is_known(tmp_path: Path) -> None:
    pins = stack.select(stack.load(write_lock(tmp_path, lock())), Interpreter(version="3.12.1"))
    assert pins == Unavailable(reason="the interpreter's markers are not known", why="not-reported")


def test_tags_of_this_interpreter_are_those_packaging_names() -> None:
    """For the interpreter that runs the tests, our list made from facts equals the one packaging asks of the system."""
    import platform
    import sys
    import sysconfig

    here = Interpreter(
        version=platform.python_version(),
        platform=sysconfig.get_platform(),
        libc=" ".join(platform.libc_ver()),
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    )
    if sys.implementation.name == "cpython" and here.libc and here.libc.startswith("glibc"):
        ours, theirs = ([str(tag) for tag in some] for some in (stack.tags(here), sys_tags()))
        assert set(ours) == set(theirs)
        # Where wheels built on the spot (linux_x86_64) stand differs between releases of packaging; no index has any.
        assert [tag for tag in ours if "-linux_" not in tag] == [tag for tag in theirs if "-linux_" not in tag]


def test_tags_of_a_free_threaded_interpreter() -> None:
    found = {str(tag) for tag in stack.tags(replace(interpreter("3.14", "x86_64"), free_threaded=True))}
    assert "cp314-cp314t-manylinux_2_28_x86_64" in found
    assert "cp314-cp314-manylinux_2_28_x86_64" not in found


@pytest.mark.parametrize(
    ("named", "darwin", "newest"),
    [
        ("macosx-11.0-arm64", "23.6.0", 14),  # what Python was built for says nothing of the macOS it runs on
        ("macosx-10.13-universal2", "24.0.0", 15),
        ("macosx-11.0-arm64", "25.1.0", 26),  # Apple left ten numbers out
        ("macosx-11.0-arm64", "", 14),
    ],
)
def test_tags_of_a_mac_are_those_of_its_kernel(named: str, darwin: str, newest: int) -> None:
    mac = interpreter("3.12", "arm64")
    mac = replace(mac, platform=named, markers={**mac.markers, "platform_release": darwin})
    found = [tag.platform for tag in stack.tags(mac) if tag.interpreter == "cp312" and tag.abi == "cp312"]
    assert found[0] == f"macosx_{newest}_0_arm64"
    assert {"macosx_14_0_arm64", "macosx_11_0_universal2"} <= set(found)
    assert not any("linux" in platform for platform in found)


def test_tags_of_windows() -> None:
    found = {str(tag) for tag in stack.tags(interpreter("3.12", "AMD64"))}
    assert {"cp312-cp312-win_amd64", "py3-none-win_amd64", "py3-none-any"} <= found
    assert not any("linux" in tag for tag in found)


def test_tags_without_a_known_c_library() -> None:
    found = {tag.platform for tag in stack.tags(replace(interpreter("3.12", "x86_64"), libc=None))}
    assert found == {"linux_x86_64", "any"}


pins = st.builds(
    Locked,
    name=st.text("abcdef", min_size=1, max_size=5),
    version=st.sampled_from(["1.0", "2.0"]),
    wheel=st.just("x.whl"),
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
)


@given(st.lists(pins, unique_by=lambda pin: pin.name, min_size=1), st.randoms())
def test_the_digest_is_of_the_set(some: list[Locked], random: object) -> None:
    shuffled = [*some]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert stack.digest(shuffled) == stack.digest(some)
    assert stack.digest(some[1:]) != stack.digest(some)
    other = replace(some[0], version="3.0")
    assert stack.digest([other, *some[1:]]) != stack.digest(some)
    assert stack.by_name(some) == {pin.name: pin for pin in some}


@given(st.lists(pins, unique_by=lambda pin: pin.name, min_size=1))
def test_what_no_step_runs_changes_no_identity_of_training(some: list[Locked]) -> None:
    lock = replace(some[0], name="filelock")
    both = ([lock, *some], [replace(lock, version="9.9"), *some])
    assert stack.digest(both[0]) != stack.digest(both[1])
    assert stack.training_digest(both[0]) == stack.training_digest(both[1]) == stack.training_digest(some)
    assert stack.training_digest(some[1:]) != stack.training_digest(some)


def test_a_large_lock_is_read_as_a_small_one() -> None:
    """Two thousand packages with ten wheels each, the most that is read at all."""
    tags = [f"cp3{minor}-cp3{minor}-{X86}" for minor in range(10, 15)]
    packages = [package(f"p{n}", wheels=[wheel(f"p{n}", tag=tag) for tag in tags]) for n in range(400)]
    with tempfile.TemporaryDirectory() as folder:
        found = stack.load(write_lock(Path(folder), lock(*packages)))
    chosen = stack.select(found, interpreter("3.12", "x86_64"))
    assert isinstance(chosen, tuple)
    assert len(chosen) == 400
