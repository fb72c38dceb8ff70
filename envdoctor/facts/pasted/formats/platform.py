"""What the platform strings of reports say of the machine: ``platform.platform()``, and the OS line of collect_env."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import INFERRED, STATED, Draft
from envdoctor.values.pattern import Pattern

_MACHINE = Pattern(r"\b(x86_64|amd64|aarch64|arm64|ppc64le|AMD64)\b")


def read_platform(text: str, draft: Draft) -> None:
    """``Linux-5.15.0-102-generic-x86_64-with-glibc2.35``, ``Windows-10-10.0.22000-SP0``, ``macOS-14.1-arm64-...``."""
    system = _system(text)
    draft.claim("host.system", system)
    if machine := _MACHINE.search(text):
        draft.claim("host.machine", "x86_64" if machine[1].lower() in ("amd64", "x86_64") else machine[1])
    if intel := re.match(r"macOS-([\d.]+)-x86_64", text):  # of the Python that asked, translated or not
        draft.claim("interpreter.platform", f"macosx-{intel[1]}-x86_64", INFERRED)
    if libc := re.search(r"(glibc|musl)-?(\d[\d.]*)", text):
        draft.claim("interpreter.libc", f"{libc[1]} {libc[2].rstrip('.')}", INFERRED)
    if system == "Linux" and (
        kernel := re.match(r"Linux-(\d+\.\d+\S*?)(?:-(?:x86_64|amd64|aarch64|ppc64le)\b|$)", text)
    ):
        read_kernel(kernel[1], draft)
    if system == "Windows" and (release := re.match(r"Windows-(\d+|\w+)-(\d[\d.]*)", text)):
        draft.claim("host.kernel", release[2])
        draft.claim("host.distribution", f"Windows {release[1]}", INFERRED)


def read_kernel(release: str, draft: Draft) -> None:
    """A kernel release; Microsoft's kernels tell WSL, and 4.4 with a capital M is the emulation of WSL 1, which has no
    path to a GPU (learn.microsoft.com/windows/wsl/compare-versions)."""
    draft.claim("host.kernel", release)
    draft.claim("host.system", "Linux", INFERRED)
    if re.search("microsoft", release, re.IGNORECASE):
        first = re.match(r"(\d+)\.(\d+)", release)
        old = first is not None and (int(first[1]), int(first[2])) < (4, 19)
        draft.claim("host.container", "wsl1" if old and "wsl2" not in release.lower() else "wsl2")


def read_system(text: str, draft: Draft) -> None:
    """The ``OS:`` line: "Ubuntu 22.04.5 LTS (x86_64)", "Microsoft Windows 11 Pro (10.0.22631 64-bit)", "Linux"."""
    if re.match(r"(?:Linux|Windows|macOS)-\d", text):
        read_platform(text, draft)
        return
    draft.claim("host.system", _system(text) or ("Linux" if re.search(_LINUX, text, re.IGNORECASE) else None))
    if machine := _MACHINE.search(text):
        draft.claim("host.machine", "x86_64" if machine[1].lower() in ("amd64", "x86_64") else machine[1], INFERRED)
    name = re.sub(r"\s{0,40}\((?:x86_64|aarch64|arm64|AMD64|ppc64le)\)", "", text).strip()
    if name.lower() not in ("linux", "windows", "macos", "darwin"):
        draft.claim("host.distribution", name, STATED)
    if wsl := re.search(r"\bWSL\s?([12])?\b", text):
        draft.claim("host.container", f"wsl{wsl[1] or 2}", STATED if wsl[1] else INFERRED)


_LINUX = (
    r"ubuntu|debian|centos|red hat|rhel|rocky|alma|fedora|arch linux|manjaro|suse|amazon linux|pop!_os|mint|gentoo"
    r"|nixos|kali|oracle linux|scientific linux|alibaba|kylin|openeuler|azure|mariner|flatcar|alpine|endeavour|zorin"
)


def _system(text: str) -> str | None:
    start = text.strip().lower()
    if start.startswith(("windows", "microsoft windows", "win32", "win-amd64")):
        return "Windows"
    if start.startswith(("macos", "mac os", "darwin")):
        return "Darwin"
    return "Linux" if start.startswith("linux") else None
