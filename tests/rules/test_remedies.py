from envdoctor.facts.model import Packages
from envdoctor.rules import remedies
from envdoctor.rules.rule import Pin
from tests.rules.judging import NOTHING, asking, installed, locked


def test_installing_by_hand() -> None:
    assert remedies.install("numpy<2") == "python -m pip install 'numpy<2'"
    assert remedies.install("torch==2.13.0+cu130") == "uv pip install --torch-backend=cu130 'torch==2.13.0+cu130'"
    assert remedies.install("torch==2.13.0") == "python -m pip install 'torch==2.13.0'"
    assert remedies.install("flash-attn==2.8+cu12torch2.8") == "python -m pip install 'flash-attn==2.8+cu12torch2.8'"


def test_only_what_differs_from_the_lock_is_repaired() -> None:
    target = locked(torch="2.13.0", numpy="2.4.6")
    packages: Packages = installed(torch="2.13.0", numpy="1.26.4")
    assert remedies.locked_pins(target, packages, "torch", "numpy", "scipy") == (Pin(name="numpy", version="2.4.6"),)
    assert remedies.locked_pins(NOTHING, packages, "torch") == ()
    assert remedies.locked_pins(target, None, "torch") == (Pin(name="torch", version="2.13.0"),)


def test_fix_is_offered_where_it_repairs() -> None:
    target = locked(torch="2.13.0")
    pins = (Pin(name="torch", version="2.13.0"),)
    assert remedies.choose(target, pins, "x", "by hand").commands == ("envdoctor fix --target h100",)
    assert remedies.choose(target, (), "x", "by hand").commands == ("by hand",)
    assert remedies.repair(NOTHING, "x", "by hand").commands == ("by hand",)
    assert remedies.setting(NOTHING, "x", "unset X").commands == ("unset X",)
    found = remedies.setting(asking(), "x", "unset X")
    assert (found.commands, found.instead) == (("envdoctor fix --target h100",), ("unset X",))


def test_jax_brings_no_jaxlib_of_its_own() -> None:
    command = remedies.install_releases("jax", "jax>=0.3.18")
    assert command.split()[:4] == ["python", "-m", "pip", "install"]
    assert "jaxlib" in command
    assert command.endswith("--upgrade")
    assert "jaxlib<0.4.24" in remedies.install_releases("jax", "jax>=0.2.21,<0.4.24")
