"""How the house is counted, on a house of four rooms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.house import counts
from tests.benchmarks.house.source import Source
from tests.benchmarks.house.walks import Walk, follow

ROOMS = {
    "door": """
from product import kitchen
from product.cellar import Barrel

def enter(guest, weather):
    barrel = Barrel(guest)
    kitchen.heat(weather)
    meal = kitchen.cook(guest)
    serve(meal)
    barrel.tap()

def serve(meal):
    kitchen.wash(meal)

def said(guest):
    return _quote(guest)

def _quote(guest):
    return repeat(guest)

class Guest: ...
""",
    "kitchen": """
from product.larder import fetch

def heat(weather): ...

def cook(guest):
    if not guest:
        raise explain(guest)
    return fetch(guest)

def wash(meal): ...

class Guest: ...
""",
    "larder": "def fetch(guest): ...\n",
    "cellar": """
class Barrel:
    def __init__(self, guest): ...
    def tap(self): ...
""",
}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "product").mkdir()
    for name, text in ROOMS.items():
        (tmp_path / "product" / f"{name}.py").write_text(text, "utf-8")
    return Source(tmp_path, ("product",))


def test_a_walk_follows_what_is_made_of_the_value(source: Source) -> None:
    way = follow(source, Walk("dinner", "product.door:enter", ("guest",)))
    assert [f"{module.partition('.')[2]}:{function}" for module, function in way.doors] == [
        "door:enter",
        "cellar:__init__",
        "kitchen:cook",
        "larder:fetch",
        "door:serve",
        "kitchen:wash",
        "cellar:tap",
    ]
    assert way.counts == (7, 4, 3)


def test_a_walk_goes_so_deep_ends_at_its_end_and_passes_doors_by(source: Source) -> None:
    assert follow(source, Walk("dinner", "product.door:enter", ("guest",)), 1).counts == (5, 3, 2)
    assert follow(source, Walk("dinner", "product.door:enter", ("guest",), "product.larder:fetch")).counts == (4, 4, 0)
    passed = Walk("dinner", "product.door:enter", ("guest",), None, ("product.kitchen:cook",))
    assert follow(source, passed).counts == (5, 3, 2)
    with pytest.raises(ValueError, match="no such function"):
        follow(source, Walk("dinner", "product.door:leave", ()))


def test_names_are_counted(source: Source) -> None:
    assert counts.classes_twice(source) == {"Guest": ["product.door", "product.kitchen"]}
    assert counts.bare_participles(source) == ["product.door:said"]
    assert counts.only_passing_through(source) == ["product.door:_quote"]
