"""Code that prints something of torch, and what it printed, in lines of their own: ``python -c "..."``, or print after
print, with the answers below."""

from __future__ import annotations

import re

from envdoctor.values.pattern import Pattern

_CALL = r"(?:[^()\"']|\([^()]{0,40}\)|\"[^\"]{0,80}\"|'[^']{0,80}'){1,160}?"
_PRINT = Pattern(rf"\bprint ?\((?P<what>{_CALL})\)")
_COMMAND = Pattern(r"\W{0,3}\s*(?:\S{0,120}[/\\])?python\S{0,8} -c\b.{0,400}print ?\(.{1,400}")
_PLAIN = Pattern(rf"\s*print ?\({_CALL}\)[\s;]*")
_LABEL = re.compile(r"^\s*[furFUR]?(?P<quote>['\"])(?:(?!(?P=quote)).){0,80}(?P=quote)\s*,\s*")
_BETWEEN = Pattern(
    r"\s*(?:`{3,}\w{0,10}|(?:[\w']{1,12} ){0,4}(?:gives?|prints?|returns?|shows?|output|result|says)\b.{0,12}"
    r"|\W{0,3})\s*"
)
_SKIPPED = 4
"""Lines between the code and its answers: blank ones, a fence, "gives"."""
_FORMS = {
    "torch.__version__": r"\d{1,2}\.\d{1,2}\S{0,40}",
    "torch.version.cuda": r"None|\d{1,2}\.\d{1,2}",
    "torch.version.hip": r"None|\d{1,2}\.\d{1,2}\S{0,40}",
    "torch.cuda.is_available()": r"True|False",
    "torch.cuda.device_count()": r"\d{1,3}",
    "torch.backends.cudnn.version()": r"None|\d{3,6}",
    "torch.cuda.get_device_name(0)": r"[A-Z][\w /-]{2,60}",
    "torch.cuda.get_device_name()": r"[A-Z][\w /-]{2,60}",
    "torch.cuda.get_arch_list()": r"\[.{0,400}\]",
    "torch.cuda.get_device_capability(0)": r"\(\d{1,2}, ?\d{1,2}\)",
    "torch.cuda.get_device_capability()": r"\(\d{1,2}, ?\d{1,2}\)",
}
"""What is asked most, and the form of its answer: whatever else a line is, it is not that."""


def with_printed(lines: list[str]) -> list[str]:
    """The lines, where an answer stands with what it answers: "torch.version.cuda: 12.1"."""
    told = list(lines)
    at = 0
    while at < len(told):
        asked, after = _asked(told, at)
        if asked:
            _answer(told, asked, after)
        at = after if asked else at + 1
    return told


def _asked(lines: list[str], at: int) -> tuple[list[str], int]:
    """The expressions that are printed from this line on, and the line after them."""
    line = lines[at]
    if len(line) < 800 and _COMMAND.fullmatch(line):
        return [_expression(found["what"]) for found in _PRINT.finditer(line)], at + 1
    asked = []
    while at < len(lines) and len(lines[at]) < 200 and _PLAIN.fullmatch(lines[at]):
        asked += [_expression(found["what"]) for found in _PRINT.finditer(lines[at])]
        at += 1
    return asked, at


def _expression(what: str) -> str:
    return _LABEL.sub("", what).strip()


def _answer(lines: list[str], asked: list[str], at: int) -> None:
    """Put each expression before its answer, as long as the answers are such as it gives."""
    for _ in range(_SKIPPED):
        if at < len(lines) and _BETWEEN.fullmatch(lines[at]) and not _is_answer(asked[0], lines[at]):
            at += 1
    for expression in asked:
        while at < len(lines) and not lines[at].strip():
            at += 1
        if at >= len(lines) or not _is_answer(expression, lines[at]):
            return
        if expression in _FORMS:
            lines[at] = f"{expression}: {_value(expression, lines[at])}"
        at += 1


def _is_answer(expression: str, line: str) -> bool:
    return bool(_value(expression, line)) if expression in _FORMS else 0 < len(line.strip()) < 120


def _value(expression: str, line: str) -> str:
    """The answer at the end of the line, behind a label of its own."""
    found = re.search(rf"(?:^|[\s:=])(?P<value>{_FORMS[expression]})\s*$", line) if len(line) < 500 else None
    return found["value"] if found else ""
