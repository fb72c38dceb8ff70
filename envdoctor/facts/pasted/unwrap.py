"""Undo what the way of pasting did to a report: Markdown, quotes, HTML, colours, prompts, lost line breaks.

Readers then see the lines as the tool printed them. Every step is linear in the length of the text.
"""

from __future__ import annotations

import html
import re

from envdoctor.facts.pasted.printed import with_printed
from envdoctor.values.pattern import Pattern

LINE = 4_000
"""Longer lines are cut before any expression sees them: no tool that is read here prints longer ones."""

_ANSI = Pattern(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|[@-Z\\-_])|\x9b[0-?]{0,40}[@-~]"
)
_BARE_COLOUR = Pattern(r"\[\d{1,3}(?:;\d{1,3}){0,4}m")  # the escape byte is often lost on the way
_CONTROL = Pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufeff\ufff9-\ufffd]")
_SPACE = Pattern(r"[\u00a0\u2000-\u200a\u3000]")
_TAG = Pattern(
    r"</?(?:details|summary|pre|code|p|div|span|b|i|em|strong|br|hr|ul|ol|li|table|tbody|thead|tr|td|th|h[1-6]|a|font"
    r"|blockquote|kbd|samp|tt|sub|sup|small|img)(?:\s[^<>\n]{0,400})?/?>",
    re.IGNORECASE,
)
_BREAK = Pattern(r"<br\s*/?>|</(?:li|tr|p|div|summary|h[1-6])>", re.IGNORECASE)
_FENCE = Pattern(r"\s*(?:`{3,}|~{3,})\s*(?:[\w+-]{1,40}\s*)?(?:\{[^{}\n]{0,80}\}\s*)?")
_QUOTE = Pattern(r"(?:\s{0,200}>(?![>=]))+\s?")
_NESTED_QUOTE = Pattern(r"^\s*(?:>{2}|>{4,})(?!>)\s?(?=[-*\w|+`\[(])")  # three are Python's prompt
_BULLET = Pattern(r"(\s*)(?:[-*+•·‣◦▪–]|\d{1,2}[.)]|\[[ xX]\])\s+(?=\S)")
_BROKEN = Pattern(r"\bundefined[ \t]{0,8}\n[ \t>]{0,8}symbol\b")  # the words that a narrow column breaks most
_BOLD = Pattern(
    r"\*\*(?=\S)(?P<bold>[^*\n]{1,200}?)(?<=\S)\*\*"
    r"|(?<![\w/.\\'\"=-])__(?=\S)(?P<name>[^*\n]{1,200}?)(?<=\S)__(?![\w/.])"
)
_HEADING = Pattern(r"\s{0,3}#{1,6}\s+(?=\S)")
_PREFIX = Pattern(
    r"\s*(?:\[(?:rank|default)\d{1,5}\]:\s?|\((?:\w{1,40}\s+)?(?:\w+\s)?pid=\d{1,9}(?:,[^()\n]{0,80})?\)\s?)+"
)
_ALIAS = Pattern(r"import [\w.]{1,100} as \w{1,40}")
_PROMPT = Pattern(r"\s*(?:>>>\s+|In\s?\[\d{0,5}\]:\s*)(?P<code>\S.*)")
_BARE = Pattern(r"\s*(?P<code>print\(torch[\w.]*(?:\([^()]{0,40}\))?\)|torch\.[\w.]+(?:\([^()]{0,40}\))?)\s*")
_VALUE = Pattern(r"['\"]?[\w.+-]{1,40}['\"]?|\(\d{1,2}, ?\d{1,2}\)|\[[\w', ]{0,400}\]")
_ANSWER = Pattern(r"\s*(?:Out\s?\[\d{0,5}\]:\s*)?(?P<value>\S.*)")


def cut_lines(text: str) -> str:
    """The text with line breaks as they were meant, and no line longer than LINE characters; the rest of it is lost."""
    text = _without_comments(text.replace("\r\n", "\n").replace("\r", "\n"))
    if text.count("\\n") > max(8, 4 * text.count("\n")):  # a JSON string of a report
        text = text.replace("\\n", "\n").replace("\\t", "\t")
    if "<" in text:
        text = _BREAK.sub("\n", text)
    text = _BROKEN.sub("undefined symbol", text)
    return "\n".join(line[:LINE] for line in text.split("\n"))


def unwrap(text: str) -> list[str]:
    """The lines of a text (after `cut_lines`) without their wrapping; a flattened report gets its breaks back."""
    text = _CONTROL.sub("", _BARE_COLOUR.sub("", _ANSI.sub("", text)))
    text = _SPACE.sub(" ", text)
    text = html.unescape(_TAG.sub("", text))
    lines = []
    for line in _without_dicts(_CONTROL.sub("", text)).split("\n"):
        lines += _split_flat_line(_line(line[:LINE]))
    return _join_answers(with_printed(lines))


def _without_comments(text: str) -> str:
    """The text without ``<!-- ... -->``; a comment that never ends is left alone."""
    kept, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[position:start])
        position = end + 3
    return "".join([*kept, text[position:]])


_DICT = Pattern(r"\s{0,40}(?:env(?:ironment)?(?: info)?: ?)?\{'sys\.platform': '.*")
_ITEM = Pattern(r"'(?P<key>[^'\n]{1,80})': (?:'(?P<text>[^']{0,3900})'?|(?P<plain>[^,'{}\n]{1,80}))")


def _without_dicts(text: str) -> str:
    """What mmcv's collect_env returns, printed as it is: one line, of which each entry becomes one."""
    if "{'sys.platform': " not in text:
        return text
    return "\n".join(_entries(line) if _DICT.match(line) else line for line in text.split("\n"))


def _entries(line: str) -> str:
    items = (f"{one['key']}: {one['text'] or one['plain'] or ''}" for one in _ITEM.finditer(line[: 4 * LINE]))
    return "\n".join(items).replace("\\n", "\n")


def _line(line: str) -> str:
    if _FENCE.fullmatch(line):
        return ""
    line = _QUOTE.sub("", line, count=1) if _QUOTE.match(line) else _NESTED_QUOTE.sub("", line, count=1)
    line = line[found.end() :] if (found := _PREFIX.match(line)) else line
    if _FENCE.fullmatch(line):
        return ""
    while found := _BULLET.match(line):
        line = found[1] + line[found.end() :]
    line = _HEADING.sub("", line, count=1) if _HEADING.match(line) else line
    if "**" in line or "__" in line:
        line = _BOLD.sub(_plain, line)
    return line.replace("`", "").expandtabs(8).rstrip()


def _plain(found: re.Match[str]) -> str:
    """Bold text without its marks; ``__version__`` is a name of Python."""
    if found["bold"]:
        return found["bold"]
    return found[0] if re.fullmatch(r"\w+", found["name"]) else found["name"]


_KEYS = (
    "Is debug build:", "CUDA used to build PyTorch:", "ROCM used to build PyTorch:", "OS:", "GCC version:",
    "Clang version:", "CMake version:", "Libc version:", "Python version:", "Python platform:", "Is CUDA available:",
    "CUDA runtime version:", "CUDA_MODULE_LOADING set to:", "GPU models and configuration:", "Nvidia driver version:",
    "cuDNN version:", "HIP runtime version:", "MIOpen runtime version:", "Is XNNPACK available:", "Is XPU available:",
    "Caching allocator config:", "Versions of relevant libraries:", "PyTorch version:", "CPU:", "ROCM Version:",
    "Neuron SDK Version:", "vLLM Version:", "vLLM Build Flags:", "GPU Topology:",
)  # fmt: skip
_GLUED = Pattern(
    r"(?<=\S)\s*(?=(?:" + "|".join(re.escape(key) for key in _KEYS if key not in ("OS:", "CPU:")) + r")\s)"
    r"|(?<=\S)\s+(?=(?:OS|CPU):\s)|(?<=\S)\s*(?=\[(?:pip3?|conda)\]\s)|(?<=[\w)])\s+(?=GPU \d{1,2}:\s)"
)


_FLAT_FRAME = Pattern(r'File "[^"]{1,300}", line \d{1,7}, in ')
_GLUED_FRAME = Pattern(
    r'(?<=\S)\s{0,20}(?=File "[^"]{1,300}", line \d{1,7}, in )|(?<=[\^~])\s{1,20}(?=\S)|(?<=\S)\s{1,20}(?=[~^]{3,})'
    r"|(?<=\S)\s{1,20}(?=(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z_]\w{0,60}(?:Error|Exception): \S)"
)


def _split_flat_line(line: str) -> list[str]:
    """A report, or a traceback, whose line breaks were lost: several of its keys, or frames, stand in one line, and get
    the breaks back."""
    if line.count('", line ') > 1 and len(list(_FLAT_FRAME.finditer(line))) > 1:
        return [part.strip() for part in _GLUED_FRAME.sub("\n", line).split("\n")]
    if len(line) < 60 or (sum(key in line for key in _KEYS) < 3 and line.count("[pip3] ") + line.count("[conda] ") < 2):
        return [line]
    return [part.strip() for part in _GLUED.sub("\n", line).split("\n")]


def _join_answers(lines: list[str]) -> list[str]:
    """``>>> torch.version.cuda`` with its answer in the next line becomes ``torch.version.cuda: 12.1``."""
    answered: list[str] = []
    asked, plainly = "", True
    for line in lines:
        prompt, bare = _PROMPT.fullmatch(line), _BARE.fullmatch(line)
        if prompt or bare:
            asked = _printed_expression((prompt or bare)["code"])  # type: ignore[index]
            plainly = prompt is not None
            if bare and not prompt:
                answered.append(line)
            elif prompt and (alias := _ALIAS.fullmatch(prompt["code"].strip())):
                answered.append(alias[0])  # what the names in the answers are short for
        elif asked and (answer := _ANSWER.fullmatch(line)) and (plainly or _VALUE.fullmatch(answer["value"])):
            answered.append(f"{asked}: {answer['value'].strip(chr(39) + chr(34))}")
            asked = ""
        else:
            answered.append(line)
            asked = asked if plainly else ""
    return answered


def _printed_expression(code: str) -> str:
    """The expression whose value the next line shows, or "" for a statement that prints nothing."""
    code = code.strip().rstrip(";")
    found = re.fullmatch(r"print\((.*)\)", code)
    code = (found[1] if found else code).strip()
    return code if re.fullmatch(r"[\w.]{1,80}(?:\([\w., '\"]{0,60}\))?", code) and not code.startswith("import") else ""
