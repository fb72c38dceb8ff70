"""The packages section and what extensions say of their build."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts import wire
from envdoctor.facts.model import Distribution, Extension, Packages
from envdoctor.facts.probe.environment import packages
from envdoctor.facts.probe.environment.files import contents
from envdoctor.system import process
from tests.facts.probe.conftest import Ask
from tests.facts.probe.venvs import Venv, sha256


def test_the_running_environment_is_read_as_importlib_reads_it(ask: Ask) -> None:
    sections = ask()
    found = wire.from_json(Packages, sections["packages"])
    for distribution in metadata.distributions():
        mine = found.find(packages.normalise(distribution.metadata["Name"]))
        assert mine is not None
        assert mine.version == distribution.version
        assert sorted(mine.requires) == sorted(distribution.requires or [])
        assert mine.requires_python == distribution.metadata["Requires-Python"]
    assert found.pip == found.version("pip")
    assert [each.name for each in found.distributions] == sorted(each.name for each in found.distributions)


@pytest.mark.parametrize(
    ("direct_url", "source", "editable"),
    [
        ({"url": "file:///src", "dir_info": {"editable": True}}, "file", True),
        ({"url": "file:///src", "dir_info": {}}, "file", False),
        ({"url": "https://u:p@host/x.git", "vcs_info": {"vcs": "git", "commit_id": "a"}}, "vcs", False),
        ({"url": "https://host/x.whl", "archive_info": {}}, "archive", False),
        ({"url": 5, "dir_info": 3}, "file", False),
        ([], None, False),
    ],
)
def test_where_a_package_came_from(
    venv: Venv, ask: Ask, direct_url: object, source: str | None, editable: bool
) -> None:
    venv.package("mine", extra={"direct_url.json": json.dumps(direct_url)})
    (found,) = ask(venv.python)["packages"]["distributions"]
    assert (found["source"], found["editable"], found["installer"]) == (source, editable, "pip")


def test_folded_and_repeated_headers(venv: Venv, ask: Ask) -> None:
    venv.package(
        "mine", metadata="Requires-Dist: a;\n python_version < '3'\nRequires-Dist: b\nRequires-Python: >=3.9\n"
    )
    (found,) = ask(venv.python)["packages"]["distributions"]
    assert found["requires"] == ["a;\npython_version < '3'", "b"]
    assert found["requires_python"] == ">=3.9"
    assert found["tags"] == ["py3-none-any"]


def test_conda_packages_are_named(venv: Venv, ask: Ask) -> None:
    (venv.path / "conda-meta").mkdir()
    for name in ("pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0.json", "libgcc-ng-14.2.0-h69a702a_1.json", "history"):
        (venv.path / "conda-meta" / name).write_text("{}")
    sections = ask(venv.python)
    assert sections["interpreter"]["is_conda"] is True
    assert sections["packages"]["conda"] == {
        "libgcc-ng": "14.2.0 h69a702a_1",
        "pytorch": "2.5.1 py3.11_cuda12.4_cudnn9.1.0_0",
    }


@given(st.binary(max_size=300))
def test_any_bytes_as_metadata(data: bytes) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(data)
        fields, problem = packages._header(file.name)
    assert all(key == key.lower().strip() for key in fields)
    assert problem is None or problem[0] in ("broken-metadata",)


LOCAL = "2.8.3+cu12torch2.8cxx11abiTRUE"


@pytest.mark.parametrize(
    ("name", "version", "requires", "expected"),
    [
        ("flash-attn", LOCAL, "", {"torch": "2.8", "cuda": "12", "cxx11_abi": True}),
        ("mamba-ssm", "2.2.4+cu11torch2.4cxx11abiFALSE", "", {"torch": "2.4", "cuda": "11", "cxx11_abi": False}),
        ("torchvision", "0.24.0+cu130", "Requires-Dist: torch (==2.9.0)\n", {"torch": "2.9.0", "cuda": "13.0"}),
        ("torchaudio", "2.9.0+cpu", "Requires-Dist: torch==2.9.0\n", {"torch": "2.9.0", "cuda": ""}),
        ("vllm", "0.11.0+cu128", "Requires-Dist: torch==2.8.0\n", {"torch": "2.8.0", "cuda": "12.8"}),
        ("torch-scatter", "2.1.2+pt25cu124", "", {"torch": "2.5", "cuda": None}),
        ("unknown-kernels", "1.0+torch2.9", "", {"torch": "2.9"}),
        ("triton", "3.5.0", "", {"torch": None, "cuda": None}),
    ],
)
def test_extensions_are_read_from_their_labels(
    venv: Venv, ask: Ask, name: str, version: str, requires: str, expected: dict[str, object]
) -> None:
    venv.package(name, version, metadata=requires, wheel="cp311-cp311-linux_x86_64")
    (found,) = ask(venv.python)["extensions"]
    assert found["version"] == version
    assert found["python"] == "3.11"
    assert {key: found[key] for key in expected} == expected
    wire.from_json(Extension, found)


def test_the_wheel_file_tells_what_the_version_does_not(venv: Venv, ask: Ask) -> None:
    url = "https://host/v2.8.3/flash_attn-2.8.3%2Bcu12torch2.8cxx11abiFALSE-cp311-cp311-linux_x86_64.whl"
    url_file = json.dumps({"url": url, "archive_info": {}})
    library = {"flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so": "x"}
    venv.package("flash-attn", "2.8.3", extra={"direct_url.json": url_file}, files=library)
    (found,) = ask(venv.python)["extensions"]
    assert (found["torch"], found["cuda"], found["cxx11_abi"]) == ("2.8", "12", False)
    assert found["binaries"] == list(library)


def test_notes_that_packages_keep_of_their_build(venv: Venv, ask: Ask) -> None:
    build = {
        "version": {"cuda": 1208, "torch": "2.8.0+cu128", "python": "3.11.9"},
        "env": {"TORCH_CUDA_ARCH_LIST": "8.0 9.0+PTX"},
    }
    venv.package("xformers", "0.0.32", files={"xformers/cpp_lib.json": json.dumps(build)})
    venv.package("torchvision", "0.24.0", files={"torchvision/version.py": "cuda = '12.8'\n__version__ = '0.24.0'\n"})
    text = "torch_info={'version': '2.8', 'bf16_support': True, 'cuda_version': '12.8', 'nccl_version': '2.27'}\n"
    venv.package("deepspeed", "0.17", files={"deepspeed/git_version_info_installed.py": text})
    binaries = {f"bitsandbytes/libbitsandbytes_cuda{n}.so": "x" for n in ("121", "128")}
    venv.package("bitsandbytes", "0.48", files=binaries)
    found = {each["name"]: each for each in ask(venv.python)["extensions"]}
    xformers = found["xformers"]
    assert (xformers["torch"], xformers["cuda"], xformers["python"]) == ("2.8.0", "12.8", "3.11.9")
    assert xformers["architectures"] == ["8.0", "9.0+PTX"]
    assert found["torchvision"]["cuda"] == "12.8"
    assert (found["deepspeed"]["torch"], found["deepspeed"]["cuda"]) == ("2.8", "12.8")
    assert found["bitsandbytes"]["binaries"] == sorted(binaries)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"version": 3}', '{"version": {"torch": 1, "python": 2, "cuda": []}}']
)
def test_a_note_in_another_form_is_left_out(venv: Venv, ask: Ask, text: str) -> None:
    venv.package("xformers", "0.0.99", files={"xformers/cpp_lib.json": text})
    (found,) = ask(venv.python)["extensions"]
    assert found["version"] == "0.0.99"


def wheel(folder: Path, name: str, **extra: str) -> Path:
    """A wheel with a module, a data script and an entry point. ``extra``: more files of its metadata, by stem."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": "def main() -> None: print('hi')\n",
        f"{name}-1.0.data/scripts/{name}-tool": "#!python\nprint(1)\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
        **{f"{info}/{stem}.json": text for stem, text in extra.items()},
    }
    lines = [f"{path},{sha256(text.encode())},{len(text)}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
    return path


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_what_installers_make_is_sound(venv: Venv, tmp_path: Path, ask: Ask, installer: str) -> None:
    import sys

    path = wheel(tmp_path, "sample")
    target = ["--python", str(venv.python)]
    argv = [sys.executable, "-m", "pip", *target, "install", "--no-index", "--no-deps", str(path)]
    if installer == "uv":
        argv = [sys.executable, "-m", "uv", "pip", "install", *target, "--no-index", "--no-deps", str(path)]
    outcome = process.run(argv, deadline=60)
    assert outcome.ok, outcome.err
    sections = ask(venv.python, deep=True)
    (found,) = sections["packages"]["distributions"]
    assert (found["name"], found["installer"]) == ("sample", installer)
    assert sections["damage"]["problems"] == []


VARIANT = {
    "$schema": "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
    "default-priorities": {"namespace": ["nvidia", "x86_64"]},
    "variants": {
        "cu129": {"x86_64": {"level": ["v3"]}, "nvidia": {"sm_arch": ["80_real", "90_real"], "lower bound": ["12.9"]}}
    },
}


def test_which_variant_was_picked_is_read_from_its_metadata(venv: Venv, tmp_path: Path, ask: Ask) -> None:
    """As uv leaves it; a property in another form than the specification's is nobody's."""
    import sys

    path = wheel(tmp_path, "sample", variant=json.dumps(VARIANT))
    argv = [sys.executable, "-m", "uv", "pip", "install", "--python", str(venv.python), "--no-index", str(path)]
    outcome = process.run(argv, deadline=60)
    assert outcome.ok, outcome.err
    (found,) = ask(venv.python)["packages"]["distributions"]
    assert found["variant"] == ["nvidia :: sm_arch :: 80_real", "nvidia :: sm_arch :: 90_real", "x86_64 :: level :: v3"]
    assert wire.from_json(Distribution, found).variant == tuple(found["variant"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"variants": []}',
        '{"variants": {}}',
        '{"variants": {"a": {"b": 1}}}',
        '{"variants": {"a": 0, "b": 0}}',
        '{"variants": {"a": {"b": {"c": 3}}}}',
        "[" * 100_000,
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_a_variant_in_another_form_has_no_properties(venv: Venv, tmp_path: Path, ask: Ask, text: str) -> None:
    venv.package("sample", extra={"variant.json": text})
    (found,) = ask(venv.python)["packages"]["distributions"]
    assert found.get("variant", []) == []


@pytest.mark.parametrize("name", ["METADATA", "RECORD", "WHEEL", "INSTALLER", "direct_url.json", "variant.json"])
@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_what_is_no_file_is_not_read(venv: Venv, ask: Ask, name: str, kind: str) -> None:
    """A pipe that nobody writes to would hold the probe until its end, /dev/zero would take all memory."""
    info = venv.package("mine", extra={"variant.json": "{}"})
    (info / name).unlink(missing_ok=True)
    os.mkfifo(info / name) if kind == "pipe" else (info / name).symlink_to("/dev/zero")
    sections = ask(venv.python)
    found = sections["packages"]
    assert [each["name"] for each in found["distributions"]] in (["mine"], []), "it was looked at to its end"
    assert name != "METADATA" or sections["damage"]


@pytest.mark.parametrize("size", [0, 1, 32_767, 32_768, 32_769, 100_000])
@pytest.mark.parametrize("limit", [1, 32_768, 99_999, 1 << 26])
def test_contents_are_the_first_bytes_of_a_file(tmp_path: Path, size: int, limit: int) -> None:
    data = bytes(range(251)) * (size // 251 + 1)
    (tmp_path / "file").write_bytes(data[:size])
    assert contents(str(tmp_path / "file"), limit) == data[:size][:limit]


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: os.mkfifo(path)])
def test_contents_are_of_files_only(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "odd")
    with pytest.raises(OSError):
        contents(str(tmp_path / "odd"), 10)
