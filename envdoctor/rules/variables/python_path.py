from envdoctor.rules.rule import NOTE, WARNING, Facts, Finding, Findings, Remedy, finding, known, need, rule


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
        yield _of_another_python("PYTHONHOME", home, "the standard library is taken from there")
    folders = [folder for folder in variables.get("PYTHONPATH", "").split(":") if folder]
    path, own = ":".join(folders), interpreter.site_packages if interpreter else ()
    other = [folder for folder in folders if _holds_packages(folder) and not folder.startswith(own)]
    if other:
        text = f"{', '.join(other)} holds the packages of another Python, which come first"
        yield _of_another_python("PYTHONPATH", path, text)
    elif folders:
        text = f"PYTHONPATH={path}: these folders come before the installed packages."
        yield finding(subject="PYTHONPATH", actual=path, message=text, fix=_unset("PYTHONPATH"))


def _holds_packages(folder: str) -> bool:
    return "site-packages" in folder or "dist-packages" in folder


def _of_another_python(name: str, value: str, text: str) -> Finding:
    return finding(
        subject=name,
        actual=value,
        severity=WARNING,
        message=f"{name}={value}: {text}.",
        fix=_unset(name),
        explains=("packages/import-mismatch", "packages/wheel-tags"),
    )


def _unset(name: str) -> Remedy:
    return Remedy(text="Unset it for the run.", commands=(f"unset {name}",))
