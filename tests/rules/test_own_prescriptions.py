"""The doctor held to its own prescriptions: what it would install, on each machine it would install it for.

Every target, every stack of it, every Python that the stack is locked for, one driver of each branch that runs it: the
facts of exactly that lock must raise nothing that `envdoctor fix` of the same target would not mend by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from envdoctor.facts.model import Distribution, Facts, Flag, Packages, Unavailable
from envdoctor.knowledge.broken import RELEASES
from envdoctor.knowledge.versions import specifiers
from envdoctor.locks import library
from envdoctor.locks.choice import choose_stack
from envdoctor.locks.target import Target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import Diagnosis, diagnose
from envdoctor.rules.plan import plan
from envdoctor.rules.rule import Severity
from tests.rules.rented import FRESH, interpreter, processor, rented, torch_of

DRIVERS = ("535.183.01", "550.163.01", "570.195.03", "580.95.05", "595.71.05")
PYTHONS = ("3.10.19", "3.11.14", "3.12.11", "3.13.9", "3.14.1")
TARGETS = library.load_targets()
RULES = [rule for rule in load_rules() if rule.family != "script"]
MACHINE = "x86_64"


class Case(NamedTuple):
    target: Target  # with the stack that was chosen
    facts: Facts
    name: str


def machine_of(target: Target, python: str, driver: str) -> Facts:
    """A sound machine of the target's first board, with nothing installed yet."""
    if target.is_cpu:
        facts = processor(python)
    else:
        facts = rented(target.gpu_names[0], python=python, driver=driver, kernel={"fabric_manager": "completed"})
    return replace(facts, packages=Packages(), torch=Unavailable(reason="not yet", why="not-asked"))


def installed(facts: Facts, target: Target) -> Facts:
    """The same machine after its stack was installed to the letter."""
    assert target.choice is not None
    rows = tuple(Distribution(name=pin.name, version=pin.version) for pin in target.choice.pins)
    version = next(pin.version for pin in target.choice.pins if pin.name == "torch")
    facts = replace(facts, packages=Packages(distributions=rows, damage_checked="sizes"))
    if target.is_cpu:
        return replace(facts, torch=processor(torch=version).torch)
    pins = {pin.name: pin.version for pin in target.choice.pins}
    cudnn = next(version for name, version in pins.items() if name.startswith("nvidia-cudnn"))
    loaded = ".".join(cudnn.split(".")[:3])
    assert target.capability is not None
    assert target.choice.cuda
    torch = torch_of(version, target.choice.cuda, target.capability, cudnn=loaded, cudnn_built=loaded)
    return replace(facts, torch=torch)


def matrix() -> Iterator[Case]:
    for name in TARGETS:
        if name == "phase1c":  # a claim of others, kept to be checked
            continue
        target = TARGETS[name]
        stacks = library.load_stacks(target)
        # Python decides about the wheels and the driver about the line: each is varied beside the newest of the other.
        pairs = [(python, DRIVERS[-1]) for python in PYTHONS]
        pairs += [] if target.is_cpu else [("3.12.11", driver) for driver in DRIVERS[:-1]]
        for stack, (python, driver) in itertools.product(target.stacks, pairs):
            bare = machine_of(target, python, driver)
            chosen = choose_stack(replace(target, stacks=(stack,)), stacks, bare)
            if chosen.choice is not None:  # it runs here: by itself, or because it is what is installed
                facts = installed(bare, chosen)
                again = choose_stack(target, stacks, facts)
                assert again.choice is not None
                assert again.choice.stack == stack
                yield Case(again, facts, f"{name} {stack} {python} {driver}")


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(matrix())


def serious(diagnosis: Diagnosis) -> list[str]:
    return [f"{found.rule}: {found.message}" for found in diagnosis.at_least(Severity.WARNING)]


def mended(case: Case) -> Facts:
    """The facts after the flags and variables of the target's own plan were set."""
    made = plan(case.facts, case.target, diagnose(case.facts, case.target, RULES))
    assert not made.install, (case.name, [step.name for step in made.install])
    torch, variables = case.facts.torch, case.facts.variables
    assert not isinstance(torch, Unavailable)
    assert not isinstance(variables, Unavailable)
    set_ = {name: value for name, value in {**variables, **made.variables}.items() if value is not None}
    flags = {name: Flag(value=value) for name, value in made.flags.items()}
    conf = set_.get("PYTORCH_ALLOC_CONF") or set_.get("PYTORCH_CUDA_ALLOC_CONF") or ""
    flags["allocator-conf"] = Flag(value=conf)
    return replace(case.facts, variables=set_, torch=replace(torch, flags={**torch.flags, **flags}))


def test_every_stack_is_prescribed_somewhere(cases: list[Case]) -> None:
    chosen = {case.target.choice.stack for case in cases if case.target.choice}
    assert chosen == {name for target in TARGETS if target != "phase1c" for name in TARGETS[target].stacks}
    assert len(cases) > 150


def test_nothing_is_found_that_fix_would_not_mend(cases: list[Case]) -> None:
    found: dict[str, list[str]] = {}
    for case in cases:
        diagnosis = diagnose(mended(case), case.target, RULES)
        assert not diagnosis.crashed, (case.name, diagnosis.crashed)
        for text in serious(diagnosis):
            found.setdefault(text, []).append(case.name)
    assert found == {}


def test_no_error_is_found_even_before(cases: list[Case]) -> None:
    for case in cases:
        errors = diagnose(case.facts, case.target, RULES).at_least(Severity.ERROR)
        assert errors == (), (case.name, [found.message for found in errors])


def test_no_table_condemns_what_another_prescribes() -> None:
    """Whatever "use X" allows, some release of it must be left that no row of its own package calls broken."""
    for row in RELEASES:
        name = next(
            iter(row.instead.replace(">", "=").replace("<", "=").replace("~", "=").replace("!", "=").split("="))
        )
        wanted = specifiers(row.instead.removeprefix(name))
        assert wanted is not None, row.instead
        others = [
            other.versions
            for other in RELEASES
            if other.package == name and other.kind == "broken" and other is not row
        ]
        edges = {clause.version for clause in wanted} | {"9999"}
        edges |= {clause.version for text in others for clause in (specifiers(text) or ()) if "*" not in clause.version}
        candidates = {f"{edge}{tail}" for edge in edges if edge[-1].isdigit() for tail in ("", ".1", ".post9")}
        candidates |= {below for edge in edges if (below := _below(edge))}
        left = [each for each in candidates if wanted.contains(each, prereleases=True)]
        free = [each for each in left if not any((specifiers(text) or ()).contains(each) for text in others)]
        assert free, (row.package, row.versions, row.instead)


def _below(version: str) -> str:
    """A release just before this one: 1.0 -> 0.999, 4.57.1 -> 4.57.0.999."""
    numbers = [int(part) for part in version.split(".") if part.isdigit()]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return ".".join(map(str, [*numbers[:-1], numbers[-1] - 1, 999])) if numbers else ""


def test_flags_are_as_a_fresh_torch_has_them() -> None:
    """The matrix starts from torch's own defaults, so that what it mends is what a user has."""
    assert FRESH["sdp"].split(",")[0] == "flash"
    assert interpreter().platform == f"linux-{MACHINE}"
