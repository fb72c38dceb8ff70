from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Target, rule, trains_on_gpu
from envdoctor.rules.script._reading import each_step, finding_at, losses, trees, wait_at


@rule(WARNING, kind="script-slow", expected="no wait in the step")
def sync_per_step(facts: Facts, target: Target) -> Findings:
    """The training loop waits for the GPU in every step.

    Why: .item(), float(loss), print(loss), .cpu() and torch.cuda.synchronize() hold the host until every queued kernel
    has ended. The GPU then has nothing queued and idles while the host prepares the next step.
    Fix: keep the loss on the GPU (``total += loss.detach()``) and read it every n-th step.
    Source: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
    """
    note = trains_on_gpu(facts, target) is False
    for tree in trees(facts):
        names = losses(tree)
        lines: set[int] = set()
        for node in each_step(tree):
            what = wait_at(tree, node, names)
            number = getattr(node, "lineno", 0)
            if what and number not in lines:
                lines.add(number)
                yield finding_at(
                    tree,
                    node,
                    severity=NOTE if note else None,
                    message=f"{what} makes the host wait for the GPU in every step.",
                    fix="Add up on the GPU and read the sum every n-th step.",
                    run="total += loss.detach()    # and total.item() only when logging, every n steps",
                )
