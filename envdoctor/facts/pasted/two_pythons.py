"""Which Python ran, and of which environment a text shows the prompt: where they are two, what one has the other lacks.

A console script (torchrun, accelerate, pip) belongs to the Python that it was installed with, whatever environment is
active; ``pip install --user`` puts such scripts into ~/.local/bin, and packages where every environment of one Python
finds them before its own.
"""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import INFERRED, Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

_PROMPT = Pattern(r"^\W{0,3}\((?P<name>[\w.+-]{1,40})\) ?[\w.~/\\@:\[ -]{0,120}?[$#>%➜❯](?: |\w|$)")
_RAN = Pattern(
    r"\bof binary: (?P<binary>/\S{1,200}/python[\d.]{0,5})(?=\s|$)"
    r"|Command '?\['(?P<called>/[^'\s]{1,200}/python[\d.]{0,5})', '-"
)
_SCRIPT = Pattern(
    r'File "(?P<script>/[^"\n]{1,200}/bin/(?:torchrun|accelerate|deepspeed|ray|vllm|jupyter\S{0,12}|pip3?))"'
)
_SYSTEM = Pattern(r"^/(?:usr|opt/local)(?:/local)?/bin/|^(?:/home/[^/]+|/root|~)/\.local/bin/")
"""The system's own, and what pip put beside it for one user."""
_OWN_PROMPTS = frozenset({"main", "master", "dev", "develop", "pdb", "gdb", "env"})
"""Words in parentheses that are as often a branch's or a debugger's."""


def read(page: Page, draft: Draft) -> None:
    """Remark the Python that ran and the environment at the prompt, where they are not the same, and the user's own
    folder of packages, where a traceback runs through it and through an environment of conda's."""
    _user_site(page, draft)
    ran, script, names = "", "", set()
    for line in page.lines:
        if found := _RAN.search(line):
            ran = ran or found["binary"] or found["called"]
        if (found := _SCRIPT.search(line)) and _SYSTEM.search(found["script"]):
            script = script or found["script"]
        if found := _PROMPT.search(line):
            names.add(found["name"])
    active = names.pop() if len(names) == 1 else ""
    if not active or active.lower() in _OWN_PROMPTS or not ran:
        return
    if _SYSTEM.search(ran) and not re.search(rf"/{re.escape(active)}(?:/|$)", ran):
        draft.remark("python that ran", ran)
        draft.remark("environment at the prompt", active)
        if script:
            draft.remark("script that ran", script)


_USERS = Pattern(
    r"(?P<folder>(?:/home/[^/\s\"]{1,60}|/root|/Users/[^/\s\"]{1,60}|~)/\.local/lib/(?P<python>python3\.\d{1,2})"
    r"/site-packages)/"
)
_CONDAS = Pattern(
    r"/(?:envs/[^/\s\"]{1,60}|(?:ana|mini|micro)?(?:conda|forge|mamba)\d?)/lib/(?P<python>python3\.\d{1,2})/(?!lib-)"
)


def _user_site(page: Page, draft: Draft) -> None:
    users = {found["python"]: found["folder"] for line in page.lines if (found := _USERS.search(line))}
    if not users:
        return
    condas = {found["python"] for line in page.lines if (found := _CONDAS.search(line))}
    both = sorted(users.keys() & condas)
    if len(both) == 1:
        draft.claim("interpreter.user_site", users[both[0]], INFERRED)
        draft.claim("interpreter.is_conda", True, INFERRED)
