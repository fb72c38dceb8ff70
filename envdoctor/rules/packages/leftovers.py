from envdoctor.rules.rule import NOTE, Facts, Findings, finding, known, need, rule, shell

_WORDS: dict[str, str] = {
    "leftover": "the remains of an interrupted pip",
    "partial-file": "the remains of an interrupted uv",
    "orphan-file": "files that no package owns",
    "dangling-path-file": "a .pth line that leads nowhere",
    "nameless": "metadata without a name",
}


@rule(NOTE, kind="package-damaged", expected="nothing")
def leftovers(facts: Facts) -> Findings:
    """An installer that was killed left something behind.

    Why: pip renames what it replaces to ~name and removes it at the end; a kill or a full disk in between leaves
    it. It takes space and makes pip warn ("Ignoring invalid distribution"), and tells that an installation did
    not finish. It does not slow training.
    Fix: remove it, after a look.
    Source: https://github.com/pypa/pip/issues/11726
    """
    packages = need(facts.packages)
    interpreter = known(facts.interpreter)
    folder = interpreter.site_packages[0] if interpreter and interpreter.site_packages else ""
    for kind, words in _WORDS.items():
        paths = sorted({piece.path for piece in packages.damaged if piece.kind == kind})
        if not paths:
            continue
        removable = paths[:5] if kind in ("leftover", "partial-file") else ()
        first = ", ".join(paths[:5])
        yield finding(
            subject=words,
            actual=f"{first}, and {len(paths) - 5} more" if len(paths) > 5 else first,
            message=f"{words[0].upper()}{words[1:]}: {first}.",
            fix="Look at it, then remove it.",
            run=tuple(f"rm -r -- {_quote(folder, path)}" for path in removable),
        )


def _quote(folder: str, path: str) -> str:
    """For the shell; a home that was shortened to ~ must stay outside the quotes."""
    whole = f"{folder}/{path}" if folder and not path.startswith(("/", "~/")) else path
    return shell.word(whole)
