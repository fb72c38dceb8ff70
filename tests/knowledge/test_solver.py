"""Laws of the solver, for every build and machine that the tables can describe."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.knowledge.cuda_lines import lines
from envdoctor.knowledge.generations import generations
from envdoctor.knowledge.numbers import numbers
from envdoctor.knowledge.solver import Machine, best_build, fits
from envdoctor.knowledge.torch_builds import Build, build_of, is_published, published_builds

DEVICES = [f"{major}.{minor}" for major, minor in generations()]
DRIVERS = sorted({row.own for row in lines().values()} | {row.runs_from for row in lines().values()}, key=numbers)

builds = st.sampled_from(list(published_builds()))
machines = st.builds(
    Machine,
    driver=st.sampled_from(DRIVERS),
    capabilities=st.lists(st.sampled_from(DEVICES), min_size=1, max_size=4).map(tuple),
    python=st.sampled_from(["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]),
    libc=st.sampled_from(["glibc 2.17", "glibc 2.28", "glibc 2.39"]),
)


@given(builds, machines)
def test_a_box_runs_what_each_of_its_gpus_runs(build: Build, machine: Machine) -> None:
    alone = [fits(build, replace(machine, capabilities=(device,))).ok for device in machine.capabilities]
    assert fits(build, machine).ok == all(alone)


@settings(deadline=None)  # a busy machine takes longer than 200 ms for the whole table now and then
@given(machines)
def test_the_best_build_fits_and_no_newer_release_does(machine: Machine) -> None:
    best = best_build(machine)
    newer = [
        build for build in published_builds() if best.build is None or numbers(build.torch) > numbers(best.build.torch)
    ]
    assert not [build.name for build in newer if fits(build, machine).ok]
    assert best.reason
    if best.build is not None:
        assert fits(best.build, machine).ok


@given(builds, machines, st.sampled_from(DRIVERS))
def test_a_newer_driver_is_never_too_old_where_an_older_one_was_not(build: Build, machine: Machine, other: str) -> None:
    older, newer = sorted((machine.driver or "", other), key=numbers)

    def too_old(driver: str) -> bool:
        return any(obstacle.what == "driver" for obstacle in fits(build, replace(machine, driver=driver)).obstacles)

    assert not (too_old(newer) and not too_old(older))


@given(builds, machines)
def test_what_is_not_known_is_named_and_held_against_nobody(build: Build, machine: Machine) -> None:
    blind = fits(build, Machine())
    assert blind.ok
    assert {"driver", "gpu", "python", "libc"} <= set(blind.unchecked)
    assert fits(build, machine).unchecked == ()


def test_a_cpu_build_needs_no_gpu() -> None:
    build = Build(torch="2.15.0", cuda="", python=("3.11", "3.15"), glibc="2.28")
    old = Machine(driver="390.1", capabilities=("3.0",), python="3.12", libc="glibc 2.35")
    assert fits(build, old).ok
    assert (build.label, build.name) == ("cpu", "2.15.0+cpu")


def test_builds_from_source_are_not_the_tables_to_judge() -> None:
    own = build_of("2.7.0a0+git1234567", "12.8")
    assert own.kernels == ()
    assert fits(own, Machine(driver="570.26", capabilities=("5.2",))).unchecked == ("kernels", "python")
    assert is_published("2.15.0+cu132")
    assert is_published("2.9.0.dev20250804+cu126")
    assert not is_published("2.4.0a0+07cecf4168.nv24.05")


def test_ptx_needs_a_driver_of_its_own_cuda_and_libraries_that_know_the_gpu() -> None:
    ptx = Build(torch="2.8", cuda="12.9", kernels=("sm_90", "compute_90"))
    assert fits(ptx, Machine(driver="575.51.03", capabilities=("12.0",))).ok
    assert not fits(ptx, Machine(driver="570.26", capabilities=("12.0",))).ok  # may not compile PTX of CUDA 12.9
    assert not fits(replace(ptx, cuda="12.6"), Machine(driver="575.51.03", capabilities=("12.0",))).ok
