"""What the log of an installation that went through tells: what came with it, and whether its notices matter."""

import re

from envdoctor.knowledge.questions import normal
from envdoctor.rules.packages import _unmet
from envdoctor.rules.rule import Facts, Pattern

ISOLATED = r"build backend returned an error|builds-v0|pip-build-env|[/\\]\.tmp\w{6}[/\\]|get_requires_for_build"
"""What the log of a build shows that pip or uv makes in an environment of its own."""
_NOTICE = Pattern(
    r"dependency resolver does not currently take into account|the source of the following dependency conflicts"
)
"""What pip prints below an installation that went through."""
_BROUGHT = ("nvidia-", "cuda-", "pytorch-triton", "sympy", "mpmath", "networkx", "jinja2", "filelock", "markupsafe")
STACK = frozenset({"torch", "torchvision", "torchaudio", "triton"})
"""What was compiled for another one of these does not load: a notice of them is none to pass over."""
_COMMON = frozenset("core python tools utils client server torch nvidia cuda".split())


def notes_only(facts: Facts) -> bool:
    return any(_NOTICE.search(text) for text in facts.messages)


def came_with(facts: Facts) -> str:
    """What pip installed together with torch, other than what torch itself brings: one of these asked for it."""
    names = facts.remarks.get("just installed", "").split()
    others = [name for name in names if not name.startswith(_BROUGHT) and name not in STACK]
    return ", ".join(others) if "torch" in names and 0 < len(others) <= 4 else ""


def is_in_question(facts: Facts, one: str, name: str) -> bool:
    """Is the pair what the text is about? Its heading names one of the two; or, where it names none of them, what was
    just installed is what does not fit. The others were at odds before it, or are of no moment to whoever asks."""
    heading = set(re.findall(r"[a-z0-9]{3,}", facts.remarks.get("heading of an install log", "").lower()))
    names = facts.remarks.get("just installed", "").split()
    if heading:
        pairs = [m for line in facts.messages for p in _unmet.LINES if (m := p.search(line)) and "one" in m.groupdict()]
        spoken = {word for m in pairs for each in (m["one"], m["wanted"]) for word in _parts(each or "")}
        if heading & spoken:
            return bool(heading & ({*_parts(one)} | {*_parts(name)}))
    return not names or normal(name) in names or normal(one) in names


def _parts(name: str) -> list[str]:
    """The words of a distribution's name: people say hydra for hydra-core."""
    plain = re.split(r"[ <>=!~\[(]", name.lower(), maxsplit=1)[0]
    return [plain, *(part for part in re.split(r"[-_.]", plain) if len(part) > 3 and part not in _COMMON)]
