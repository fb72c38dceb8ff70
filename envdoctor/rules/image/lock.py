from envdoctor.knowledge.questions import TRAINING
from envdoctor.locks.comparison import differences
from envdoctor.rules.image._contents import as_facts, every
from envdoctor.rules.image._reading import at, recipes
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Target, known, need, rule


@rule(WARNING, kind="version-drift")
def lock(facts: Facts, target: Target) -> Findings:
    """Versions in the file differ from what the target's stack locks.

    Why: a recorded speed belongs to exactly the locked packages, and older ones lack what later ones mended. Newer ones
    than any that were timed are noted only.
    Fix: the locked versions; `envdoctor ci docker` prints a file that takes all of them by hash.
    Source: https://github.com/NVIDIA/Megatron-LM/pull/6991, and the target's lockfile
    """
    choice = need(target.choice, target.no_choice or "no stack was chosen for this image")
    for file, parsed in recipes(facts):
        for held in every(parsed):
            packages = known(as_facts(facts, target, held).packages)
            found = differences(packages, choice.pins, choice.cuda) if packages is not None else ()
            lines: dict[int, list[tuple[str, str, str, bool]]] = {}
            for each in found:
                wanted = held.pins.get(each.name)
                if wanted is not None and each.name in TRAINING and each.relation != "another build":
                    row = (each.name, each.installed or "", each.locked, each.relation == "newer")
                    lines.setdefault(wanted.line, []).append(row)
            for line, rows in sorted(lines.items()):
                older = [row for row in rows if not row[3]]
                shown = older or rows
                named = ", ".join(f"{name} {here} ({there})" for name, here, there, _ in shown)
                yield at(
                    file,
                    line,
                    severity=None if older else NOTE,
                    message=f"{'not as' if older else 'newer than'} {choice.stack} locks it: {named}.",
                    fix="Take the locked versions." if older else "Nothing needs to be done.",
                    instead=" ".join(f"{name}=={there}" for name, _, there, _ in shown),
                )
