from envdoctor.rules.packages import _apart
from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Target, finding, remedies, rule

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
    found = _apart.installed_otherwise(facts, target)
    older = [each for each in found if each.slower]
    if older:
        yield from _findings(older, "older than" if _all(older, "older") else "not as", target, None)
    newer = [each for each in found if each.relation == "newer"]
    if newer:
        yield from _findings(newer, "newer than", target, "newer than anything that was timed")
    builds = [each for each in found if each.relation == "another build" and not each.slower]
    if builds:
        yield from _findings(
            builds, "of another build than", target, "the same release, and nothing shows it to be slower"
        )
    plumbing = [each for each in found if _apart.is_plumbing(each) and each.relation not in ("newer", "another build")]
    if plumbing:
        yield from _findings(
            plumbing, "older than" if _all(plumbing, "older") else "not as", target, "no part of training"
        )
    choice = target.choice
    if choice is not None and choice.preferred is not None:
        expected = choice.preferred
        message = f"What {choice.stack} locks is installed; {choice.preferred} is newer, and would run here too."
        fix = f"Nothing needs to be done. To move on: take the stack {choice.preferred}."
        run = f"envdoctor fix --target {target.name} --stack {choice.preferred}"
        yield finding(
            subject="stack", actual=choice.stack, expected=expected, severity=NOTE, message=message, fix=fix, run=run
        )


def _all(found: _apart.Differences, relation: str) -> bool:
    return all(each.relation == relation for each in found)


def _findings(found: _apart.Differences, how: str, target: Target, remark: str | None) -> Findings:
    """One finding for all of them: its rows name each. ``remark``: why this is a note, None for a warning."""
    stack, first = target.choice.stack if target.choice else "", found[0]
    tail = f" ({remark})" if remark else ""
    if len(found) == 1:
        relation = f"{first.relation} than" if first.relation in ("older", "newer", "another build") else "not"
        message = f"{first.name} {first.installed} is {relation} {first.locked}, which {stack} locks{tail}."
        subject, actual, expected = first.name, first.installed or "", first.locked
        by_hand = remedies.install(f"{first.name}=={first.locked}")
    else:
        named = _apart.listing([f"{each.name} {each.installed} ({each.locked})" for each in found], _NAMED)
        message = f"{len(found)} packages are {how} {stack} locks them: {named}{tail}."
        subject, actual, expected = f"{len(found)} packages", how.removesuffix(" than"), stack
        by_hand = "" if remark else remedies.install(*(f"{each.name}=={each.locked}" for each in found))
        actual = "not as locked" if how == "not as" else actual
    severity = NOTE if remark else None
    fix = _apart.to_lock(target, found, _advice(found, remark), by_hand)
    rows = _apart.rows(found)
    yield finding(
        subject=subject, actual=actual, expected=expected, severity=severity, message=message, fix=fix, rows=rows
    )


def _advice(found: _apart.Differences, remark: str | None) -> str:
    if remark and found[0].relation == "newer":
        return "Nothing needs to be done; `envdoctor fix` would go back to the lock, --keep-newer leaves these."
    return f"Install the locked {found[0].name}." if len(found) == 1 else "Install the locked versions."
