from envdoctor.rules.image._reading import as_facts, at, misfits, on_line, pin_findings, pinned_twice, recipe_contents
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Target, rule


@rule(ERROR, kind="package-conflict")
def pins(facts: Facts, target: Target) -> Findings:
    """Versions in the file contradict each other.

    Why: torchvision, torchaudio, xformers and compiled wheels go with one torch; a second line with another version of
    the same package wins, whatever the first one said. The image builds, and fails on import.
    Fix: versions that belong together, in one command.
    Source: https://github.com/pytorch/vision#installation https://github.com/pytorch/pytorch/issues/157648
    https://docs.pytorch.org/audio/2.11.0/installation.html
    """
    for file, held in recipe_contents(facts):
        seen = as_facts(facts, target, held)
        for first, wanted in pinned_twice(held):
            yield at(
                file,
                wanted.line,
                about=wanted.name,
                kind="version-drift",
                severity=WARNING,
                message=f"{wanted.name} {wanted.version} replaces the {first.version} of line {first.line}.",
                fix="Name each version once, in one command, so that the resolver sees both demands.",
                instead=f"{wanted.name}=={first.version}, or line {first.line} with {wanted.version}",
            )
        told = pin_findings(held, seen, target)
        yield from (on_line(found, judge, file, line) for line, (found, judge) in told.items())
        for wheel, reason, fitting in misfits(held, seen):
            if wheel.line not in told:
                yield at(
                    file,
                    wheel.line,
                    about=wheel.name,
                    kind="extension-abi-mismatch",
                    message=f"this wheel of {wheel.name} does not fit the image's torch: {reason}.",
                    fix="Take the wheel whose name has this torch, CUDA, Python and C++ ABI.",
                    instead=f"a wheel for {fitting}",
                )
