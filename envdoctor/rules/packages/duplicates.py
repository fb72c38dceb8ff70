from envdoctor.rules.rule import ERROR, NOTE, Facts, Findings, Pin, Target, finding, need, remedies, rule


@rule(ERROR, kind="package-damaged", expected="one version, recorded once")
def duplicates(facts: Facts, target: Target) -> Findings:
    """A package is recorded twice.

    Why: two .dist-info folders of one package in one place mean that an installation was interrupted or copied
    over another: the files are those of one version, a mixture, or of neither, and tools report whichever they
    meet first. The same package in two places is only noted; Python uses the first.
    Fix: install the package again; the installer removes every record of it first.
    Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    https://github.com/pypa/pip/issues/9101
    """
    packages = need(facts.packages)
    seen: dict[str, list[tuple[str, str | None]]] = {}
    for distribution in packages.distributions:
        seen.setdefault(distribution.name, []).append((distribution.version, distribution.location))
    for piece in packages.damaged:
        if piece.kind == "duplicate" and len(seen.get(piece.distribution, ())) < 2:
            seen.setdefault(piece.distribution, []).append((piece.detail or piece.path, None))
    for name, places in sorted(seen.items()):
        if len(places) < 2:
            continue
        locations = [location for _, location in places]
        apart = None not in locations and len(set(locations)) == len(locations)
        versions = ", ".join(dict.fromkeys(version for version, _ in places))
        pin = target.pin(name)
        pins = (Pin(name=name, version=pin.version),) if pin and not apart else ()
        text = f"Remove the {name} that is not meant." if apart else f"Install {name} again."
        again = remedies.install(f"{name}=={pin.version if pin else places[0][0]}")
        severity = NOTE if apart else None
        message = f"{name} is recorded {len(places)} times: {versions}."
        fix = remedies.choose(target, pins, text, remedies.uninstall(name), again)
        explains = () if apart else (f"packages/pinned-versions {name}", f"packages/damaged {name}")
        yield finding(
            subject=name, actual=versions, severity=severity, message=message, fix=fix, repair=pins, explains=explains
        )
