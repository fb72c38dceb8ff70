from collections.abc import Sequence

from envdoctor.knowledge.questions import PLUMBING, TRAINING
from envdoctor.locks.comparison import Difference, differences
from envdoctor.rules.finding import Row
from envdoctor.rules.rule import NOTE, WARNING, Facts, Finding, Findings, Pin, Target, finding, need, remedies, rule

_NAMED = 4  # packages that a sentence names before it counts the rest; the rows hold all


@rule(WARNING, kind="version-drift")
def pinned_versions(facts: Facts, target: Target) -> Findings:
    """Installed versions differ from the target's stack.

    Why: a recorded speed belongs to exactly the locked packages. Older ones lack what later ones mended, and a base
    image alone moved iteration time by -7.8 % to +26.8 %. Newer ones than any that were timed are noted only: nothing
    shows them to be slower. So are packages that never run in a training step, and the same release built for another
    CUDA line; a CPU build on a GPU is a warning.
    Fix: install the locked versions in one step that can be undone (`envdoctor fix`, which leaves what is newer with
    --keep-newer), or lock what you have (`envdoctor lock`).
    Source: https://github.com/NVIDIA/Megatron-LM/pull/6991 https://github.com/huggingface/transformers/issues/37504
    """
    packages = need(facts.packages)
    choice = need(target.choice, target.no_choice or "no stack was chosen for this machine")
    found = [each for each in differences(packages, choice.pins, choice.cuda) if each.relation != "missing"]
    found.sort(key=lambda each: (each.name != "torch", each.name not in TRAINING, each.name))
    older = [each for each in found if each.slower]
    if older:
        yield _finding(older, "older than" if _all(older, "older") else "not as", target, None)
    newer = [each for each in found if each.relation == "newer"]
    if newer:
        yield _finding(newer, "newer than", target, "newer than anything that was timed")
    builds = [each for each in found if each.relation == "another build" and not each.slower]
    if builds:
        yield _finding(builds, "of another build than", target, "the same release, and nothing shows it to be slower")
    plumbing = [each for each in found if each.name in PLUMBING and each.relation not in ("newer", "another build")]
    if plumbing:
        yield _finding(plumbing, "older than" if _all(plumbing, "older") else "not as", target, "no part of training")
    if choice.preferred is not None:
        yield finding(
            subject="stack",
            actual=choice.stack,
            expected=choice.preferred,
            severity=NOTE,
            message=f"What {choice.stack} locks is installed; {choice.preferred} is newer, and would run here too.",
            fix=f"Nothing needs to be done. To move on: take the stack {choice.preferred}.",
            run=f"envdoctor fix --target {target.name} --stack {choice.preferred}",
        )


def _all(found: Sequence[Difference], relation: str) -> bool:
    return all(each.relation == relation for each in found)


def _finding(found: Sequence[Difference], how: str, target: Target, remark: str | None) -> Finding:
    """One finding for all of them: its rows name each. ``remark``: why this is a note, None for a warning."""
    assert target.choice is not None
    stack, first = target.choice.stack, found[0]
    tail = f" ({remark})" if remark else ""
    pins = tuple(Pin(name=each.name, version=each.locked) for each in found)
    if len(found) == 1:
        relation = f"{first.relation} than" if first.relation in ("older", "newer", "another build") else "not"
        message = f"{first.name} {first.installed} is {relation} {first.locked}, which {stack} locks{tail}."
        subject, actual, expected = first.name, first.installed or "", first.locked
        by_hand = remedies.install(f"{first.name}=={first.locked}")
    else:
        named = ", ".join(f"{each.name} {each.installed} ({each.locked})" for each in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        message = f"{len(found)} packages are {how} {stack} locks them: {named}{more}{tail}."
        subject, actual, expected = f"{len(found)} packages", how.removesuffix(" than"), stack
        by_hand = "" if remark else remedies.install(*(f"{each.name}=={each.locked}" for each in found))
        actual = "not as locked" if how == "not as" else actual
    return finding(
        subject=subject,
        actual=actual,
        expected=expected,
        severity=NOTE if remark else None,
        message=message,
        fix=remedies.repair(target, _advice(found, remark), by_hand),
        repair=pins,
        rows=tuple(Row(subject=each.name, actual=each.installed or "", expected=each.locked) for each in found),
    )


def _advice(found: Sequence[Difference], remark: str | None) -> str:
    if remark and found[0].relation == "newer":
        return "Nothing needs to be done; `envdoctor fix` would go back to the lock, --keep-newer leaves these."
    return f"Install the locked {found[0].name}." if len(found) == 1 else "Install the locked versions."
