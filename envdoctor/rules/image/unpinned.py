from envdoctor.rules.image._reading import at, recipe_contents
from envdoctor.rules.rule import WARNING, Facts, Findings, Target, rule


@rule(WARNING, kind="version-drift")
def unpinned(facts: Facts, target: Target) -> Findings:
    """torch is installed without a version.

    Why: each build of the image takes the newest release of that day, which brings the newest CUDA line by default: the
    image that ran last month needs another driver today, and its speed is that of other kernels.
    Fix: an exact version; best a lock with hashes (`envdoctor lock`, `pip install --require-hashes`).
    Source: https://pip.pypa.io/en/stable/topics/repeatable-installs/
    https://github.com/pytorch/pytorch/blob/main/RELEASE.md (the default CUDA line of each release)
    """
    pins = {pin.name: pin.version for pin in target.choice.pins} if target.choice else {}
    for file, held in recipe_contents(facts):
        # Of what a devcontainer builds its image from nothing is known here: it may hold torch.
        there = held.base is not None and (held.base.maker in ("pytorch", "ngc") or not held.base.image)
        for torch in held.torches:
            if torch.install is None or torch.version or (torch.wanted and torch.wanted.specifier) or there:
                continue
            example = pins.get("torch") or "2.14.1"
            yield at(
                file,
                torch.line,
                message="torch has no version here: every build takes the newest of its day.",
                fix="Name the version.",
                instead=f"pip install torch=={example}",
            )
