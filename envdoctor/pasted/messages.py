"""Error and warning lines, out of everything that no reader took; the rest with a key is a remark.

A person's own prose is left out unless it reads like a message, so that rules only see what a program may have said.
"""

from __future__ import annotations

import re

from envdoctor.pasted.draft import INFERRED, LISTED, Draft
from envdoctor.pasted.page import Page, pair
from envdoctor.pasted.wording import in_the_tools_words
from envdoctor.pasted.words import cuda_of, is_unknown

_MESSAGE = re.compile(
    r"times as long|takes .{0,20}longer|error\b|errors?:|exception"
    r"|warning|\[warn|\bwarn\b|fail(?:ed|s|ure|ing)?\b|\bcan ?not\b|\bcan't\b"
    r"|\bcould ?n[o']t\b|\bcould not\b|\bunable to\b|undefined symbol|no such|not found|\bfound no\b|\bmissing\b"
    r"|\bincompatible\b|not compatible|mismatch|unsupported|not supported|n[o']t support\b|no longer|does not"
    r"|do not match|don't match|doesn't match|\brequires?\b|\brequired\b|\bneeds\b"
    r"|\btoo (?:old|new|many|small|few|low)\b|\bkilled\b|bus error|out of (?:shared )?memory|\brefus|\babort"
    r"|segmentation fault|core dumped|\bassert|\binvalid\b|not defined|\bundefined\b|no execution plan|deprecat"
    r"|may crash|\bhas no\b"
    r"|\bno (?:module|attribute|name|kernel|gpu|cuda|devices?|nvidia|library|binary|version)\b|not imported"
    r"|\bunexpected\b|not available|unavailable|not (?:yet )?initiali[sz]ed|size changed|\bexceed|\bdisabled\b"
    r"|\bhang|timed? ?out"
    r"|forward compatibility|built (?:for|with|against)|compiled (?:for|with|against|using)|\bnot usable\b"
    r"|\bskipp?ing\b|falling back|\bfalls back\b|\bslow|insufficient|\bconflict|different versions?"
    r"|\bdiffers?\b|instead of"
    r"|\bignored\b|but (?:you have|got|found|is|detected)|\bexpected\b|unknown error|\blost\b|oversubscri|throttl"
    r"|\blimit(?:ed)?\b|outside of what|supported by this|XID|NVRM: |rejected|\bcorrupt|\bnan\b|not enough"
    r"|which is of (?:cuda|compute) capability|\bstuck\b|\bdeadlock|ancdata|\bmixed\b|\bold and new\b",
    re.IGNORECASE,
)
_OWN_WORDS = re.compile(
    r"(?:i|i'm|i've|we|my|hi|hello|thanks|thank|please|can (?:you|someone|anyone)|could (?:you|someone)|does anyone"
    r"|how (?:do|can|to)|what (?:is|should)|is there|is it|when i|after i|if you|you (?:can|could|should|may)"
    r"|expected behavior|describe the|steps to)\b.*",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r'(?:File "[^"]*", line \d+.*|Traceback \(most recent call last\):?|~*\^+~*|(?:warnings\.)?warn\(.*\)?'
    r"|.*submit your error trace to.*|\.\.\.|During handling of the above.*"
    r"|The above exception was the direct cause.*)"
)
_KEY = re.compile(r"[\w`(][\w ./()\[\]#+,'-]{0,79}")
_SENTENCE = re.compile(
    r"[a-z].*|PyTorch \(.*|NumPy \d.*|The current PyTorch install.*|Please .*|If you .*|.*\bsm_\d+ sm_\d+.*"
    r"|minimum and maximum .*"
)


def read(page: Page, draft: Draft) -> None:
    """Fill ``messages`` and ``remarks`` with what is left; must run last."""
    previous = -2
    joined = ""
    for number, text in page.left():
        if _FRAME.fullmatch(text):
            continue
        found = pair(text)
        named = found is not None and bool(_KEY.fullmatch(found[0])) and len(found[0].split()) <= 6
        goes_on = not found and not re.match(r"\S*:\d", text) and _SENTENCE.fullmatch(text)
        follows = previous == number - 1 and joined and goes_on and len(joined) < 1_500
        if found and " " not in found[0] and is_unknown(found[1]):
            draft.remark(*found)
        elif _MESSAGE.search(text) and not _OWN_WORDS.match(text):
            draft.message(text)
            joined = f"{joined} {text}" if follows else text
            if follows:
                draft.message(joined)
            previous = number
        elif follows:
            joined = f"{joined} {text}"
            draft.message(joined)
            previous = number
        elif found and named and found[1]:
            draft.remark(*found)
    for _, text in page.left():
        if not _OWN_WORDS.match(text):
            for said in in_the_tools_words(text):
                draft.message(said)
    for message in draft.messages:
        _facts(message, draft)
    _built_for(page, draft)


def _built_for(page: Page, draft: Draft) -> None:
    """torch 2.9 and later list what they were built for, one capability a line (torch/cuda/__init__.py)."""
    pattern = re.compile(r"(?:built for CC )?(\d{1,2})\.(\d),? (?:which supports hardware CC|runs on:).*")
    found = [match for _, text in page.left() if (match := pattern.fullmatch(text))]
    draft.claim("torch.arch_list", tuple(dict.fromkeys(f"sm_{match[1]}{match[2]}" for match in found)) or None)


def _facts(message: str, draft: Draft) -> None:
    """Numbers that some errors carry."""
    if found := re.search(r"driver on your system is too old \(found version (\d{4,5})\)", message):
        draft.claim("driver.cuda", cuda_of(found[1]), LISTED)
        draft.claim("torch.cuda_available", False, LISTED)
    if re.search(
        r"CUDA initialization: (?!Error)\w|torch\.cuda\.is_available\(\) is False", message
    ):  # the warning of is_available() before it says False
        draft.claim("torch.cuda_available", False, INFERRED)
    if re.search(r"Found no NVIDIA driver on your system", message):
        draft.claim("torch.cuda_available", False, LISTED)
        draft.claim("driver.kernel_module", "", LISTED)
    if re.search(
        r"cudaGetDeviceCount|CUDA initialization|driver on your system is too old|Found no NVIDIA driver", message
    ):
        draft.claim("torch.cuda_error", message)
    if found := re.search(
        r"(?:install supports|capabilities|supported architectures\S*)\D{0,30}((?:(?:sm|compute)_\d+[a-z]?[ ,]*){2,})",
        message,
    ):
        draft.claim("torch.arch_list", tuple(re.findall(r"(?:sm|compute)_\d+[a-z]?", found[1])))
    if found := re.search(
        r"(?:(?P<name>[A-Z][\w ()./-]{3,60}?) )?with CUDA capability sm_(?P<major>\d{1,2})(?P<minor>\d) is not", message
    ):
        draft.claim("torch.capabilities", (f"{found['major']}.{found['minor']}",), LISTED)
        if found["name"] and not draft.gpus:
            draft.gpu(0, name=found["name"].strip())
