from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.rule import Finding, Severity, rule
from envdoctor.rules.script._reading import found, given, trees
from envdoctor.rules.script._steps import steps
from envdoctor.target import Target

_SAMPLERS = ("torch.utils.data.DistributedSampler", "torch.utils.data.distributed.DistributedSampler")


@rule(Severity.WARNING)
def sampler_epoch(facts: Facts, target: Target) -> Iterator[Finding]:
    """A DistributedSampler is never told the epoch.

    Why: it shuffles by seed plus epoch. Without set_epoch() every epoch comes in the same order.
    Fix: call sampler.set_epoch(epoch) at the start of each epoch.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
    """
    for tree in trees(facts):
        if (
            not steps(tree)
            or "set_epoch" in tree.script.source
            or tree.imports("accelerate", "lightning", "pytorch_lightning")
        ):
            continue
        for call in tree.calls(*_SAMPLERS):
            if given(call, "shuffle") is not False:
                yield found(
                    tree,
                    call,
                    kind="script-wrong",
                    expected="sampler.set_epoch(epoch) in each epoch",
                    message="the sampler is never told the epoch: every epoch comes in the same order.",
                    text="Call set_epoch at the start of each epoch.",
                    line="sampler.set_epoch(epoch)",
                )
