from envdoctor.rules.rule import ERROR, NOTE, DamagedFile, Facts, Findings, Skip, Target, finding, need, remedies, rule

_WORDS: dict[str, str] = {
    "missing-file": "missing",
    "wrong-size": "of another size than installed",
    "wrong-hash": "altered",
    "unreadable": "unreadable",
    "no-metadata": "without metadata",
    "broken-metadata": "with unreadable metadata",
    "no-record": "without RECORD",
    "empty-record": "with an empty RECORD",
    "broken-record": "with a broken RECORD",
    "escaping-record": "named by RECORD outside the environment",
    "version-disagrees": "of another version than the metadata says",
}
_BOOKKEEPING = frozenset({"no-record", "empty-record", "broken-record", "escaping-record"})
_HARMLESS_PARTS = frozenset({"test", "tests", "testing", "docs", "doc", "examples", "include", "licenses", "man"})
_HARMLESS_ENDS = (".pyi", ".md", ".rst", ".txt", ".h", ".hpp", ".pyx", ".pxd", ".1", "LICENSE", "py.typed")


@rule(ERROR, kind="package-damaged", expected="as RECORD lists it")
def damaged(facts: Facts, target: Target) -> Findings:
    """Files of an installed package are missing or altered.

    Why: an interrupted download, a full disk or a killed installer leaves packages whose version looks right
    while a library is cut off or absent; the import then fails, or works until the missing part is needed. Lost
    tests, headers and texts are only noted, and so is broken bookkeeping (RECORD), which hinders pip but not
    training.
    Fix: install the same version again.
    Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    https://github.com/conda/conda/tree/main/conda/plugins/subcommands/doctor
    """
    packages = need(facts.packages)
    if packages.damage_checked == "none" and not packages.damaged:
        raise Skip("the files were not compared with RECORD")
    damaged: dict[str, list[DamagedFile]] = {}
    for piece in sorted(packages.damaged, key=lambda piece: (piece.distribution, not _serious(piece), piece.path)):
        if piece.kind in _WORDS:
            damaged.setdefault(piece.distribution, []).append(piece)
    for name, pieces in damaged.items():
        version, pin, serious = packages.version(name), target.pin(name), _serious(pieces[0])
        wanted = pin.version if pin else version
        exact = f"{name}=={wanted}" if wanted else name
        by_hand = remedies.install(exact, options="--force-reinstall --no-deps")
        actual = _summary(pieces)
        severity = None if serious else NOTE
        message = f"{name}{' ' + version if version else ''} is damaged: {_summary(pieces)}."
        fix = remedies.anew(target, name, f"Install {exact} again.", by_hand)
        explains = _consequences(name) if serious else ()
        yield finding(subject=name, actual=actual, severity=severity, message=message, fix=fix, explains=explains)


def _serious(piece: DamagedFile) -> bool:
    if piece.kind in _BOOKKEEPING:
        return False
    if ".dist-info/" in piece.path:
        return piece.path.endswith("/METADATA")
    if piece.kind != "missing-file":
        return True
    folders = piece.path.replace("\\", "/").split("/")
    return not (_HARMLESS_PARTS & set(folders[:-1]) or folders[-1].endswith(_HARMLESS_ENDS))


def _summary(pieces: list[DamagedFile]) -> str:
    first = f"{pieces[0].path} is {_WORDS[pieces[0].kind]}"
    if pieces[0].detail:
        first += f" ({pieces[0].detail})"
    return first if len(pieces) == 1 else f"{first}, and {len(pieces) - 1} more"


def _consequences(name: str) -> tuple[str, ...]:
    """Whatever torch cannot do when its own files, or the libraries that it loads, are broken."""
    if name == "torch" or name.startswith(("nvidia-", "triton", "numpy")):
        return ("torch/", "packages/extension-abi", "packages/numpy-abi")
    return (f"packages/extension-abi {name}", f"packages/extension-binary {name}")
