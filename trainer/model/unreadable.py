"""A model's files that cannot be read are named, whatever the library that reads them raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainer.errors import TrainerError, in_one_line

_LONGEST = 300  # of what is quoted: transformers lists all the models it knows
_MEMORY = ("can't allocate memory", "out of memory")


@contextmanager
def loading_errors(path: Path, remedy: str) -> Iterator[None]:
    """TrainerError (kind bad-model) for what is raised while a model is made from `path`, a file or a folder.

    Memory that runs out is nobody's broken file, and goes on as it is.
    """
    try:
        yield
    except (TrainerError, MemoryError):
        raise
    except Exception as error:
        if any(words in str(error) for words in _MEMORY):
            raise
        raise TrainerError("bad-model", f"{_first_broken(path)}: {_message_of(error)}", remedy) from None


def _message_of(error: Exception) -> str:
    if "ignore_mismatched_sizes" in str(error):
        return "the weights have other shapes than config.json says"
    text = " ".join(str(error).split()) if isinstance(error, (OSError, ValueError)) else in_one_line(error)
    return text[:_LONGEST]


def _first_broken(path: Path) -> Path:
    """The first weight file of a folder that is none; else the path itself."""
    from safetensors import SafetensorError, safe_open

    for file in sorted(path.glob("*.safetensors")) if path.is_dir() else ():
        try:
            with safe_open(file, framework="pt"):
                pass
        except (OSError, SafetensorError):
            return file
    return path
