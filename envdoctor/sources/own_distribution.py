"""Where this very installation came from, as a requirement that pip installs elsewhere too."""

from __future__ import annotations

import json
import re
from importlib import metadata
from urllib.parse import urlsplit

from envdoctor.errors import Trouble

NAME = "gpu-envdoctor"
PLACEHOLDER = f"{NAME} @ git+https://git.example/envdoctor@v"
"""Followed by the version; no such host exists (RFC 2606), so that a forgotten one fails at once and is found."""


def requirement_of(source: str) -> str:
    """The requirement for an address given by the user: git+https://..., a wheel's address, or ``NAME==VERSION``.

    Raises `Trouble` for what pip could not install, and for what would end the quotes it is printed in.
    """
    text = source.strip()
    if re.search(r"[\s\"'`$\\]", text.replace(f"{NAME} @ ", "", 1)):
        raise Trouble("no address has spaces or quotes", where="--source", remedy="Give it as pip takes it.")
    if text.startswith(NAME):
        return text
    scheme = urlsplit(text).scheme
    if scheme.startswith("git+") or (
        scheme in ("http", "https", "file") and re.search(r"\.(whl|tar\.gz|zip)(#|$)", text)
    ):
        return f"{NAME} @ {text}"
    raise Trouble(
        f"{source!r} is neither a git address nor one of a wheel",
        where="--source",
        remedy="For example: --source git+https://HOST/envdoctor@v0.1.0, or the https address of a .whl file.",
    )


def own_requirement(version: str) -> str | None:
    """What to install elsewhere to get this doctor; None where it came from a folder of this machine.

    Read from direct_url.json (PEP 610), which pip and uv write for everything that did not come from an index.
    """
    try:
        text = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None  # run from a source tree
    if text is None:
        return f"{NAME}=={version}"
    try:
        told = json.loads(text)
        url, vcs = str(told["url"]), told.get("vcs_info")
    except (ValueError, KeyError, TypeError):
        return None
    if isinstance(vcs, dict):
        folder = f"#subdirectory={told['subdirectory']}" if told.get("subdirectory") else ""
        return f"{NAME} @ {vcs['vcs']}+{url}@{vcs.get('commit_id', f'v{version}')}{folder}"
    return f"{NAME} @ {url}" if urlsplit(url).scheme in ("http", "https") else None
