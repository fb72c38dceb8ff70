"""pip takes another torch along where the newest release of a package asks for one: on Windows that is PyPI's, which
has no CUDA. Asked for the torch that is there as well, it takes the release of the package that goes with that."""

from __future__ import annotations

from envdoctor.facts.model import Facts
from envdoctor.knowledge.installed_torch import torch_cuda, torch_version
from envdoctor.knowledge.machine import platform_of
from envdoctor.knowledge.numbers import numbers, reaches
from envdoctor.knowledge.pairs import first_beyond
from envdoctor.knowledge.torch_builds import release_of
from envdoctor.knowledge.versions import below
from envdoctor.rules.remedies import TORCH_FAMILY
from envdoctor.values import shell
from envdoctor.values.pattern import Pattern

_INSTALL = Pattern(r"\S*python\S* -m pip install (?!.*(?:--no-deps|-r |-e ))(?P<what>.+)")
_NAME = Pattern(r"(?<![\w=<>.+-])['\"]?(?P<name>[a-z][a-z0-9-]{1,40})(?=[\[<>=~!'\" ]|$)")
_ASK_FOR_TORCH = frozenset(
    "accelerate bitsandbytes kornia lightning open-clip-torch peft pytorch-lightning sentence-transformers timm "
    "torchmetrics ultralytics xformers".split()
)
"""Whose metadata asks for torch, so that pip may bring another one (their METADATA on PyPI, autumn 2026)."""
_NEW = (2, 4)
"""What the packages above ask for at most: a later torch is left where it is."""
_TRANSFORMERS = Pattern(
    r"(?<![\w/.-])(?P<quote>['\"]?)transformers(?P<least>(?:>=(?P<release>[\d.]{1,12}))?)(?P=quote)(?=\s|$)"
)
"""Asked for without an end."""


def for_this_torch(command: str, facts: Facts) -> str:
    """The command with the newest transformers that runs with the torch that is there, where it asks for any."""
    found = _INSTALL.fullmatch(command)
    asked = _TRANSFORMERS.search(command) if found else None
    torch = torch_version(facts)
    if found is None or asked is None or torch is None:
        return command
    names = {one["name"] for one in _NAME.finditer(found["what"])}
    beyond = first_beyond(torch)
    if not beyond or names & TORCH_FAMILY or (asked["release"] and not below(asked["release"], beyond)):
        return command
    bounded = shell.word("transformers" + ",".join(filter(None, (asked["least"], f"<{beyond}"))))
    return command[: asked.start()] + bounded + command[asked.end() :]


def keep_torch(command: str, facts: Facts) -> str:
    """The command with the torch that is there, where an installation would replace an old one, or one with CUDA by
    Windows' build for the CPU; as it stands where nothing tells of a torch with CUDA."""
    found = _INSTALL.fullmatch(command)
    names = {one["name"] for one in _NAME.finditer(found["what"])} if found else set()
    version = torch_version(facts)
    if not names & _ASK_FOR_TORCH or names & TORCH_FAMILY or version is None or not torch_cuda(facts):
        return command
    release = release_of(version)
    public = version.partition("+")[0]
    windows = platform_of(facts).startswith("win")
    if release is None or (not windows and reaches(numbers(release.name)[:2], _NEW)) or public.count(".") < 2:
        return command  # of "2.1" nobody knows which patch is there: pip would look for another one
    return shell.with_requirements(command, f"torch=={public}")
