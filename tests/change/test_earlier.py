"""Where `undo` leads, as every check asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from envdoctor.change.apply import apply
from envdoctor.change.earlier import can_go_back
from envdoctor.change.places import places
from envdoctor.change.undo import undo
from tests.change.conftest import World, quiet


def test_only_a_changed_environment_has_an_earlier_state(
    world: World, healthy: Callable[[Path], str | None], tmp_path: Path
) -> None:
    assert can_go_back(world.environment) is None
    apply(world.change(), verify=healthy, progress=quiet)
    assert can_go_back(world.environment) is True
    undo(world.environment)
    assert can_go_back(world.environment) is False
    (places(world.environment).control / "journal.json").write_text("{")
    assert can_go_back(world.environment) is None
