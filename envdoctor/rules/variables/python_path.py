from envdoctor.rules.finding import Finding
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Interpreter, Severity, finding, known, need, rule


@rule(NOTE, kind="interpreter", expected="not set")
def python_path(facts: Facts) -> Findings:
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
        yield _finding("PYTHONHOME", home, "the standard library is taken from there", WARNING)
    folders = [folder for folder in variables.get("PYTHONPATH", "").split(":") if folder]
    other = [folder for folder in folders if _packages_of_another(folder, interpreter)]
    if other:
        text = f"{', '.join(other)} holds the packages of another Python, which come first"
        yield _finding("PYTHONPATH", ":".join(folders), text, WARNING)
    elif folders:
        yield _finding("PYTHONPATH", ":".join(folders), "these folders come before the installed packages", None)


def _packages_of_another(folder: str, interpreter: Interpreter | None) -> bool:
    if "site-packages" not in folder and "dist-packages" not in folder:
        return False
    return interpreter is None or not any(folder.startswith(own) for own in interpreter.site_packages)


def _finding(name: str, value: str, text: str, severity: Severity | None) -> Finding:
    return finding(
        subject=name,
        actual=value,
        severity=severity,
        message=f"{name}={value}: {text}.",
        fix="Unset it for the run.",
        run=f"unset {name}",
        explains=("packages/import-mismatch", "packages/wheel-tags") if severity else (),
    )
