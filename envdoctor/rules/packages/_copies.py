"""The release that a text names has what the error misses: it is not what runs."""

from __future__ import annotations

from envdoctor.rules.packages._callers import CALLER
from envdoctor.rules.rule import WARNING, Finding, Packages, Target, finding, remedies


def another_copy(
    target: Target, packages: Packages | None, name: str, version: str, has: str, line: str, *, module: str, source: str
) -> Finding:
    """``has``: what the package has and in which releases, as a clause. A warning, since people name the wrong one."""
    locked = remedies.locked_pins(target, packages, name)
    return finding(
        subject=name,
        actual=f"{version} is listed",
        expected="the release that is listed",
        severity=WARNING,
        certain=False,
        message=f"{has}, and {version} is listed: what runs is another copy of it (of another Python, or in the user's "
        f"own site-packages), files of two releases are mixed, or Python was not started anew: {CALLER.sub('', line)}",
        fix="See which file is imported and of which release, start Python anew (in a notebook: restart the runtime), "
        "and install it again into that very Python.",
        run=(
            f"python -c 'import {module}; print({module}.__file__, {module}.__version__)'",
            remedies.install_anew(name, version, "--no-deps --no-cache-dir"),
        ),
        repair=locked,
        source=source,
    )
