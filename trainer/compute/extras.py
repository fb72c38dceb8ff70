"""Libraries that one setting needs and nothing else does."""

from __future__ import annotations

import importlib
from typing import Any

from trainer.errors import TrainerError, in_one_line


def load(module: str, setting: str) -> Any:
    """The module, imported. TrainerError (kind no-PACKAGE) where it cannot be; `setting`: as the user gave it."""
    package, name = module.partition(".")[0], setting.partition("=")[0]
    try:
        return importlib.import_module(module)
    except (ImportError, OSError, RuntimeError) as error:
        raise TrainerError(
            f"no-{package}", f"{setting} needs {package}, which cannot be imported ({in_one_line(error, 200)})",
            f"pip install {package}   (into the environment that trains), or leave {name} out.",
        ) from None  # fmt: skip
