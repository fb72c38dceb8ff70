"""What a text tells to have been tried in vain is no advice any more: it is left out, and said to be so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from envdoctor.facts.model import HELPS, IN_VAIN, TRIED, Facts
from envdoctor.knowledge.messages import measures_told
from envdoctor.rules.finding import Finding
from envdoctor.values.pattern import Pattern

_SET = Pattern(r"^(?:export|set|setx) (?P<name>[A-Z]\w{3,60})[= ](?P<value>\S{1,80})$")
_INSTALLS = Pattern(r"\bpip3? install(?P<what>(?: [^\s;|&`,]{1,80}){1,12})")
_FLAG = Pattern(
    r"(?i)\bwith (?:that|this|the) (?:flag|option|variable|setting|fallback)\b"
    r"|\b(?:flag|variable|fallback) (?:is |was )?(?:set|enabled|on)\b",
)
"""Of a variable that the program's own message asked for."""
_LOOKS = ("NCCL_DEBUG", "CUDA_LAUNCH_BLOCKING", "TORCH_DISTRIBUTED_DEBUG", "TORCH_CPP_LOG_LEVEL")
"""Variables that only make a run tell more of itself: they mend nothing."""
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z\"])")
_VARIABLE = Pattern(r"\b[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{2,40}\b")
_ADVICE = {
    "a smaller learning rate": Pattern(r"\blearning rate\b"),
    "gradient clipping": Pattern(r"\bgradient clipping\b|\bclip gradients\b"),
    "a smaller batch": Pattern(r"\bsmaller batch"),
    "float32": Pattern(r"\bfloat32\b"),
    "bf16": Pattern(r"\bbf16\b"),
    "num_workers=0": Pattern(r"\bnum_workers=0\b"),
    "num_proc=1": Pattern(r"\bnum_proc=1\b"),
}
"""Measures in words, and those of the advice."""


def without_tried(finding: Finding, facts: Facts) -> Finding:
    """The finding without those of its commands and sentences that the text tells to have been tried, in vain."""
    tried = facts.remarks.get(TRIED, "")
    vain, helps = measures_told(facts, IN_VAIN), measures_told(facts, HELPS)
    offered = (*finding.remedy.commands, *finding.remedy.instead)
    done = [command for command in offered if _is_done(command, tried, vain, helps, finding)]
    shown = [command for command in offered if command not in done and _is_shown(command, facts)]
    measures = [name for name, words in _ADVICE.items() if name in vain and words.search(finding.remedy.text)]
    if not (done or shown or measures):
        return finding
    text = finding.remedy.text
    if done:
        text = _without_sentences(text, done)
        text += f" By the text this seems to have been done already, and not to have helped alone: {', '.join(done)}."
    if measures:
        vainly = " and ".join(measures)
        text += f" By the text {vainly} seems to have been tried in vain: then what else is named here comes first."
    if shown:
        text = f"{text} The text has the log of {', '.join(map(_setting, shown))} already: read its last lines."
    left = tuple(command for command in finding.remedy.commands if command not in (*done, *shown))
    others = tuple(command for command in finding.remedy.instead if command not in (*done, *shown))
    if not left:
        left, others = others, ()
    return replace(finding, remedy=replace(finding.remedy, text=text, commands=left, instead=others))


def _is_done(command: str, tried: str, vain: frozenset[str], helps: frozenset[str], finding: Finding) -> bool:
    if found := _SET.search(command):
        setting = f"{found['name']}={found['value']}"
        if setting in helps or found["name"] in _LOOKS:
            return False
        named = re.search(rf"\b{found['name']}\b[= ]{{1,3}}{re.escape(found['value'])}(?!\w)", tried)
        return (
            setting in vain
            or named is not None
            or (found["name"] in finding.message and _FLAG.search(tried) is not None)
        )
    wanted = _INSTALLS.search(command)
    return wanted is not None and any(_parts(wanted) == _parts(found) for found in _INSTALLS.finditer(tried))


def _is_shown(command: str, facts: Facts) -> bool:
    """Is it NCCL's log that is asked for, and stands in the text?"""
    return "NCCL_DEBUG=" in command and any("NCCL INFO" in text for text in (*facts.messages, *facts.remarks.values()))


def _setting(command: str) -> str:
    return command.partition(" ")[2]


def _without_sentences(text: str, done: list[str]) -> str:
    """The advice without the sentences that say nothing but what was done."""
    names = {found["name"] for command in done if (found := _SET.search(command))}
    kept = [part for part in _SENTENCE_END.split(text) if not (names and _only_of(part, names))]
    if not kept:
        return text
    kept[0] = re.sub(r"^(?:Else|Then|Or),? ", "", kept[0])
    return " ".join((f"{kept[0][:1].upper()}{kept[0][1:]}", *kept[1:]))


def _only_of(sentence: str, names: set[str]) -> bool:
    variables = {*_variables(sentence)}
    return bool(variables) and variables <= names and ";" not in sentence


def _variables(sentence: str) -> Iterator[str]:
    return (found[0] for found in _VARIABLE.finditer(sentence))


def _parts(found: re.Match[str]) -> frozenset[str]:
    return frozenset(part.strip("'\"") for part in found["what"].split())
