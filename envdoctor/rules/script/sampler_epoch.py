from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import finding_at, keyword_literal, steps, trees

_SAMPLERS = ("torch.utils.data.DistributedSampler", "torch.utils.data.distributed.DistributedSampler")
_TELL_THEMSELVES = ("accelerate", "lightning", "pytorch_lightning")


@rule(WARNING, kind="script-wrong", expected="sampler.set_epoch(epoch) in each epoch")
def sampler_epoch(facts: Facts) -> Findings:
    """A DistributedSampler is never told the epoch.

    Why: it shuffles by seed plus epoch. Without set_epoch() every epoch comes in the same order.
    Fix: call sampler.set_epoch(epoch) at the start of each epoch.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
    """
    for tree in trees(facts):
        if not steps(tree) or "set_epoch" in tree.script.source or tree.imports(*_TELL_THEMSELVES):
            continue
        for call in tree.calls(*_SAMPLERS):
            if keyword_literal(call, "shuffle") is not False:
                yield finding_at(
                    tree,
                    call,
                    message="the sampler is never told the epoch: every epoch comes in the same order.",
                    fix="Call set_epoch at the start of each epoch.",
                    run="sampler.set_epoch(epoch)",
                )
