from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Target, finding, need, remedies, rule, versions

_PAIRS = {"pytorch": "torch", "torchvision": "torchvision", "torchaudio": "torchaudio", "numpy": "numpy"}


@rule(WARNING, kind="package-damaged", expected="one of them")
def conda_and_pip(facts: Facts, target: Target) -> Findings:
    """conda and pip both installed the same library, in different versions.

    Why: both write to one site-packages folder, and neither knows of the other's files. What is imported is a
    mixture: Python files of one, libraries of the other.
    Fix: keep one of them; torch is published for pip only since 2.6.
    Source: https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-pkgs.html
    https://github.com/pytorch/pytorch/issues/138506
    """
    packages = need(facts.packages)
    for conda, pip in _PAIRS.items():
        ours, theirs = packages.conda.get(conda), packages.find(pip)
        if ours is None or theirs is None or theirs.installer == "conda":
            continue
        version, _, build = ours.partition(" ")
        same = versions.same(versions.public(theirs.version), version) or _same_sources(theirs.version, version)
        if same or "pypi" in build:
            continue
        again = remedies.install(f"{pip}=={theirs.version}", options="--force-reinstall --no-deps")
        by_hand = f"conda remove --force {conda}", again
        yield finding(
            subject=pip,
            actual=f"{version} by conda, {theirs.version} by {theirs.installer or 'pip'}",
            message=f"{pip} was installed twice over itself: {version} by conda and {theirs.version} by pip.",
            fix=remedies.from_lock(facts, target, pip, "Remove conda's, then install pip's again.", *by_hand),
            # A report may list conda's packages of another environment than the one that pip looked at.
            severity=NOTE if facts.origin.kind == "pasted" else None,
        )


def _same_sources(pip: str, conda: str) -> bool:
    """conda's own torchaudio and torchvision name themselves "0.7.0a0+ac17b64" in their metadata."""
    parsed = versions.parse(pip)
    return parsed is not None and parsed.is_prerelease and versions.same(parsed.base_version, conda)
