"""Where the trainer and the lockfiles are: inside the installed wheel, or beside the package in a checkout."""

from __future__ import annotations

from pathlib import Path

from envdoctor.errors import Trouble


def _root(name: str) -> Path:
    package = Path(__file__).resolve().parent
    for place in (package / "_bundle" / name, package.parent / name):
        if place.is_dir():
            return place
    raise Trouble(
        f"this installation lacks its {name}",
        file=package / "_bundle" / name,
        remedy="Install again: pip install --force-reinstall gpu-envdoctor",
    )


def trainer() -> Path:
    """The bundled trainer package (a folder named ``trainer``)."""
    return _root("trainer")


def lockfiles() -> Path:
    return _root("lockfiles")


def flags_table() -> Path:
    """The one table of flags, shared by the trainer, the torch probe and the startup hook."""
    return trainer() / "flags.py"


def peak_formula() -> Path:
    """The one formula of a step's memory, shared by the trainer and the doctor; ``kept.json`` lies beside it."""
    return trainer() / "model" / "peak.py"
