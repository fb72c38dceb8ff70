"""Is the report from a container? Said in a sentence, in a docker command, or by keys that name an image."""

from __future__ import annotations

import re

from envdoctor.facts.pasted import words
from envdoctor.facts.pasted.draft import INFERRED, LISTED, TOLD, Draft
from envdoctor.facts.pasted.page import Page, normal, pair
from envdoctor.values.pattern import Pattern

_SENTENCE = Pattern(
    r"\b(?:in(?:side)?|within) (?:an? |the )?(docker|podman|kubernetes|k8s|apptainer|singularity)"
    r"\b(?: container| pod)?",
    re.IGNORECASE,
)
_ELSEWHERE = Pattern(
    r"(?<![不没])(?:用|使用|采用|通过|在|里|拉取|启动)(?:的|了|是)?\s{0,2}docker|docker\s{0,2}(?:容器|镜像|环境|里|中|内|部署|来|で|上|内|コンテナ|에서|로|컨테이너)"
    r"|(?:在|进入)(?:容器|镜像)|容器(?:里|内|中)|コンテナ(?:内|で|の中)|(?:도커|컨테이너)(?:에서| 안)"
    r"|\b(?:en|dans|no|num|con|com|avec|mit|im|in einem|в|под|через|внутри) (?:(?:el|un|le|une|o|um|dem|einem|der) )?"
    r"(?:contenedor|conteneur|contêiner|docker(?:-container)?|контейнере?|докере?)\b",
    re.IGNORECASE,
)
"""In other languages than English."""
_COMMAND = Pattern(
    r"(?:^|\s)(?:sudo )?(docker|podman|nerdctl)\s+(?:run|compose|exec)\b"
    r"|(?:^|\s)(apptainer|singularity) (?:-\w+ )?(?:run|exec|shell|instance)\b"
)
_KEY = Pattern(r"(?:docker|container|image|base image|cuda image|docker image|container image)(?:\b|\.).*")
_WSL = Pattern(
    r"\b(?:on|in|inside|under|using|running|with|through|within) (?:an? |the |my )?[\w. ]{0,24}?\bWSL ?2\b",
    re.IGNORECASE,
)
_FROM = Pattern(
    r"(?:\d{1,4} ?\|? {0,3}(?:>>> )?)?FROM (?:--platform=\S{1,40} )?(?P<image>[\w.-]+(?:[/:@][\w.-]+)+)"
    r"(?: AS \w{1,40})?",
    re.IGNORECASE,
)
_NAMES = {"k8s": "kubernetes", "nerdctl": "docker", "singularity": "apptainer"}


def read(page: Page, draft: Draft) -> None:
    bases: list[str] = []
    for number, text in page.left():
        if sentence := _SENTENCE.search(text):
            name = sentence[1].lower()
            draft.claim("host.container", _NAMES.get(name, name), LISTED)
            if len(text) < 60:
                page.take(number)
        elif _ELSEWHERE.search(text):
            draft.claim("host.container", "docker", INFERRED)
        elif base := _FROM.fullmatch(text):
            bases.append(base["image"])
        elif command := _COMMAND.search(text):
            name = command[1] or command[2]
            draft.claim("host.container", _NAMES.get(name, name), INFERRED)
            draft.remark("container command", text)
            _image(draft, text)
            _shm(draft, text)
            _cpus(draft, text)
        elif _WSL.search(text):
            draft.claim("host.container", "wsl2", TOLD)
        elif (found := pair(text)) and _KEY.fullmatch(normal(found[0])) and not words.is_unknown(found[1]):
            draft.claim("host.container", "docker", INFERRED)
            _image(draft, found[1])
            _shm(draft, found[1])
            _cpus(draft, found[1])
    if bases:  # of several the last: a later stage, or what somebody went over to
        draft.remark("base image", f"FROM {bases[-1]}")
        _image(draft, bases[-1])


def _image(draft: Draft, text: str) -> None:
    """Images of PyTorch say what is in them: "pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime"."""
    if found := re.search(r"\bpytorch/pytorch:(\d+\.\d+\.\d+)-cuda(\d{1,2}\.\d)\b", text):
        draft.claim("torch.version", found[1], INFERRED)
        draft.claim("torch.cuda", found[2], INFERRED)


def _cpus(draft: Draft, text: str) -> None:
    if found := re.search(r"--cpus[= ](\d{1,4}(?:\.\d{1,3})?)", text):
        draft.claim("host.cpu_quota", float(found[1]), INFERRED)


def _shm(draft: Draft, text: str) -> None:
    if found := re.search(r"--shm-size[= ]([\d.]+\s?[kmgKMG][bB]?)", text):
        draft.claim("host.shm", words.size(found[1]), INFERRED)
