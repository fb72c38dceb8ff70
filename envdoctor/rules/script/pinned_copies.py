from envdoctor.rules.rule import NOTE, Facts, Findings, rule
from envdoctor.rules.script._reading import copies_to_gpu, finding_at, has_unpacked, keyword_literal, loaders, trees


@rule(NOTE, kind="no-effect")
def pinned_copies(facts: Facts) -> Findings:
    """Pinned memory and non-blocking copies are used without each other.

    Why: a copy to the GPU overlaps with computing only when its source is pinned and the copy does not block. One
    without the other changes nothing.
    Fix: DataLoader(pin_memory=True) together with .to(device, non_blocking=True).
    Source: https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    """
    for tree in trees(facts):
        calls = list(loaders(tree))
        if not calls or any(has_unpacked(call) for call in calls):
            continue
        settings = [keyword_literal(call, "pin_memory") for call in calls]
        pinned = any(setting is True for setting in settings)
        copies = [copy for copy, _ in copies_to_gpu(tree)]
        free = [copy for copy in copies if keyword_literal(copy, "non_blocking") is True]
        if pinned and copies and not free:
            yield finding_at(
                tree,
                copies[0],
                expected="non_blocking=True",
                message="the loader pins its batches, but this copy blocks all the same.",
                fix="Copy with non_blocking=True, so that the pinned batch is sent while the GPU computes.",
                run="batch.to(device, non_blocking=True)",
            )
        elif free and not pinned and all(setting in (None, False) for setting in settings):
            yield finding_at(
                tree,
                free[0],
                expected="DataLoader(pin_memory=True)",
                message="non_blocking=True does nothing here: the loader's batches are not pinned.",
                fix="Let the loader pin its batches.",
                run="DataLoader(..., pin_memory=True)",
            )
