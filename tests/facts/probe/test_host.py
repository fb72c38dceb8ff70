"""Processor, memory, container, disks and tools, from recorded files and from this machine."""

from __future__ import annotations

import getpass
import os
import shutil
from pathlib import Path

import pytest

from envdoctor.facts import wire
from envdoctor.facts.model import Driver, Host, Network, Storage
from envdoctor.facts.probe.machine import host, launcher, mounts, storage, tools
from envdoctor.facts.probe.machine.reading import Root
from envdoctor.system import process
from tests.facts.probe.conftest import Ask
from tests.facts.probe.roots import lay

CPUINFO = """\
processor\t: {0}
model name\t: AMD EPYC 9654  96-Core Processor
physical id\t: {1}
core id\t\t: {2}
flags\t\t: fpu avx2 avx512f avx512_bf16 sha_ni secret_flag
"""


def test_this_machine_fits_the_facts(ask: Ask) -> None:
    sections = ask(program="machine", prefix="/usr", cwd=os.getcwd())
    machine = wire.from_json(Host, {**sections["host"], **sections["tools"], **sections["shared-memory"]})
    assert machine.cpus == os.cpu_count()
    assert machine.affinity == len(os.sched_getaffinity(0))
    assert machine.kernel == os.uname().release
    assert machine.memory
    assert machine.files_soft
    wire.from_json(Driver, sections["driver"])
    wire.from_json(Network, sections["network"])
    wire.from_json(Storage, sections["storage"])


def test_processor(tmp_path: Path) -> None:
    blocks = [CPUINFO.format(number, number // 4, number % 2) for number in range(8)]
    root = lay(tmp_path, {"/proc/cpuinfo": "\n".join(blocks)})
    assert host._processor(root) == {
        "cpu_model": "AMD EPYC 9654 96-Core Processor",
        "cpu_flags": ["avx2", "avx512_bf16", "avx512f", "sha_ni"],
        "cores": 4,
    }


def test_an_arm_processor_without_model_or_core_numbers(tmp_path: Path) -> None:
    root = lay(tmp_path, {"/proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd sve sve2 bf16\n"})
    assert host._processor(root) == {"cpu_model": None, "cpu_flags": ["asimd", "bf16", "sve", "sve2"], "cores": None}


def test_memory_is_in_bytes(tmp_path: Path) -> None:
    text = "MemTotal:       1024 kB\nMemFree: 1 kB\nMemAvailable:    512 kB\nSwapTotal:         0 kB\n"
    root = lay(tmp_path, {"/proc/meminfo": text})
    assert host._memory(root) == {"memory": 1048576, "memory_available": 524288, "swap": 0}


OVERLAY = "1 0 0:1 / / rw - overlay overlay rw,lowerdir=/x\n"


@pytest.mark.parametrize(
    ("files", "environ", "kernel", "expected"),
    [
        ({}, {}, "6.1.0", ""),
        ({"/.dockerenv": ""}, {}, "6.1.0", "docker"),
        ({"/run/.containerenv": "", "/.dockerenv": ""}, {}, "6.1.0", "podman"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "6.1.0", "kubernetes"),
        ({"/var/run/secrets/kubernetes.io/token": ""}, {}, "6.1.0", "kubernetes"),
        ({"/proc/1/cgroup": "0::/kubepods/burstable/pod1/abc\n"}, {}, "6.1.0", "kubernetes"),
        ({"/proc/1/cgroup": "1:name=systemd:/lxc/ct1\n"}, {}, "6.1.0", "lxc"),
        ({"/run/systemd/container": "systemd-nspawn\n"}, {}, "6.1.0", "systemd-nspawn"),
        ({"/proc/self/mountinfo": OVERLAY}, {}, "6.1.0", "container"),
        ({}, {}, "5.15.153.1-microsoft-standard-WSL2", "wsl2"),
        ({}, {}, "4.4.0-19041-Microsoft", "wsl1"),
    ],
)
def test_containers(
    files: dict[str, str | bytes], environ: dict[str, str], kernel: str, expected: str, tmp_path: Path
) -> None:
    root = lay(tmp_path, files)
    assert host.container(root, mounts.read(root), environ, kernel) == expected


def test_mounts_over_one_another_and_with_blanks(tmp_path: Path) -> None:
    text = (
        "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
        "2 1 0:5 / /data rw shared:1 - nfs4 srv:/x rw\n"
        "3 1 0:6 / /data rw - ext4 /dev/sdb rw\n"
        "4 1 0:7 / /my\\040disk rw - lustre l rw\n"
    )
    found = mounts.read(lay(tmp_path, {"/proc/self/mountinfo": text}))

    def kind(path: str) -> str:
        mount = mounts.mount_of(found, path)
        assert mount is not None
        return mount.filesystem

    assert [kind(path) for path in ("/", "/data/x", "/database", "/my disk/y")] == ["ext4", "ext4", "ext4", "lustre"]


def test_places_follow_the_variables() -> None:
    plain = dict(storage.places({"HOME": "/h"}, "/env", "/work"))
    assert plain["triton-cache"] == "/h/.triton/cache"
    assert plain["hf-home"] == "/h/.cache/huggingface"
    assert plain["temporary"] == "/tmp"
    assert plain["inductor-cache"].startswith("/tmp/torchinductor_")
    variables = {
        "HOME": "/h",
        "TMPDIR": "/t",
        "TRITON_CACHE_DIR": "/a",
        "TORCHINDUCTOR_CACHE_DIR": "/b",
        "HF_HOME": "/c",
        "HF_DATASETS_CACHE": "/d",
        "CUDA_CACHE_PATH": "/e",
    }
    told = dict(storage.places(variables, "/env", "/work"))
    assert [told[name] for name in ("temporary", "triton-cache", "inductor-cache", "hf-home")] == [
        "/t",
        "/a",
        "/b",
        "/c",
    ]
    assert (told["hf-datasets-cache"], told["cuda-cache"], told["environment"]) == ("/d", "/e", "/env")


def test_a_directory_that_does_not_exist_is_judged_by_the_one_above(tmp_path: Path) -> None:
    told = storage.look(mounts.read(Root()), "triton-cache", str(tmp_path / "not" / "yet"))
    assert told["path"] == str(tmp_path / "not" / "yet")
    assert told["writable"] is True
    assert told["free"] > 0
    assert not (tmp_path / "not").exists()


def test_shared_memory_of_this_machine() -> None:
    status = os.statvfs("/dev/shm")
    assert storage.shared_memory(Root())["shm"] == status.f_blocks * status.f_frsize


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        path.chmod(0o755)


def test_the_compiler_that_torch_would_call(tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    environ = {"PATH": "/usr/bin"}
    assert tools.compiler(root, environ) == ""
    make(tmp_path, "/usr/bin/clang-17")
    (tmp_path / "usr/bin/clang").symlink_to("clang-17")
    assert tools.compiler(root, environ) == "clang 17"
    make(tmp_path, "/usr/bin/x86_64-linux-gnu-gcc-13")
    (tmp_path / "usr/bin/gcc").symlink_to("x86_64-linux-gnu-gcc-13")
    assert tools.compiler(root, environ) == "gcc 13"
    assert tools.compiler(root, {**environ, "CC": "clang -O2"}) == "clang 17"


def test_a_gcc_whose_name_tells_no_version(tmp_path: Path) -> None:
    make(tmp_path, "/usr/bin/gcc", "/usr/lib/gcc/x86_64-redhat-linux/11/cc1", "/usr/lib/gcc/x86_64-redhat-linux/9/cc1")
    assert tools.compiler(Root(str(tmp_path)), {"PATH": "/usr/bin"}) == "gcc 11"


def test_programs_in_relative_folders_are_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "gcc")
    monkeypatch.chdir(tmp_path)
    assert tools.compiler(Root("/nowhere"), {"PATH": ".:"}) == ""


def test_toolkits(tmp_path: Path) -> None:
    make(tmp_path, "/usr/local/cuda-12.4/bin/nvcc", "/usr/local/cuda-13.0/bin/nvcc", "/usr/local/cuda-9.2/readme")
    (tmp_path / "usr/local/cuda").symlink_to("cuda-12.4")
    root = Root(str(tmp_path))
    assert tools.toolkits(root) == ["12.4", "13.0"]
    assert tools.nvcc(root, {"PATH": "/usr/bin"}) == "12.4"
    lay(tmp_path, {"/opt/cuda/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.8.1"}}'})
    make(tmp_path, "/opt/cuda/bin/nvcc")
    assert tools.nvcc(root, {"PATH": "/usr/bin", "CUDA_HOME": "/opt/cuda"}) == "12.8.1"
    lay(tmp_path, {"/opt/conda/include/cuda.h": "#define CUDA_VERSION 12060\n"})
    make(tmp_path, "/opt/conda/bin/nvcc")
    assert tools.nvcc(root, {"PATH": "/opt/conda/bin"}) == "12.6"
    assert tools.nvcc(Root("/nowhere"), {"PATH": "/usr/bin"}) == ""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
def test_the_real_compiler_is_named_as_it_names_itself() -> None:
    major = process.run(["gcc", "-dumpversion"], deadline=20).out.strip().split(".")[0]
    assert tools.compiler(Root(), {"PATH": os.environ["PATH"], "CC": "gcc"}) == f"gcc {major}"


def test_accelerate_configuration(tmp_path: Path) -> None:
    text = """\
compute_environment: LOCAL_MACHINE
distributed_type: 'FSDP'
fsdp_config:
  fsdp_version: 2
  nested:
    deeper: x
mixed_precision: bf16
machines:
- one
num_processes: 8
main_training_function: main  # as written
"""
    settings = launcher.settings(text)
    assert settings["distributed_type"] == "FSDP"
    assert settings["fsdp_config.fsdp_version"] == "2"
    assert settings["fsdp_config.nested.deeper"] == "x"
    assert settings["mixed_precision"] == "bf16"
    assert settings["num_processes"] == "8"
    assert settings["main_training_function"] == "main"
    folder = tmp_path / "hub" / "accelerate"
    folder.mkdir(parents=True)
    (folder / "default_config.json").write_text('{\n "mixed_precision": "fp16",\n "num_processes": 1\n}\n')
    found = launcher.read(Root(), {"HF_HOME": str(tmp_path / "hub")})
    assert found is not None
    assert found["settings"] == {"mixed_precision": "fp16", "num_processes": "1"}
    assert launcher.read(Root(), {"HF_HOME": str(tmp_path)}) is None


@pytest.mark.parametrize(
    "variables", [{"LOGNAME": "a", "USER": "b"}, {"LOGNAME": "", "USER": "b"}, {"USERNAME": "c"}, {}]
)
def test_a_user_is_called_as_python_calls_them(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert storage._user() == getpass.getuser()
