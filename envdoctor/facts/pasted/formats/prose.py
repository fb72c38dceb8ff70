"""GPUs, drivers and paths that are said in passing: in a sentence, a heading, a traceback, a program's banner.

The weakest of claims: whatever a tool says of the same thing is better known, and where a text names several releases
or several GPUs nobody can tell which one is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.pasted.draft import INFERRED, STATED, TOLD, Draft
from envdoctor.facts.pasted.formats import releases
from envdoctor.facts.pasted.formats.wheel_names import is_refused, refusals
from envdoctor.facts.pasted.page import Page
from envdoctor.knowledge.gpus import capability_of
from envdoctor.knowledge.programs import is_desktop, own_python
from envdoctor.values.pattern import Pattern

_OTHER = Pattern(
    r"require|need|upgrad|updat|downgrad|install|until|since|before|after|older|newer|later|earlier|expect|support"
    r"|built (?:for|with|against)|compiled|compatible"
    r"|(?<!to )(?<!not )(?<!n't )work(?:s|ed|ing)?\b.{0,12}(?:with|on|in)"
    r"|instead|than|previous"
    r"|fixed|regress|tried|unlike|\brather\b|should|must|want|recommend|latest|minimum|at least|[<>]=?|~=|!=|\?"
    r"|deprecat|\bremov|\bdropped|\bintroduced|\bas of\b|release notes?"
    r"|\brevert|\b(?:go|going|went|roll|rolling|rolled|switch|switching|get|come) back\b|\breturn to\b",
    re.IGNORECASE,
)
"""Words by which a release is another one than the installed one."""
_HAS = Pattern(
    r"(?:PyTorch |\b)\d\.\d\S{0,40} with (?:CUDA|HIP) .{1,30}\(you have (\d[\w.+]{2,40})\)"
    r"|was trained with torch \S{1,40}, yours is (\d[\w.+]{2,38}\w)"
)
"""What xformers was built for, or a model of pyannote's trained with, and what is there."""
_PATH = Pattern(
    r"[/\\]python(?P<dotted>3\.\d{1,2})[/\\](?:site|dist)-packages|[/\\]Python(?P<plain>3\d{1,2})[/\\]", re.IGNORECASE
)
_TOOLS_OWN = Pattern(r"\S{0,200}?[/\\](?:pipx[/\\]venvs|pypoetry[/\\]venv|uv[/\\]tools)[/\\]\S{0,200}")
"""A tool's own environment, which is not the one that it makes for a project."""
_TAKEN = Pattern(r"(?:Downloading|Using cached|filename=)[ =]?\S{0,300}?-cp3(\d{1,2})-cp3\1\w{0,2}-")
"""A wheel that pip took or made is for the Python that runs it."""
_DRIVER = Pattern(
    r"(?:driver|Driver|DRIVER)(?: version)?(?: is| was|:|=)? ?v?(?P<version>\d{3}\.\d{2,3}(?:\.\d{2})?)(?![.\d])"
)
_CUDA = Pattern(
    r"\bcuda(?:[ -]?(?:version|toolkit))?[ :=]{0,3}v?(?P<line>\d{1,2}\.\d)(?:\.\d{1,3})?(?![\w.])", re.IGNORECASE
)
_GPU = Pattern(
    r"\b(?:(?:NVIDIA |GeForce |Quadro |Tesla ){0,3}"
    r"(?:(?i:RTX|GTX) ?(?:PRO )?A?\d{4}(?: ?(?:Ti|SUPER|D|Ada|Max-Q|Laptop)\b){0,2}"
    r"|(?:A100|A800|H100|H200|H20|H800|B200|B300|GB200|GB300|GH200|GB10|V100S?|P100|P40|K80|T4|L4|L40S?|A10G?|A40|A30"
    r"|A6000|A5000|A4000|M40|K40[cmst]?|K20[cmsx]?)\b)|(?:Quadro|Tesla) [KMPTV]\d{1,4}[a-zA-Z]?\b"
    r"|(?i:(?:GeForce )?GTX TITAN X\b|(?:NVIDIA )?TITAN (?:Xp|V|RTX|Black|Z)\b)|(?i:GeForce (?:MX|GT) ?\d{3,4}M?\b)"
    r"|DGX Spark|(?i:Jetson (?:AGX )?(?:Orin|Thor|Xavier)))"
)
_AMD = Pattern(
    r"\b(?:on|have|has|got|own|with|using|use|my|an?|is|for) (?:an? |my )?AMD\b"
    r"(?! ?64| (?:Ryzen|EPYC|CPU|processor|Threadripper))[\w ]{0,24}"
    r"|\b(?:AMD )?Radeon\b[\w ]{0,20}|\bAMD (?!64|Ryzen|EPYC|CPU|processor|Threadripper|Opteron|Athlon)"
    r"(?:(?!(?:with|and|or|has|plus|host|server|NVIDIA)\b)\w{1,12} ){0,3}(?:GPUs?|graphics|cards?)\b"
    r"|\b(?:AMD )?RX ?[5-9]\d{3}(?: ?XTX?)?\b|\bAMD \d{4}(?: ?XTX?)\b",
    re.IGNORECASE,
)
"""An AMD card that somebody tells of; processors are AMD's as well."""
_INSTALLED_ON = Pattern(
    r"\b(?:I|we|have|'ve|has|just)\b[\w ]{0,20}?\binstalled\b.{1,60}?\b(?:on|in|with|for) (?=(?:an?|my|our|the)\b)",
    re.IGNORECASE,
)
"""What was installed on a card says nothing against its being here."""
_BARE_GPU = Pattern(r"\b(?:my|the|an?|with|on) (?P<model>[2-5]0[5-9]0(?: ?Ti)?)\b(?! (?:steps?|px|tokens?|images?))")
_WINDOWS = Pattern(
    r"(?<![\w/])[A-Za-z]:\\{1,2}[\w$(.]|\\Scripts\\|python_embeded|WinError|\bPS [A-Z]:|win_amd64|\.dll\b"
)
_MAC = Pattern(r"(?<![\w:/\\.])(?:/Users/[^/\s]{1,60}|/opt/homebrew)/\S{0,300}(?:lib/python3|-packages/)")
"""Where a Mac's Python keeps what it runs."""
_APPLES_CHIP = Pattern(r"(?:CPU|Chip|Processor)?:? {0,4}Apple M[1-9](?: (?:Pro|Max|Ultra))?", re.IGNORECASE)
_BOARD = Pattern(
    r"\bJetson\b|\bJetPack\b|\btegra\b|\bL4T\b|\b(?:an?|my|the|agx) Orin\b|\bagx Xavier\b"
    r"|\b(?:Orin|Xavier) (?:NX|Nano|AGX)\b",
    re.IGNORECASE,
)
_DESKTOP = Pattern(r"x86_64|\bamd64\b|win_amd64|\bJetPack ?7|\bThor\b", re.IGNORECASE)
"""No board that needs NVIDIA's own wheels: JetPack 7 runs those of PyTorch's index."""
_UNAVAILABLE = Pattern(
    r"torch reports CUDA not available|cuda[._ ](?:is_)?available(?:\(\))?\W{0,4}"
    r"(?:returns?|returning|is|gives?|shows?|says?|prints?|为|返回|=|==|->|:)?\W{0,4}False",
    re.IGNORECASE,
)


_DISTRIBUTED = Pattern(
    r"(?:(?P<arch>\b(?:archlinuxcn|aur|extra|community)/|\b(?:pacman|yay|paru) -S\w{0,3} (?:\S{1,40} ){0,8}?)"
    r"|\b(?P<tool>apt(?:-get)?|dnf|yum|zypper) (?:-\S{1,12} )?(?:install|upgrade) (?:\S{1,40} ){0,8}?)"
    r"python3?-(?!(?:dev|devel|pip|venv|full|distutils|setuptools|minimal|tk|wheel)\b)(?P<name>[a-z][\w-]{1,40})\b",
    re.IGNORECASE,
)
"""A Python package that comes from a Linux distribution, as its tools name it."""


def read(page: Page, draft: Draft) -> None:
    lines = [text for _, text in page.left() if len(text) < 600 and not re.match(r"host\b|host_", text, re.IGNORECASE)]
    for text in lines:
        if has := _HAS.search(text):
            draft.claim("torch.version", has[1] or has[2], STATED)
            draft.message(text)
    releases.read(page, draft)
    found = {match["version"] for text in lines for match in _DRIVER.finditer(text) if not _other(text, match)}
    if len(found) == 1:
        draft.claim("driver.kernel_module", found.pop(), TOLD)
    _cuda(page, draft)
    for text in page.lines:
        for brought in _DISTRIBUTED.finditer(text) if len(text) < 600 else ():
            tool = "pacman" if brought["arch"] else brought["tool"].lower()
            draft.remark(f"distribution's {brought['name'].lower()}", tool)
    _paths(page, draft)
    _gpu(lines, draft)
    if not draft.gpus and (card := next((named[0] for text in lines if (named := _AMD.search(text))), None)):
        draft.remark("card", card)
    board = next((named[0] for text in page.lines if len(text) < 600 and (named := _BOARD.search(text))), None)
    if chip := next((text.strip() for text in page.lines if _APPLES_CHIP.fullmatch(text.strip())), None):
        draft.remark("Apple's processor", chip)
    if board and not any(_DESKTOP.search(text) for text in page.lines):
        draft.remark("board", board)
    if any(_UNAVAILABLE.search(text) for text in lines) or any(map(_answers_false, lines, lines[1:])):
        draft.claim("torch.cuda_available", False, INFERRED)


def _cuda(page: Page, draft: Draft) -> None:
    """The release of CUDA that the text names, where it names but one."""
    short = [text for text in page.lines if len(text) < 600]
    named = {found["line"] for text in short for found in _CUDA.finditer(text) if not _is_of_the_driver(text, found)}
    if len(named) == 1:
        draft.remark("CUDA as told", named.pop())


def _is_of_the_driver(text: str, found: re.Match[str]) -> bool:
    """Is the CUDA that is named the newest one that a driver runs, or another one than what is installed?"""
    return re.search(r"driver|nvidia-smi|\bsmi\b", text, re.IGNORECASE) is not None or _other(text, found)


def _answers_false(asked: str, answer: str) -> bool:
    """Is whether CUDA is available asked in one line, and denied in the next?"""
    return (
        "cuda.is_available()" in asked
        and re.fullmatch(
            r"\W{0,4}(?:returns? |prints? |Out\S{0,6} )?False\W{0,3}|It (?:always )?(?:returns|prints) False\b.*",
            answer,
        )
        is not None
    )


def _other(text: str, found: re.Match[str]) -> bool:
    """Is the release that is named here another one than the installed one?"""
    before, after = text[max(0, found.start() - 40) : found.start()], text[found.end() : found.end() + 16]
    return bool(
        _OTHER.search(before)
        or "(you have" in text
        or re.match(
            r" ?(?:or|and) (?:later|newer|older|above|up)|\+ |\+$|x\b| (?:\w+ )?(?:deprecat|remov|dropp|introduc)",
            after,
        )
    )


def _paths(page: Page, draft: Draft) -> None:
    pythons: set[str] = set()
    tags: set[str] = set()
    windows = False
    names = refusals(page)
    for text in page.lines:
        windows = windows or _WINDOWS.search(text) is not None
        if re.search(r"GPU available: True.{0,20}, used: False", text):
            draft.message(text.strip())
        for match in _PATH.finditer(_TOOLS_OWN.sub("", text)):
            pythons.add(match["dotted"] or f"{match['plain'][0]}.{match['plain'][1:]}")
        if (taken := _TAKEN.search(text)) and not is_refused(text, names):
            tags.add(f"3.{taken[1]}")
    pythons = pythons or tags
    if len(pythons) == 1:
        draft.claim("interpreter.version", pythons.pop(), TOLD)
    if any(map(_GGML.search, page.lines)) and not any(map(_SAYS_TORCH.search, page.lines)):
        draft.remark("without torch", "ggml")
    if python := _own_python(page):
        draft.remark("embedded python", python)
    sayings = " ".join(text for text in page.lines if len(text) < 400)
    if re.search(
        r"\bWindows 1[01]\b|\b(?:on|under|for) windows\b(?! and| or|/)", sayings, re.IGNORECASE
    ) and not re.search(r"\bWSL|docker|container|Linux|Ubuntu|x86_64-linux", sayings, re.IGNORECASE):
        windows = True
    if windows:
        draft.claim("host.system", "Windows", TOLD)
    elif any(map(_MAC.search, page.lines)):
        draft.claim("host.system", "Darwin", TOLD)


_GGML = Pattern(r"\bggml|llama\.cpp|\bollama\b|koboldcpp|whisper\.cpp", re.IGNORECASE)
_SAYS_TORCH = Pattern(r"torch", re.IGNORECASE)
"""llama.cpp and what is built on it call CUDA by libraries of their own; torch has no part in their errors."""
_RUNS = Pattern(r"^\W{0,4}File [\"“]|\.exe\b|Python executable|Location: ", re.IGNORECASE)
"""A frame of a traceback, a command, a program's own words: what ran, not what somebody speaks of."""


def _own_python(page: Page) -> str | None:
    """The Python that a program for Windows brought along and that ran here, where the text shows one and no other."""
    if any(_RUNS.search(text) and is_desktop(text) for text in page.lines):
        return r".venv\Scripts\python.exe"
    named = [(text, python) for text in page.lines if (python := own_python(text))]
    ran = {python for text, python in named if _RUNS.search(text)}
    found = ran or {python for _, python in named}
    return found.pop() if len(found) == 1 else None


def _gpu(lines: list[str], draft: Draft) -> None:
    if draft.gpus or draft.said("torch.capabilities"):
        return
    named = dict.fromkeys(_names(lines))
    capabilities = {capability_of(name) for name in named}
    if named and len(capabilities) == 1 and None not in capabilities:
        draft.gpu(0, name=max(named, key=len))


def _names(lines: list[str]) -> Iterator[str]:
    for text in (_INSTALLED_ON.sub("on ", line) for line in lines):
        yield from (match[0] for match in _GPU.finditer(text) if not _other(text, match))
        yield from (f"RTX {match['model']}" for match in _BARE_GPU.finditer(text) if not _other(text, match))
