from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.compat.installed_torch import torch_version
from envdoctor.compat.torch_builds import is_published
from envdoctor.facts import Facts
from envdoctor.rule import Finding, Remedy, Severity, Skip, rule
from envdoctor.target import Target


@rule(Severity.NOTE)
def source_build(facts: Facts, target: Target) -> Iterator[Finding]:
    """torch was built from source, or is a nightly.

    Why: no published table says what such a build contains, baselines do not apply to it, and compiled extensions
    must be built against exactly this one. Nightlies disappear from the index after some weeks.
    Fix: nothing, if it was meant.
    Source: https://github.com/pytorch/pytorch#from-source https://github.com/KellerJordan/modded-nanogpt/issues/198
    """
    version = torch_version(facts)
    if version is None:
        raise Skip("torch's version is not known")
    nightly = ".dev" in version
    if (is_published(version) and not nightly) or re.search(r"\+(rocm|xpu)", version):
        return
    container = ".nv" in version
    what = "a nightly" if nightly else "NVIDIA's container build" if container else "built from source"
    yield Finding(
        kind="not-judged",
        subject="torch",
        actual=version,
        expected="a release",
        message=f"torch {version} is {what}: no published table says what it holds, and recorded speeds do not apply.",
        remedy=Remedy(text="Nothing to do, if it was meant."),
    )
