"""Sections of a reading for tests: they must be there."""

from __future__ import annotations

from typing import TypeVar

from envdoctor.facts.model import (
    Distribution,
    Driver,
    Gpus,
    Host,
    Interpreter,
    Launcher,
    Network,
    Packages,
    Torch,
    Unavailable,
)
from envdoctor.facts.pasted import read

Section = TypeVar("Section")


def _there(section: Section | Unavailable) -> Section:
    assert not isinstance(section, Unavailable), section
    return section


def torch(text: str) -> Torch:
    return _there(read(text).torch)


def host(text: str) -> Host:
    return _there(read(text).host)


def driver(text: str) -> Driver:
    return _there(read(text).driver)


def gpus(text: str) -> Gpus:
    return _there(read(text).gpus)


def interpreter(text: str) -> Interpreter:
    return _there(read(text).interpreter)


def packages(text: str) -> Packages:
    return _there(read(text).packages)


def network(text: str) -> Network:
    return _there(read(text).network)


def launcher(text: str) -> Launcher:
    return _there(read(text).launcher)


def versions(text: str) -> dict[str, str]:
    return {d.name: d.version for d in packages(text).distributions}


def distribution(text: str, name: str) -> Distribution:
    found = packages(text).find(name)
    assert found is not None
    return found
