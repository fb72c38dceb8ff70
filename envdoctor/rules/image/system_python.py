from envdoctor.facts.images.dockerfile import Stage
from envdoctor.knowledge.questions import numbers
from envdoctor.rules.image._contents import Contents, every
from envdoctor.rules.image._installs import Install
from envdoctor.rules.image._reading import at, recipes
from envdoctor.rules.rule import ERROR, Facts, Findings, rule

_MANAGED = (3, 11)  # Pythons of Debian 12, Ubuntu 24.04 and later are marked so; older ones are not
_PREFIXES = (
    "RUN python3 -m venv /opt/venv, then ENV PATH=/opt/venv/bin:$PATH",
    'python3 -m venv ~/venv first, and "remoteEnv": { "PATH": "/home/USER/venv/bin:${containerEnv:PATH}" }',
)
_ELSEWHERE = ("-t", "--target", "--prefix", "--root", "-p", "--python")


@rule(ERROR, kind="interpreter")
def system_python(facts: Facts) -> Findings:
    """pip is told to install into the distribution's own Python, and refuses.

    Why: Debian 12, Ubuntu 24.04 and later mark their python3 as managed by apt. pip and `uv pip install --system` end
    with "error: externally-managed-environment", and the build with them.
    Fix: a virtual environment in the image, or `--break-system-packages` where the image is for this one purpose.
    Source: https://packaging.python.org/en/latest/specifications/externally-managed-environments/
    https://peps.python.org/pep-0668/
    """
    for file, parsed in recipes(facts):
        for held in every(parsed):
            if not _is_externally_managed(held) or any(_unlocks_it(stage) for stage in parsed.chain(held.stage)):
                continue
            for install in held.installs:
                if _is_refused(install):
                    yield at(
                        file,
                        install.line,
                        message="python3 here is apt's own, and pip refuses to install into it: this step fails.",
                        fix="Install into a virtual environment.",
                        instead=_PREFIXES[file.kind == "devcontainer"],
                    )
                    break  # the build ends there


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
    if (
        told.get("VIRTUAL_ENV")
        or told.get("UV_PROJECT_ENVIRONMENT")
        or path.startswith(("/opt", "/venv", "/app", "/root"))
    ):
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
