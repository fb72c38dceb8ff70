"""A person's complaint that a run stands still, eats memory or gives nonsense, and what stands beside it."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.facts.pasted.slowness import beginning
from envdoctor.knowledge.slowness import situations_of
from envdoctor.values.pattern import Pattern

_OF = {
    "stall": Pattern(
        r"\b(?<!am )(?<!'m )(?:stuck(?:ed|s|ing)?|hangs?|hung|hanging|deadlock\w{0,4}|freez(?:es|ed)|froze)\b"
        r"(?! (?:with|on) this (?:error|issue))"
        r"|\bnothing happens|\bno (?:response|progress)\b|never (?:starts|finishes|ends|returns|stops)"
        r"|(?:just|suddenly) stops\b"
        r"|stops? (?:responding|making progress|without (?:any )?error|with no error)|卡住|卡死|一直不动",
        re.IGNORECASE,
    ),
    "memory": Pattern(
        r"\bram (?:issue|problem|crash\w{0,3}|consumption)|\bram\b.{0,20}\bcrash|\bout of (?:system )?ram\b|\bmax ram\b"
        r"|memory[- ]leak\w{0,3}|leak(?:s|ing)? (?:gpu |cpu )?memory|内存泄[漏露]|显存泄[漏露]"
        r"|\b(?:memory|v?ram)\b.{0,60}"
        r"\b(?:grow(?:s|ing)?|increas(?:es|ing|ed)|climb(?:s|ing)|ris(?:es|ing)|go(?:es|ing) up)\b"
        r"|(?:grow(?:s|ing)|increas(?:es|ing)) (?:\w{1,20} ){0,2}(?:memory|v?ram)\b"
        r"|\bmemory\b.{0,40}\b(?:not|never|\w{2,5}n't)(?: be(?:ing)?)? (?:released?|freed)",
        re.IGNORECASE,
    ),
    "nonsense": Pattern(
        r"\bblack (?:images?|pictures?|squares?|frames?|videos?|outputs?)\b|全黑|黑图|乱码|!{8,}"
        r"|\b(?:images?|outputs?|frames?|videos?|pictures?|results?)\b.{0,40}"
        r"\b(?:black|nois[ey]|garbled|gibberish|garbage|nonsense)\b"
        r"|\brepeat(?:s|ed|ing)?\b.{0,40}"
        r"(?:all the time|itself|over and over|endless|forever|same (?:word|token|sentence|text))"
        r"|\bkeeps repeating|(?:endless|infinite) (?:loop of|repetition)"
        r"|\bgibberish\b|\bgarbage (?:outputs?|text|characters|results?)"
        r"|\bloss(?:es)?\b.{0,30}\b(?:not|\w{2,5}n't|never|hardly|doesnt|stops?) (?:be )?"
        r"(?:decreas|converg|drop|fall|go(?:ing|es)? down|chang|improv)\w{0,4}"
        r"|\bloss(?:es)? (?:stays?|remains?|is stuck|keeps?|stuck)\b|\b(?:not|\w{2,5}n't) converge\b"
        r"|\b(?:wrong|different|incorrect|inconsistent) (?:\w{1,20} )?(?:results?|outputs?|predictions?|values?) "
        r"(?:on|with|between|when|from|in)\b"
        r"|\b(?:results?|outputs?|predictions?)\b.{0,30}"
        r"\b(?:differ|inconsistent|not (?:stable|consistent|deterministic))\b"
        r"|\bresults? changes?\b|got different results"
        r"|\bdifferent (?:\w{1,20} )?(?:results?|outputs?) (?:every|each|at)\b"
        r"|结果.{0,12}(?:不一致|不同|差异)|\bnan\b.{0,20}(?:loss|output|after)"
        r"|(?:loss|outputs?|gradients?|caus\w{2,3}|becomes?|gets?) (?:\w{1,12} ){0,2}nan\b",
        re.IGNORECASE,
    ),
}
"""A person's own words for each."""
_SAID = Pattern(
    r"Warning|avoid deadlock|may hang|might hang|can (?:hang|deadlock)|\bW\d{4}|^File |\d{4}-\d\d-\d\d|watchdog"
    r"|^\[(?!(?:bug|issue|question|help|usage|performance)\b)",
    re.IGNORECASE,
)
"""A program's line, which tells of itself."""


def read(page: Page, draft: Draft) -> None:
    """What the report complains of, and what it tells beside it."""
    told = beginning(page)
    lines = [line.strip() for line in told.split("\n")]
    for complaint, words in _OF.items():
        said = next((text for text in lines if len(text) < 600 and words.search(text) and not _SAID.search(text)), None)
        if said is not None:
            draft.remark(f"complaint of {complaint}", said)
            draft.remark(f"{complaint} with", "; ".join(situations_of(complaint, told)))
