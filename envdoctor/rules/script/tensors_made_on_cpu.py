from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import Call, code, copies_to_gpu, finding_at, keyword, trees

_MAKERS = tuple(
    f"torch.{name}" for name in "zeros ones full empty arange eye rand randn randint linspace tensor randperm".split()
)


@rule(WARNING, kind="script-slow", expected="device= where the tensor is made")
def tensors_made_on_cpu(facts: Facts) -> Findings:
    """Tensors are made on the CPU in every step and copied to the GPU.

    Why: each such copy comes from ordinary memory, so the host waits for it. Made on the GPU it costs one launch.
    Fix: give the device when the tensor is made, or make it once before the loop.
    Source: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#create-tensors-directly-on-the-target-device
    """
    for tree in trees(facts):
        for call, made in copies_to_gpu(tree):
            if isinstance(made, Call) and tree.is_call(made, *_MAKERS) and keyword(made, "device") is None:
                yield finding_at(
                    tree,
                    call,
                    message="a tensor is made on the CPU and copied to the GPU in every step.",
                    fix="Make it on the device, or once before the loop.",
                    run=f"{code(made)[:-1]}, device=device)"[:160],
                )
