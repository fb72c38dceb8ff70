"""What a person tried and how it went, sentence by sentence: with a cure that works the cause is half known, and one
that does not is no advice any more.

A sentence's clauses are looked at around each measure: its own clause first, then those up to the next measure, then
the one before. "Nothing helped" speaks of all that was told before it without an outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.facts.model import HELPS, IN_VAIN
from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.facts.pasted.slowness import beginning
from envdoctor.values.pattern import Pattern

_VALUE = r"['\"`]?\s?(?:=|:|\bto\b|\bas\b)\s?['\"`]?(?P<value>[\w.:/-]{1,40})"
_SETTING = Pattern(
    rf"(?<![\w-])(?P<name>[A-Z][A-Z0-9]{{1,20}}_[A-Z0-9_]{{2,40}}){_VALUE}|(?P<bare>\bNCCL_\w{{2,30}}_DISABLE)\b"
)
"""A variable and its value; of NCCL's switches the name alone says that they are on."""


def _row(name: str, said: str) -> tuple[str, Pattern]:
    return name, Pattern(said, re.IGNORECASE)


_CHANGED = r"(?:lower|smaller|reduc\w{1,3}|decreas\w{1,3}|chang\w{1,3}|different|adjust\w{0,3}|tun(?:e|ed|ing)|other)"
_OFF = r"(?:without|no|disabl\w{1,3}|turn\w{0,3} off|switch\w{0,3} off|remov\w{1,3})"
_MEASURES = (
    _row(
        "float32",
        r"\bfp32\b|\bfloat32\b|\b32-true\b|\bfull precision\b|\bprecision\b\W{1,4}(?:to\W{1,3})?32\b"
        rf"|\b{_OFF} (?:the )?(?:amp|autocast|fp16|mixed[ -]precision|half)\b|--no[-_]half\b|\bfp16\W{{1,3}}false\b"
        r"|\b(?:use_)?amp\W{1,3}false\b|\bin double\b|\bfloat64\b",
    ),
    _row("bf16", r"\bbf16\b|\bbfloat16\b"),
    _row("fp16", r"\bfp16\b|\bfloat16\b|\b16-mixed\b|\bhalf precision\b|\bamp\b|\bautocast\b|\bmixed[ -]precision\b"),
    _row("gloo", r"\bgloo\b"),
    _row(
        "one GPU",
        r"\b(?:(?:with|on|using|use|to|for|even|is) (?:only |just )?(?:one|1|a)"
        r"|single)[ -](?:single )?(?:gpu|card)\b|--gpus[ =]['\"]?[01],?['\"`]?(?=[\s,)]|$)"
        r"|\b(?:num_processes|nproc_per_node|devices)\W{1,3}1\b|单卡",
    ),
    _row(
        "the processor",
        r"\b(?:on|with|in|using|to|only|by|the|from) (?:the |my )?['\"`]?cpu\b|['\"`]cpu['\"`]"
        r"|\bcpu works\b",
    ),
    _row(
        "num_workers=0",
        r"\bnum_?workers?\b['\"`]?(?: ?[=:] ?| to | as | )(?:0|zero)\b|\b(?:0|zero|no) workers\b"
        r"|workers\W{1,3}(?:to )?(?:0|zero)\b",
    ),
    _row("num_proc=1", r"\bnum_proc\b['\"`]?(?: ?[=:] ?| to | as | )1\b"),
    _row(
        "a smaller learning rate",
        rf"\b{_CHANGED} (?:the |my )?(?:\w{{1,10}} )?(?:learning[ -]rates?|lr"
        rf"|hyper-?parameters?)\b"
        rf"|\b(?:{_CHANGED}|with|set|tried) (?:a |the )?--b?lr\b|\blearning rate to\b",
    ),
    _row(
        "gradient clipping",
        r"\b(?:grad(?:ient)?s?[-_ ]?clip\w{0,5}|clip\w{0,4}[-_ ](?:the )?grad\w{0,6}"
        r"|max_grad_norm)\b",
    ),
    _row(
        "a smaller batch",
        r"\b(?:lower|smaller|reduc\w{1,3}|decreas\w{1,3}) (?:the "
        r"|my )?(?:\w{1,10} )?batch(?:[ _-]?size)?\b"
        r"|\bbatch[ _-]?size\W{1,3}(?:to |of )?(?:1|one)\b(?![\d.])",
    ),
    _row(
        "another installation",
        r"\bre-?install\w{0,4}\b|\b(?:fresh|clean|new) (?:install\w{0,6}|environment|env"
        r"|venv)\b",
    ),
    _row(
        "other releases",
        r"\b(?:chang\w{1,3}|different|other|several|various|multiple|older|newer|downgrad\w{1,3}"
        r"|upgrad\w{1,3})"
        r" (?:the )?(?:\w{1,16} ){0,3}versions?\b|\bdowngrad\w{1,3}\b|\bupgrad(?:ed|ing|e)\b",
    ),
)
"""What is tried most; the first that matches at a place has it (no amp is float32, not fp16)."""

_NO = (
    r"(?:(?:did|does|do|is|was|are|has|have|had|could|would|will|can|seems?)(?: ?n['’o]?t\b| not\b)|\bcan(?:not|'t)\b"
    r"|\bwon't\b|\bnot\b|\bnever\b|\bneither\b|\bnone of\b|\bnothing\b|\bdoesnt\b|\bdidnt\b)"
)
_FAILS = Pattern(
    rf"{_NO}(?: \S{{1,14}}){{0,5}} (?:help|work|fix|solve|resolve|chang|affect|effective|improv|matter|success"
    rf"|any effect"
    r"|difference|run\b|train\b|go away)"
    r"|\bstill (?!works?\b|fine\b)\S|\b(?:no|without|zero) (?:any )?(?:luck|effect|success|difference|change|avail"
    r"|improvement|help)\b|\bin vain\b|\b(?:the )?same (?:error|issue|problem|result|thing|behaviou?r|hang)"
    r"|\bsame nan\b|\b(?:chang|do|help|fix)\w{1,3} nothing\b|\buseless\b|\bunavoidable\b|\bpersists?\b"
    r"|\bkeeps? (?:hang|fail|crash|happen)\w{0,3}"
    r"|\b(?:also|too|even)\b.{0,20}\b(?:hangs?|fails?|crash(?:es)?|freezes?)\b|\b(?:hangs?|fails?"
    r"|crash(?:es)?) (?:too|also|as well)\b"
    r"|没用|无效|还是(?:不行|一样|报错|卡)|不起作用|仍(?:然|旧)",
    re.IGNORECASE,
)
_BREAKS = Pattern(
    r"\b(?:hangs?|hung|stuck|freezes?|fails?|failed|crash(?:es|ed)?|(?:is|are|get|gets|got|gives?|becomes?"
    r"|goes)\W{1,6}(?:\w{1,6}\W{1,6})?"
    r"nan|nans?\b(?!s? (?:free|check))|oom|out of memory|wrong|incorrect|garbage|black|diverges?)\b",
    re.IGNORECASE,
)
"""Said of what is compared: it goes wrong with this one."""
_WORKS = Pattern(
    r"\b(?:works|worked|working|(?:makes?|made|gets?|got|to) (?:it |this |everything |them )?work|they work"
    r"|runs? (?:fine|well|ok|normally|correctly|through|without)|ran (?:fine|well|through)"
    r"|trains? (?:fine|well|ok|normally|correctly|without)|succeed(?:s|ed)"
    r"|(?:it|this|everything|training|all) (?:then |now )?"
    r"(?:runs|trains|goes|starts|passes|completes|finishes)(?=\W{0,3}$)"
    r"|(?:is|was) (?:\w{4,11} )?(?:fine|ok|correct|right|normal|gone)"
    r"|are (?:fine|correct|right"
    r"|normal)|fine|correct(?:ly)?|normal(?:ly)?|no (?:more )?(?:nans?|errors?|hangs?|problems?|issues?|oom|such)"
    r"|without (?:a |any )?"
    r"(?:problem|issue|error|nan|hang)s?|solve[sd]?|fixe[sd]|resolve[sd]|help(?:s|ed)|goes away|went away"
    r"|disappear(?:s|ed)"
    r"|(?:can|could|able to) (?:get|train|run|see|finish)|avoids?|workaround|none)\b|正常|解决了"
    r"|可以(?:运行|训练|跑|用)|没(?:有)?问题",
    re.IGNORECASE,
)
_CURES = Pattern(
    r"\b(?:solve[sd]?|fixe[sd]|resolve[sd]|cure[sd]|avoid(?:s|ed)|prevent(?:s|ed)|disappear(?:s|ed)|goes away"
    r"|went away|got rid of|gets? rid of"
    r"|(?:is|are|was) (?:\w{4,11} )?gone|no (?:more|longer))\b",
    re.IGNORECASE,
)
"""Said of the fault itself."""
_SUPPOSED = Pattern(
    r"^(?:is|are|does|do|did|can|could|should|would|will|has|have|why|how|what|when|which|any)\b.*\?\s{0,4}$|\b(?:would"
    r"|should|could (?:it|this|that)|might|maybe|perhaps|hope|suggest\w{0,3}|recommend\w{0,3}"
    r"|supposed|according to"
    r"|as far as I know|want(?:ed)? to|how to|how do|guess\w{0,3}|wonder\w{0,3}|expect\w{0,3}|except)\b",
    re.IGNORECASE,
)
"""A question, a plan or somebody's advice: nothing was seen."""
_FULL = Pattern(
    r"\b(?:oom|out of (?:\w{1,8} )?(?:memory|v?ram)|(?:not enough|insufficient) (?:\w{1,8} )?(?:memory|v?ram))\b",
    re.IGNORECASE,
)
_OF_THE_LAST = Pattern(r"^(?:it|this|that|but|still|no|then|now|and|same|the same|unfortunately)\b", re.IGNORECASE)
"""A short sentence about what the one before it told."""
_DONE = Pattern(r"\b(?:tried|confirmed|found(?: out)?|noticed|verified)\b", re.IGNORECASE)
_ALL_IN_VAIN = Pattern(
    r"\b(?:nothing|none)\b.{0,40}\b(?:help|work|effective|chang|success|fix|solve|effect)|\bno luck\b|\bto no avail\b"
    r"|\bwithout (?:any )?(?:success|luck)\b|\b(?:still|but) (?:not|no|the same|doesn't|does not)\b.{0,20}(?:work"
    r"|help|luck|error|result|$)"
    r"|\b(?:the )?same (?:error|issue|problem|result)\b|都(?:没用|不行|无效)",
    re.IGNORECASE,
)
_LIST = Pattern(
    r"\b(?:things?|what|steps?|fixes|solutions?)\b.{0,20}\b(?:tried|attempted|done)\b.{0,30}:?\W{0,8}$|^\W{0,8}(?:I(?:'ve"
    r"| have)? )?(?:already )?"
    r"tried(?: so far)?\W{0,4}:\W{0,8}$|\bwhat (?:did|does)(?:n't| not) (?:help|work)\b",
    re.IGNORECASE,
)
"""What follows is a list of what was done before the person asked."""
_LOG = Pattern(
    r"\bWarning\b|^\[|\bINFO\b|\bW\d{4}\b|^File |^\s*#SBATCH|\d{4}-\d\d-\d\d[ T]\d|^\S{1,40}Error\b|\bat 0x"
    r"|^frame #|^\$ |^>>> "
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s|(?<=[。！？])")
_CLAUSE_END = re.compile(
    r"[,;，；]\s?|\s(?=(?:but|while|whereas|however|although|and (?:it|then|the|with|on|in)|then)\b)", re.IGNORECASE
)
_MANY = 400
"""Sentences of a text; whoever tells more than that pasted a log."""


def read(page: Page, draft: Draft) -> None:
    """What helps and what was tried in vain, each by its name or as ``NAME=value``."""
    helps: dict[str, None] = {}
    vain: dict[str, None] = {}
    for name, works in _measures_with_outcome(beginning(page).split("\n")):
        (helps if works else vain)[name] = None
    if sure := [name for name in helps if name not in vain]:
        draft.remark(HELPS, "; ".join(f"works with {name}" for name in sure))
    if sure := [name for name in vain if name not in helps]:
        draft.remark(IN_VAIN, "; ".join(f"no better with {name}" for name in sure))


_KEYWORD = Pattern(r"(?P<call>\w\((?:[^()]{0,200}[, ])?)[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{2,40} ?= ?[^(),]{1,80}(?=[,)])")
"""An argument of a call that is named like a variable of the environment, which it does not set."""


def without_arguments(text: str) -> str:
    """The text without what is given to a call by the name of a variable: nothing was tried by that."""
    return _KEYWORD.sub(lambda found: found["call"], text)


def outcome_lines(draft: Draft) -> str:
    """The outcomes as lines, for those who look for words in a text."""
    return "\n".join(filter(None, (draft.remarks.get(HELPS, ""), draft.remarks.get(IN_VAIN, "")))).replace("; ", "\n")


def _measures_with_outcome(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each measure with its outcome, wherever that stands: beside it, in the next sentence, above or below a list."""
    untold: list[str] = []  # of measures whose outcome may come later
    last: list[str] = []  # those of the sentence before
    failed = False  # what was tried so far, so that options in the next lines are more of it
    telling = (line for place, line in enumerate(lines) if place == 0 or line.startswith("#") or "Error" in line)
    of_memory = any(map(_FULL.search, telling))
    for listed, sentence in _sentences(lines):
        if not of_memory and _FULL.search(sentence):
            continue  # it did not fit, which says nothing of the trouble
        found = list(_outcomes(sentence))
        supposed = _SUPPOSED.search(sentence) is not None
        if last and not found and len(sentence.split()) < 10 and _OF_THE_LAST.search(sentence) and not supposed:
            found = [(name, _verdict(sentence)) for name in last]
        failed = failed and sentence.startswith("-")
        for name, works in found:
            if works is not None or listed or failed:
                yield name, bool(works)
        failed |= _DONE.search(sentence) is not None and any(works is False for _, works in found)
        last = [name for name, works in found if works is None]
        untold += last
        if _ALL_IN_VAIN.search(sentence) and not supposed and not any(works for _, works in found):
            yield from ((name, False) for name in untold[-12:])
            untold = []


def _sentences(lines: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """A person's sentences, those that were wrapped made whole, and whether each stands in a list of what was tried."""
    whole: list[str] = []
    for line in lines:
        text = line.strip()
        if whole and text[:1].islower() and len(whole[-1]) > 40 and whole[-1][-1:] not in ".!?:":
            whole[-1] = f"{whole[-1]} {text}"[:1_200]
        else:
            whole.append(text)
    listed, count = False, 0
    for text in whole:
        if not text or _LOG.search(text) or len(text) >= 1_200:
            continue
        if _LIST.search(text):
            listed = True
        elif text.startswith("#") or text.endswith(":"):
            listed = False
        for sentence in _SENTENCE_END.split(without_arguments(text)):
            count += 1
            if count > _MANY:
                return
            yield listed, sentence


def _outcomes(sentence: str) -> Iterator[tuple[str, bool | None]]:
    """Each measure that the sentence names: whether things went well with it, None where it does not tell."""
    supposed = _SUPPOSED.search(sentence) is not None and not (_DONE.search(sentence) and "?" not in sentence)
    clauses = [part for part in _CLAUSE_END.split(sentence) if part and part.strip()]
    named = [list(_measures(part)) for part in clauses]
    for place, measures in enumerate(named):
        until = next((later for later in range(place + 1, len(clauses)) if named[later]), len(clauses))
        near = [
            clauses[place],
            *clauses[place + 1 : until],
            *(clauses[place - 1 : place] if not any(named[:place]) else []),
        ]
        verdict = None if supposed else next((v for part in near if (v := _verdict(part)) is not None), None)
        for name, without in measures:
            if without:
                yield from [(name, True)] if verdict is False else []
            else:
                yield name, verdict


def _verdict(clause: str) -> bool | None:
    if clause.rstrip().endswith("?"):
        return None
    if _FAILS.search(clause):
        return False
    if _CURES.search(clause):
        return True
    broken = _BREAKS.search(clause)
    if _WORKS.search(clause) and (broken is None or re.search(rf"\bno (?:more )?{re.escape(broken[0])}", clause)):
        return True
    return False if broken else None


def _measures(clause: str) -> Iterator[tuple[str, bool]]:
    """The names of what the clause speaks of, and whether it says that this was *not* in force."""
    for found in _SETTING.finditer(clause):
        value = (found["value"] or "1").rstrip(".:/-")
        yield f"{found['name'] or found['bare']}={value}", _absent(clause, found.start())
    taken: list[tuple[int, int]] = []
    for name, pattern in _MEASURES:
        found_ = pattern.search(clause)
        if found_ is None or any(found_.start() < end and start < found_.end() for start, end in taken):
            continue
        taken.append(found_.span())
        if not _is_replaced(clause, found_):
            yield name, _absent(clause, found_.start())


def _absent(clause: str, start: int) -> bool:
    return (
        re.search(r"\b(?:without|unless|not) (?:\S{1,12} ){0,2}$", clause[max(0, start - 40) : start], re.IGNORECASE)
        is not None
    )


def _is_replaced(clause: str, found: re.Match[str]) -> bool:
    """Does the clause say that something else was put in its place? What came of that is told of the other."""
    before, after = clause[max(0, found.start() - 30) : found.start()], clause[found.end() : found.end() + 30]
    return _INSTEAD_OF.search(before) is not None or _WAS_THERE.match(after) is not None


_INSTEAD_OF = re.compile(
    r"(?i)\b(?:instead of|in place of|rather than|(?:replac|exchang|swapp)\w{1,3}|from|where)\W{1,3}$"
)
_WAS_THERE = re.compile(
    r"(?i)\W{1,3}(?:(?:was|were|had been) (?:there|before|replaced|exchanged|swapped)\b|stood\b"
    r"|(?:in)?to\b(?=\W{1,3}(?!no\b)[\w\"'`])|(?:->|=>|→)\s?(?=[\w\"'`]))"
)
