from envdoctor.rules.rule import NOTE, Facts, Findings, finding, need, rule

# Files that installers and editors are known to leave; they run code by design.
_EXPECTED = ("distutils-precedence.pth", "_virtualenv.pth", "a1_coverage.pth", "__editable__", "easy-install.pth")


@rule(NOTE, kind="interpreter", subject="path files", expected="none")
def outside_paths(facts: Facts) -> Findings:
    """.pth files run code at start-up, or add directories from outside the environment.

    Why: what they add is imported like installed packages, but belongs to no package: it is in no list and in no
    lock.
    Fix: nothing while it is meant; remove the file otherwise.
    Source: https://docs.python.org/3/library/site.html
    """
    lines = [line for line in need(facts.interpreter).path_files if not _is_expected(line)]
    if lines:
        first, many = "; ".join(lines[:5]), "ies reach" if len(lines) > 1 else "y reaches"
        text = f"{len(lines)} .pth entr{many} beyond the environment: {first}."
        yield finding(actual=first, message=text, fix="Nothing to do while this is meant.")


def _is_expected(line: str) -> bool:
    return any(name in line for name in _EXPECTED) or "envdoctor" in line
