"""jaxlib by its plain name is the one for processors: where a text shows a jax with CUDA, a command that brings another
release asks for it with the extra that brings CUDA along."""

from __future__ import annotations

import re
import shlex

from envdoctor.facts.model import Facts
from envdoctor.knowledge import circumstances, installed
from envdoctor.knowledge.versions import below
from envdoctor.values import shell
from envdoctor.values.pattern import Pattern

_PIP = "python -m pip install"
_REQUIREMENT = Pattern(r"(?P<name>jax|jaxlib)(?P<range>(?:,?[<>=!~]{1,2}[\w.*]{1,20}){0,4})")
_BOUND = Pattern(r"(?<!!)(?P<sign>[<>=~]=?)(?P<release>\d{1,4}(?:\.\d{1,4}){0,3})")
_FIRST_ON_PYPI = "0.4.26"
"""From here on CUDA's packages for jax are on PyPI, and there are none for CUDA 11
(https://docs.jax.dev/en/latest/changelog.html)."""
_FIRST_FROM_WHEELS = "0.4.8"
"""The first with an extra that takes CUDA from wheels (cuda11_pip, cuda12_pip)."""
_THEIR_PAGE = "-f https://storage.googleapis.com/jax-releases/jax_cuda_releases.html"


def keep_jax(command: str, facts: Facts) -> str:
    """The command as it stands where no jax with CUDA is told of, none is asked for by its plain name, or it is for
    Apple's GPUs."""
    if not command.startswith(f"{_PIP} ") or "jax-metal" in command or (line := _line(facts)) is None:
        return command
    words = shlex.split(command)[4:]
    asked = {found["name"]: found["range"] for word in words if (found := _REQUIREMENT.fullmatch(word))}
    if not asked:
        return command
    others = [word for word in words if _REQUIREMENT.fullmatch(word) is None]
    wanted = asked.get("jax") or asked.get("jaxlib") or ""
    bounds = [(found["sign"], found["release"]) for found in _BOUND.finditer(wanted)]
    least = next((release for sign, release in bounds if sign not in ("<", "<=")), "")
    most = next((release for sign, release in bounds if sign in ("<", "<=", "==")), "")
    page = _THEIR_PAGE
    if most and not below(_FIRST_FROM_WHEELS, most):
        extra = "cuda"
    elif line == "11" and not (least and not below(least, _FIRST_ON_PYPI)):
        extra = "cuda11_pip"
        if not most or below(_FIRST_ON_PYPI, most):
            wanted = ",".join(filter(None, (f">={least}" if least else "", f"<{_FIRST_ON_PYPI}")))
    elif most and not below(_FIRST_ON_PYPI, most):
        extra = "cuda12_pip"
    else:
        extra, page = ("cuda13" if line == "13" else "cuda12"), ""
    return " ".join(filter(None, (_PIP, *map(shell.word, others), shell.word(f"jax[{extra}]{wanted}"), page)))


def _line(facts: Facts) -> str | None:
    """The CUDA that the jax of this text was built for; None where it is not told, or is for processors."""
    listed = (f"{name}=={version}" for name, version in installed.versions(facts).items())
    found = circumstances.JAX_FOR_CUDA.found(facts)
    said = found[0] if found else next(filter(circumstances.JAX_FOR_CUDA.said.search, listed), None)
    if said is None:
        return None
    number = re.search(r"cuda-?(1[1-3])", said)
    return number[1] if number else "12"
