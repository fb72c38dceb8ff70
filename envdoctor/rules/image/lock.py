from envdoctor.rules.image._reading import at, differences_by_line, recipe_contents
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Target, need, rule


@rule(WARNING, kind="version-drift")
def lock(facts: Facts, target: Target) -> Findings:
    """Versions in the file differ from what the target's stack locks.

    Why: a recorded speed belongs to exactly the locked packages, and older ones lack what later ones mended. Newer ones
    than any that were timed are noted only.
    Fix: the locked versions; `envdoctor ci docker` prints a file that takes all of them by hash.
    Source: https://github.com/NVIDIA/Megatron-LM/pull/6991, and the target's lockfile
    """
    choice = need(target.choice, target.no_choice or "no stack was chosen for this image")
    for file, held in recipe_contents(facts):
        for line, rows in differences_by_line(facts, target, held, choice):
            older = [row for row in rows if not row.newer]
            shown = older or rows
            named = ", ".join(f"{row.name} {row.here} ({row.locked})" for row in shown)
            yield at(
                file,
                line,
                severity=None if older else NOTE,
                message=f"{'not as' if older else 'newer than'} {choice.stack} locks it: {named}.",
                fix="Take the locked versions." if older else "Nothing needs to be done.",
                instead=" ".join(f"{row.name}=={row.locked}" for row in shown),
            )
