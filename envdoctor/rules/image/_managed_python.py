"""Where packages would go to the distribution's own Python, which is marked as managed by apt."""

from __future__ import annotations

from envdoctor.facts.images.dockerfile import Stage
from envdoctor.knowledge.questions import numbers
from envdoctor.rules.image._contents import Contents
from envdoctor.rules.image._installs import Install

_MANAGED = (3, 11)  # Pythons of Debian 12, Ubuntu 24.04 and later are marked so; older ones are not
_ELSEWHERE = ("-t", "--target", "--prefix", "--root", "-p", "--python")
_OTHER_FOLDERS = ("/opt", "/venv", "/app", "/root")


def refused_install(held: Contents) -> Install | None:
    """The first command that pip or uv refuses."""
    if not _is_externally_managed(held) or any(_unlocks_it(stage) for stage in held.file.chain(held.stage)):
        return None
    return next((install for install in held.installs if _is_refused(install)), None)


def _is_externally_managed(held: Contents) -> bool:
    """Is the Python that packages go to that of a distribution which marks it?"""
    made = held.base
    if made is None or made.maker not in ("cuda", "other") or made.python is None or held.python != made.python:
        return False
    return numbers(made.python) >= _MANAGED and not any(one.tool == "conda" for one in held.installs)


def _unlocks_it(stage: Stage) -> bool:
    """Is the mark taken away, or overruled for all, or another Python put before it on the path?"""
    told = stage.variables
    if any(told.get(f"{tool}_BREAK_SYSTEM_PACKAGES", "0").lower() not in ("", "0", "false") for tool in ("PIP", "UV")):
        return True
    path = told.get("PATH", "").split(":")[0]
    if told.get("VIRTUAL_ENV") or told.get("UV_PROJECT_ENVIRONMENT") or path.startswith(_OTHER_FOLDERS):
        return True
    return any("EXTERNALLY-MANAGED" in one.text or "break-system-packages" in one.text for one in stage.instructions)


def _is_refused(install: Install) -> bool:
    if install.tool not in ("pip", "uv") or not (install.wanted or install.has("-r", "--requirement")):
        return False
    if install.tool == "uv" and not (install.has("--system") or install.variable("UV_SYSTEM_PYTHON")):
        return False  # uv asks for a virtual environment by itself
    if install.has(*_ELSEWHERE):
        return False
    program, before = install.command.words[0].text, install.instruction.commands
    activated = any(one.program in (".", "source") and one.line <= install.line for one in before)
    own = "/" not in program or program.startswith(("/usr/bin/", "/usr/local/bin/", "/bin/"))
    return own and not activated
