"""GPUs, NVML and cuInit, with real shared libraries that behave as sick drivers do; compiled here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envdoctor.facts import collect, scrub
from envdoctor.facts.environment import Environment
from envdoctor.facts.model import Driver, Facts, Gpus, Unavailable
from envdoctor.facts.probe import gpu
from envdoctor.system import process
from tests.facts.probe.venvs import Venv

FAKES = Path(__file__).parent / "fakes"
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler on this machine")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    for source, name in (("cuda.c", "libcuda.so.580.95.05"), ("nvml.c", "libnvidia-ml.so.580.95.05")):
        argv = ["gcc", "-shared", "-fPIC", "-Wall", "-o", folder / name, FAKES / source]
        outcome = process.run(argv, deadline=60)
        assert outcome.ok, outcome.err
        (folder / f"{name.partition('.so')[0]}.so.1").symlink_to(name)
    return folder


@pytest.fixture
def facts(venv: Venv, libraries: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Facts of a machine with this driver; keyword arguments are variables that steer it."""

    def facts(**variables: str) -> Facts:
        monkeypatch.setattr(collect, "TRACES", ("/",))
        monkeypatch.setattr(collect, "NVML", 2.0)
        monkeypatch.setattr(collect, "CUINIT", 2.0)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(libraries))
        for name, value in {"FAKE_CUDA": "0", **variables}.items():
            monkeypatch.setenv(name, value)
        environment = Environment(path=venv.path, python=venv.python)
        return collect.begin(environment, torch=False).finish()

    return facts


def both(facts: Facts) -> tuple[Driver, Gpus]:
    assert isinstance(facts.driver, Driver)
    assert isinstance(facts.gpus, Gpus), facts.gpus
    return facts.driver, facts.gpus


def test_every_field_that_the_driver_answers(facts) -> None:  # type: ignore[no-untyped-def]
    driver, gpus = both(facts(FAKE_GPUS="2"))
    assert (driver.library, driver.management_library, driver.cuda) == ("580.95.05", "580.95.05", "13.0")
    assert (driver.cuinit, driver.cuinit_error, driver.fabric_manager) == (0, None, "in progress")
    assert gpus.count == 2
    first, second = gpus.devices
    assert first.name == "NVIDIA H100 80GB HBM3"  # the terminal escape is gone
    assert (first.capability, first.memory, first.memory_used) == ("9.0", 85899345920, 4096)
    assert (first.power_limit, first.power_default, first.power_draw) == (310.0, 700.0, None)
    assert first.throttle_reasons == ("sw-power-cap", "hw-thermal")
    assert (first.nvlinks, first.nvlinks_down) == (3, 1)
    assert first.temperature is None
    assert first.identity == scrub.identity("GPU-00000000-1111-2222-3333-444444440000")
    assert first.identity != second.identity
    assert gpus.topology == (("X", "NV3"), ("NV3", "X"))
    assert gpus.peer_access == ((True, True), (True, True))


@pytest.mark.parametrize("code", [802, 803, 804, 999, 100])
def test_codes_of_cuinit(facts, code: int) -> None:  # type: ignore[no-untyped-def]
    driver, gpus = both(facts(FAKE_CUDA=str(code)))
    assert driver.cuinit == code
    assert gpus.count == 1


@pytest.mark.parametrize(("what", "said"), [("hang", "no answer within 2 s"), ("crash", "SIGABRT")])
def test_a_cuinit_that_does_not_come_back(facts, what: str, said: str) -> None:  # type: ignore[no-untyped-def]
    driver, gpus = both(facts(FAKE_CUDA=what))
    assert driver.cuinit is None
    assert driver.cuinit_error == f"cuInit: {said}"
    assert gpus.count == 1


def test_nvml_that_refuses(facts) -> None:  # type: ignore[no-untyped-def]
    told = facts(FAKE_NVML="18")
    assert told.gpus == Unavailable(reason="NVML: Driver/library version mismatch")
    assert told.driver.cuinit == 0
    assert "NVML: Driver/library version mismatch" in told.messages


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'Failed to initialize NVML: Unknown Error'; exit 255", "Failed to initialize NVML: Unknown Error"),
        ("exit 9", "exit code 9"),
        ("sleep 60", "no answer within 2 s"),
        ("echo fine", ""),
    ],
)
def test_nvidia_smi_is_asked_only_after_nvml_has_failed(  # type: ignore[no-untyped-def]
    facts, script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(collect, "SMI", (str(program),))
    assert facts().driver.smi is None
    assert facts(FAKE_NVML="999").driver.smi == said
    program.chmod(0o777)  # anybody may have written it
    assert facts(FAKE_NVML="999").driver.smi is None


def test_nvml_that_hangs(facts) -> None:  # type: ignore[no-untyped-def]
    told = facts(FAKE_NVML="hang")
    assert told.gpus == Unavailable(reason="NVML: no answer within 2 s", why="timed-out")
    assert told.driver.cuinit == 0


def test_a_gpu_that_hangs_leaves_those_before_it(facts) -> None:  # type: ignore[no-untyped-def]
    told = facts(FAKE_NVML="hang-1", FAKE_GPUS="3")
    _, gpus = both(told)
    assert (gpus.count, len(gpus.devices)) == (3, 1)
    assert "NVML at GPU 1: no answer within 2 s" in told.messages


def test_a_gpu_that_is_lost(facts) -> None:  # type: ignore[no-untyped-def]
    told = facts(FAKE_NVML="lost-1", FAKE_GPUS="3")
    _, gpus = both(told)
    assert gpus.count == 3
    assert [device.index for device in gpus.devices] == [0, 2]
    assert "GPU 1: GPU is lost" in told.messages


def test_the_identity_is_that_of_the_scrubber() -> None:
    assert gpu.identity("GPU-x") == scrub.identity("GPU-x")


def test_a_machine_without_any_trace_of_nvidia_is_not_asked(venv: Venv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "TRACES", ("/no/such/file",))
    collection = collect.begin(Environment(path=venv.path, python=venv.python), torch=False)
    assert set(collection._children) <= {"environment", "machine"}
    told = collection.finish()
    assert told.gpus == Gpus(count=0)
    assert isinstance(told.driver, Driver)
    assert told.driver.cuinit is None
