from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts, Interpreter
from envdoctor.rule import Finding, Remedy, Severity, known, need, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def python_path(facts: Facts, target: Target) -> Iterator[Finding]:
    """PYTHONPATH or PYTHONHOME redirects imports.

    Why: what PYTHONPATH names comes before the environment's packages, in every Python that is started. A
    site-packages folder of another Python there mixes two environments; PYTHONHOME takes even the standard
    library from elsewhere.
    Fix: unset it; install packages into the environment instead.
    Source: https://docs.python.org/3/using/cmdline.html#envvar-PYTHONPATH
    https://docs.python.org/3/using/cmdline.html#envvar-PYTHONHOME
    """
    variables, interpreter = need(facts.variables), known(facts.interpreter)
    home = variables.get("PYTHONHOME")
    if home:
        yield _finding("PYTHONHOME", home, "the standard library is taken from there", Severity.WARNING, 30)
    folders = [folder for folder in variables.get("PYTHONPATH", "").split(":") if folder]
    other = [folder for folder in folders if _packages_of_another(folder, interpreter)]
    if other:
        text = f"{', '.join(other)} holds the packages of another Python, which come first"
        yield _finding("PYTHONPATH", ":".join(folders), text, Severity.WARNING, 30)
    elif folders:
        yield _finding("PYTHONPATH", ":".join(folders), "these folders come before the installed packages", None, 0)


def _packages_of_another(folder: str, interpreter: Interpreter | None) -> bool:
    if "site-packages" not in folder and "dist-packages" not in folder:
        return False
    return interpreter is None or not any(folder.startswith(own) for own in interpreter.site_packages)


def _finding(name: str, value: str, text: str, severity: Severity | None, rank: int) -> Finding:
    return Finding(
        kind="interpreter",
        subject=name,
        actual=value,
        expected="not set",
        message=f"{name}={value}: {text}.",
        remedy=Remedy(text="Unset it for the run.", commands=(f"unset {name}",)),
        severity=severity,
        explains=("packages/import-mismatch", "packages/wheel-tags") if rank else (),
        root_rank=rank,
    )
