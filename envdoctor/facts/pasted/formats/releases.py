"""Releases that a person names of packages and of Python: in a sentence, a heading, a list of their own.

A release may be the one that runs, or another one (tried, asked for, the one that worked). Where a text names several
that may run, nobody can tell which one does, and none is claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.facts.pasted.draft import TOLD, Draft
from envdoctor.facts.pasted.formats.huggingface import PACKAGES
from envdoctor.facts.pasted.page import Page
from envdoctor.knowledge.asking import package_spoken
from envdoctor.knowledge.names import libraries_read
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern

_VERSION = (
    r"\d{1,4}\.\d{1,4}(?:\.\d{1,4}){0,2}(?:\.?(?:post|dev|rc|a|b)\d{1,8})?(?:\+[A-Za-z]\w{1,12}(?:\.\w{1,12}){0,3})?"
)
_WORD = r"(?:version|ver\b\.?|release|版本号?)"
_LINK = (
    rf"[*_\"')\]]{{0,2}}(?: ?{_WORD}(?: number| installed)?(?: ?(?:is|was|of|[=:：(–—-]|为|是)){{0,2}}"
    r"|\.__version__\)?(?: {0,2}(?:[=:]{1,2}|->|is|gives|returns|prints|#))?"
    r"| ?={1,3}| ?[:：]| ?\(|(?: here| in (?:the|my|our|this) (?:env\w{0,10}|venv|container|image))? is(?: at| on)?"
    r"(?: now)?| at| ?为| ?是|-(?=\d)|\s{1,40}(?=v?\d)|(?=\d))"
)
_NAMED = Pattern(
    rf"(?<![\w./\\@~-])(?P<name>[A-Za-z][A-Za-z_-]{{1,30}}[A-Za-z_]|[A-Za-z][\w-]{{0,30}}\w(?=[ =:(.]))"
    rf"(?P<link>{_LINK})"
    rf" ?['\"v]?(?P<version>{_VERSION})(?![\w%]|\.\d|\.?[*x]|-py\d"
    r"|[\w.+-]{0,80}\.(?:whl|tar|zip|html|txt|json|so)\b|[/\\]"
    r"| ?(?:[GMKT]i?B|ms|s|%|it/s|hours?|min(?:utes)?|seconds?)\b)",
    re.IGNORECASE,
)
_OF = Pattern(rf"\b{_WORD} v?(?P<version>{_VERSION}) of (?:the )?(?P<name>[A-Za-z][\w-]{{1,30}})\b", re.IGNORECASE)
_OTHER = Pattern(
    r"requir|need|upgrad|updat|downgrad|\binstall|until|since|before|after|older|newer|later|earlier|expect|support"
    r"|built (?:for|with|against)|compiled|compatible|\btrained (?:with|on|by|using)"
    r"|(?<!to )(?<!not )(?<!n't )work(?:s|ed|ing)?\b.{0,12}(?:with|on|in)"
    r"|instead|than|previous|fixed|regress|\btr(?:y|ied|ying)\b|unlike|\brather\b|should|must|want|recommend|latest"
    r"|minimum|maximum|at (?:least|most)|(?:\bbelow|\babove) (?=[\w-]{0,30}(?: version)? ?$)|\bup to\b"
    r"|\blower\b|\bhigher\b"
    r"|[<>]=?|~=|!=|\?|deprecat|\bremov|\bdropped|\bintroduced|\bas of\b|release notes?"
    r"|\brever|\broll(?:ed|ing)? ?back"
    r"|\bgo(?:ing)? back|\bwent back|\bback to|\bswitch|\bchang|\bmov(?:e|ed|ing) to"
    r"|\bfrom\b|(?:^|[.!,] |please |\bto |could |can |\blet's )\W{0,2}use\b"
    r"|\bpin|\buse[sd]? to\b|\bfor\b.{0,8}$|\bonly (?:has|have|available)"
    r"|升级|降级|需要|要求|尝试|试|回退|换|安装|支持|改|低于|高于|不超过|至少|最低|最高|只能|只认",
    re.IGNORECASE,
)
"""Words before a release by which it is another one than the one that runs."""
_OTHER_AFTER = Pattern(
    r"\s?(?:or|and) (?:later|newer|older|above|up|below|lower|higher|earlier|less|greater|under|prior)\b"
    r"|,? (?:[\w-]{1,20},? ){0,4}(?:did|does) ?n[o']t (?:work|help)\b|,? we (?:changed|flipped|removed|renamed)\b"
    r"|\+|x\b| (?:\w{1,12} )?(?:deprecat|remov|dropp|introduc|requir)"
    r"|,? (?:\w{1,12} )?instead\b"
    r"|,? (?:[\w-]{1,20} ){1,3}(?:was|were|ran|worked|had been) (?:still )?(?:fine|ok|okay|well|without)\b"
    r"|\W{0,3}(?:(?:it|this|that|everything|all|where) ){0,2}(?:works?|worked|fixe[sd]|solve[sd]?|helps?|helped"
    r"|(?:is|was|are) (?:\w{1,12} )?(?:required|needed|recommended|supported|fine|ok))\b"
    r"|\s?(?:(?:版本)?(?:及|或)?(?:其|更)?(?:以上|以下|以前|以后|之前|之后|之間|之间|更高|更低|更新|更早))"
    r"|就?(?:可以|正常)",
    re.IGNORECASE,
)
_SEVERAL = Pattern(
    r" ?(?:,|/|\bor\b|\band\b|\bto\b|和|或|、|与|到|->|→|~|～) ?"
    r"(?:with |even |also |also with |v|也)?\d{1,3}\.\d{1,3}\b"
    r"(?!\.?\d* ?[GMKT]i?B)",
    re.IGNORECASE,
)
"""One name, and releases in a row."""
_INSTALLED = Pattern(
    r"\b(?:have|has|had|'ve|with|got|am|is|are|currently|already) (?:\w{1,12} ){0,2}installed(?: \w{1,12}){0,2}\W{0,3}$"
    r"|\b(?:currently|already) installed\W{0,3}(?:\w{1,12}\W{1,3}){0,2}$"
    r"|\binstalled (?:\w{1,12} )?(?:is|are|was)\W{0,3}$"
    r"|\bI installed(?: \w{1,12}){0,2} $|\binstalled version(?: \w{1,12}){0,3}\W{0,3}$|已安装\W{0,2}$",
    re.IGNORECASE,
)
_INSTALLED_AFTER = Pattern(
    r"\W{0,3}(?:(?:is|are|was) )?(?:currently |already |correctly |properly |successfully )?installed\b", re.IGNORECASE
)
_FOUND = Pattern(
    r"\b(?:but|and|while|whereas)(?: the)? (?:you (?:currently )?have|(?:we |I )?found|got|have|current(?:ly)?"
    r"|installed|detected)(?: version)?(?: is)?\W{0,3}(?:\w{1,12} ){0,1}$",
    re.IGNORECASE,
)
"""An installer or a library that asks for another one says what it met."""
_CLAUSE = re.compile(
    r"(?<=[a-z\d)'\"])[.!?;] |[。；，]"
    r"|[,;] ?(?:but |and |while |whereas )?(?=(?:I|I'm|I am|we|we're|my|our|here|currently|mine)\b)"
)
_STATE = Pattern(r"\b(?:latest|newest|installed?|I)\b", re.IGNORECASE)
"""What a sentence on the installed release holds that would else tell of another one."""
_CHANGED = Pattern(
    r"(?:\b(?:I|we)(?:'ve| have)? (?:then |also |just |already )?"
    r"(?:changed|downgraded|upgraded|updated|switched|moved|set) "
    rf"(?:the )?(?P<name>[A-Za-z][A-Za-z\d_-]{{1,30}})(?: version)?(?: from v?{_VERSION})? (?:back )?to (?:version )?"
    rf"|我[^，。,;；]{{0,12}}?(?:把|将) ?(?P<named>[A-Za-z][A-Za-z\d_-]{{1,30}}) ?(?:的?版本)?"
    r"(?:改|换|升级?|降级?)(?:成|到|为)了? ?)"
    rf"v?(?P<version>{_VERSION})(?![\d.]*\d|[A-Za-z])(?P<after>.{{0,120}})",
    re.IGNORECASE,
)
"""A person's word of what was installed in place of another one."""
_WOULD = Pattern(r"需要|应该|要不要|能不能|可以|可否|如果|想|试着|打算|是不是|准备")
_IN_VAIN = Pattern(
    r"^.{0,60}?(?:\bbut\b|\bstill\b|\bsame\b|\band (?:now|then|got|get)\b|\bnow\b|但|还是|又|依然|仍|却|之后报|后报)",
    re.IGNORECASE,
)
_HELPED = Pattern(
    r"^\W{0,4}.{0,24}?(?:\bwork(?:s|ed)\b|\bfixed\b|\bsolved\b|\bhelped\b|\bit runs\b(?! (?:out|into)\b)"
    r"|\bruns? (?:fine|well|ok|through|without)\b|\bgone\b"
    r"|好了|解决|正常|可以了|就可以)",
    re.IGNORECASE,
)
"""What follows it where the trouble went on, or ended: with that release there is none of what the text shows."""
_COMMAND = Pattern(
    r"\b(?:pip3?|uv|conda|mamba|micromamba|poetry|pdm|apt|apt-get|brew) (?:pip )?"
    r"(?:\w{1,12} )?(?:install|add|create|uninstall)\b"
    r"|\binstall (?:-[\w-]{1,20} )",
    re.IGNORECASE,
)
_MADE = Pattern(
    r"(?:[$%!#] ?|\([\w.-]{1,40}\) ?[$%]? ?)?(?:sudo )?"
    r"(?:(?:conda|mamba|micromamba) (?:env )?create\b.{0,80}?\bpython={1,2}"
    r"|uv venv\b.{0,60}?(?:-p|--python)[ =](?:python)?|virtualenv\b.{0,60}?(?:-p|--python)[ =]\S{0,30}?python"
    r"|python(?=3\.\d{1,2} -m (?:venv|virtualenv|pip)\b))(?P<version>3\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]*[*x])",
    re.IGNORECASE,
)
"""A command that makes an environment tells its Python."""
_BUILD = Pattern(r" ?[+(]? ?(?P<label>cu\d{2,3}|cpu|rocm[\d.]{1,6})\b", re.IGNORECASE)
_LISTING = Pattern(r"[,;|、，；]")
_LONG = 600
_PATH = Pattern(r"://|^[\"'(]{0,2}(?:[/~.]|[A-Za-z]:[\\/])|-packages|[/\\]lib\b|\\")
_COMPARED = Pattern(r"regress|\bpeak\b|\bslower\b|\bworse\b|compared", re.IGNORECASE)
_BAD = Pattern(r"slow|error|fail|broken|crash|out of memory|\boom\b|bug|not work|regress", re.IGNORECASE)
_NEWEST_TORCH = 2
_PYTHONS = frozenset(("python", "py", "cpython"))
_ALIASES = {"transformer": "transformers", "tokenizer": "tokenizers", "pytorch": "torch", "tf": "tensorflow"}
_EVERYDAY = frozenset(
    "accelerate apex av datasets dask evaluate helion kernels keras lightning neptune notebook optimum outlines "
    "packaging ray redis regex requests toml wheel".split()
)
"""Words that a number may follow that is no release: only three parts make it one."""
_UNPUBLISHED = frozenset("detectron2 fairseq mmcv-full pytorch3d tinycudann".split())
"""What no index has, or not under this name."""
_OF_A_LINE = Pattern(r"(?:spconv|cumm)-cu\d{2,3}|cupy-cuda\d{2,3}x?")
"""Distributions that bear their CUDA line in their name."""
_STRONG = Pattern(r"version|ver\b|=|版本", re.IGNORECASE)


@frozen
class Mention:
    """One release of one package (or "python") that a line names, and whether it may be the one that runs."""

    name: str
    version: str
    runs: bool
    by_installation: bool = False  # who tells what was installed may tell of several, one after the other


def read(page: Page, draft: Draft) -> None:
    """Lines that nobody took, and taken ones that go on behind what was taken of them."""
    left = {number for number, _ in page.left()}
    lines = [line.strip() for number, line in enumerate(page.lines) if number in left or _LISTING.search(line)]
    _read([line for line in lines if line and len(line) < _LONG], draft)


def _read(lines: Sequence[str], draft: Draft) -> None:
    """Claim what one release is told of; remark on what several are."""
    told: dict[str, list[Mention]] = {}
    for line in lines:
        for mention in mentions(line):
            told.setdefault(mention.name, []).append(mention)
    for name, named in told.items():
        running = _most_exact({mention.version for mention in named if mention.runs})
        if len(running) > 1 and lines and _BAD.search(lines[0]):  # what a heading complains of
            running = _most_exact({each.version for each in mentions(lines[0]) if each.name == name}) or running
        if len(running) == 2 and any(map(_COMPARED.search, lines)):  # what got worse is the later one
            running = {max(running, key=_parts)}
        every = _most_exact({mention.version for mention in named})
        by_sentence = all(mention.by_installation for mention in named if mention.runs)
        if len(running) == 1 and not (by_sentence and len(every) > 1):
            _claim(name, running.pop(), draft)
        elif name == "torch" and len(every) > 1:
            draft.several_torches = tuple(sorted(every, key=_parts))[:4]
    made = {found["version"] for line in lines if (found := _MADE.match(line))}
    if len(made) == 1:
        draft.claim("interpreter.version", made.pop(), TOLD)


def _claim(name: str, version: str, draft: Draft) -> None:
    if name == "python":
        draft.claim("interpreter.version", version, TOLD)
    elif name == "torch":
        draft.claim("torch.version", version, TOLD)
    elif name not in draft.packages:
        draft.package(name, version, TOLD)


def mentions(line: str) -> Iterator[Mention]:
    """The releases that a line names."""
    yield from _change_told(line)
    for found in (*_NAMED.finditer(line), *_OF.finditer(line)):
        name = _name(found)
        if name is None or not re.search("[1-9]", found["version"]) or _in_a_path(line, found):
            continue
        if name == "python" and not re.match(r"(?:2\.7|3\.\d)", found["version"]):
            continue
        if name == "torch" and int(found["version"].partition(".")[0]) > _NEWEST_TORCH:
            continue  # a release of CUDA, as in "used to compile PyTorch (11.8)"
        before, after = line[max(0, found.start() - 40) : found.start()], line[found.end() : found.end() + 40]
        told = _INSTALLED.search(before) is not None
        installed = told or _INSTALLED_AFTER.match(after) is not None
        before = _CLAUSE.split(before)[-1]
        around = "" if _FOUND.search(before) else _STATE.sub("", before) if installed else before
        other = (
            _OTHER.search(around)
            or _OTHER_AFTER.match(after)
            or _SEVERAL.match(after)
            or "(you have" in line
            or (not installed and _COMMAND.search(line[: found.start()]))
        )
        build = _BUILD.match(after) if name == "torch" and "+" not in found["version"] else None
        version = found["version"] + (f"+{build['label'].lower()}" if build else "")
        yield Mention(name=name, version=version, runs=not other, by_installation=told)


def _change_told(line: str) -> Iterator[Mention]:
    """The release that a person put in the place of another one, and with which the trouble goes on."""
    for found in _CHANGED.finditer(line):
        name = _name(found) or _library(found["name"] or found["named"])
        if name is None or _WOULD.search(found[0].removesuffix(found["after"])):
            continue
        runs = _IN_VAIN.search(found["after"]) is not None and _HELPED.search(found["after"]) is None
        yield Mention(name=name, version=found["version"], runs=runs)


def _library(word: str) -> str | None:
    """Any library whose releases were read: of a number that something was changed to nobody takes the word amiss."""
    return word.lower() if word.lower() in libraries_read() else None


def _name(found: re.Match[str]) -> str | None:
    """The package that is meant; words of everyday need more than a blank before the release."""
    word = (found["name"] or found.groupdict().get("named") or "").lower().strip("-_").replace("_", "-")
    if word in _PYTHONS:
        return "python"
    if word in _ALIASES:
        strong = word == "pytorch" or "link" not in found.groupdict() or _STRONG.search(found["link"])
        return _ALIASES[word] if strong else None
    if word in _EVERYDAY and found["version"].count(".") < 2 and not _STRONG.search(found.groupdict().get("link", "=")):
        return None
    if word in PACKAGES or word in _UNPUBLISHED or _OF_A_LINE.fullmatch(word):
        return word
    return package_spoken(word) or None


def _in_a_path(line: str, found: re.Match[str]) -> bool:
    """Does the release stand within a path, an address or a file's name?"""
    start = max(line.rfind(" ", 0, found.start()), line.rfind("=", 0, found.start())) + 1
    return _PATH.search(line[start : found.end()]) is not None


def _parts(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d{1,9}", version)[:3]]


def _most_exact(versions: set[str]) -> set[str]:
    """The versions without those that another one says more exactly."""
    return {
        version
        for version in versions
        if not any(other != version and re.match(rf"{re.escape(version)}(?![\d])", other) for other in versions)
    }
