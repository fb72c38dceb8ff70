"""Environment variables: ``KEY=value``, ``export KEY=value``, ``-e KEY=value``, ``ENV KEY value``, ``KEY: value``.

Only names that matter for training are taken (an allow-list of families), and never one that may hold a secret.
"""

from __future__ import annotations

import re

from envdoctor.facts import scrub
from envdoctor.facts.pasted.draft import LISTED, Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.values.pattern import Pattern

FORMAT = "variables"
_FAMILIES = (
    *scrub.FAMILIES,
    "BNB_",
    "DEEPSPEED_",
    "DS_",
    "GLOO_",
    "INDUCTOR_",
    "MLX5_",
    "ROCR_",
    "HIP_",
    "UCX_",
    "VLLM_",
)
_NAMES = scrub.NAMES | {"FORCE_TORCHRUN", "MASTER_ADDR", "NNODES", "NODE_RANK", "PATH", "SLURM_JOB_NUM_NODES", "USE_TF"}
_SECRET = Pattern(r"TOKEN(?!IZER)|SECRET|PASSW|API_|ACCESS|CREDENTIAL|(?:^|_)KEY(?:$|_)|PROXY|AUTH|COOKIE")
_LINE = Pattern(
    r"(?:(?:export|set|declare -x|ENV|setenv|os\.environ|-e|--env)\s+|\$env:|env(?:iron(?:ment)?)?\.)?"
    r"(?P<name>[A-Z][A-Z0-9_]{1,60})"
    r"(?:\s?=\s?|:\s+|(?<=\w)\s+(?=\S+$))(?P<value>.*?)[;,.\\]?"
)
_PYTHON = Pattern(r"os\.environ\[['\"](?P<name>[A-Z][A-Z0-9_]{1,60})['\"]\]\s*=\s*f?['\"](?P<value>[^'\"]*)['\"]")
_INLINE = Pattern(r"(?<![\w./$-])(?P<name>[A-Z][A-Z0-9_]{2,60})=(?P<value>[^\s;'\"&|]+|'[^']*'|\"[^\"]*\")")


_ADVICE = Pattern(
    r"\b(?:consider|unless|without|try|tried|trying|please|should|could|can be|may|might|would"
    r"|recommend(?:ed|s)?|suggest(?:ed|s)?"
    r"|re-?run with|run with|for details|for more (?:details|info\w*)|for debugging|hint|need to|have to"
    r"|by (?:setting|passing)|pass(?:ing)? (?:the )?(?:environment|env)|or use|you can|if you)"
    r"\b[^=]{0,200}[A-Z][A-Z0-9_]{2,60}[`'\"]? ?=",
    re.IGNORECASE,
)
_TRIAL = Pattern(r"\b(?:disabled|works?|succeeds?|solved|fixed|workaround|helps?|unless)\b.{0,80}:$", re.IGNORECASE)
"""A message that tells somebody to set a variable says that it was not set."""
_OUT = Pattern(r"#(?:export\b|[A-Z][A-Z0-9_]{1,60}=)")
"""A line of a script that is commented out; behind "# " it may be root's prompt."""


def read(page: Page, draft: Draft) -> None:
    before = ""
    for number, text in page.left():
        trial, before = _TRIAL.search(before) is not None, text
        text = text.removeprefix("$ ").removeprefix("# ")
        if _OUT.match(text):
            continue
        if trial and _LINE.fullmatch(text):
            continue  # what was tried, or is said to help
        if _ADVICE.search(text):
            continue
        if setting := _PYTHON.search(text):
            _set_variable(draft, setting["name"], setting["value"])
        elif (found := _LINE.fullmatch(text)) and is_allowed(found["name"]) and _assigns(text, found["value"]):
            _set_variable(draft, found["name"], found["value"])
            page.take(number)
        else:
            for inline in _INLINE.finditer(text):
                if is_allowed(inline["name"]):
                    _set_variable(draft, inline["name"], inline["value"].rstrip(".,)"))


def is_allowed(name: str) -> bool:
    """Is this a variable that rules may see?"""
    return (name in _NAMES or name.startswith(_FAMILIES)) and not _SECRET.search(name)


def _assigns(text: str, value: str) -> bool:
    """``NAME=value``, ``NAME: value`` or ``NAME value``, and nothing behind it: a command may follow its variables."""
    if " " in value:
        return value[0] in "'\"" and value[-1] == value[0]
    return bool(value) or "=" in text


def _set_variable(draft: Draft, name: str, value: str) -> None:
    value = value.strip().strip("'\"")
    draft.format(FORMAT)
    draft.variable(name, value)
    if name in ("NNODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES") and value.isdigit() and len(value) < 6:
        draft.claim("network.nodes", int(value), LISTED)
