from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, SetFlag, Skip, Target, finding, need, remedies, rule

# The only two that scaled_dot_product_attention has on a CPU; torch 2.13 takes flash first there whatever the order
# says (seen in torch.profiler).
_CPU = frozenset({"flash", "math"})


@rule(WARNING, kind="flag-differs", subject="sdp")
def sdp_backends(facts: Facts, target: Target) -> Findings:
    """Attention backends are switched off, or tried in another order than the target asks for.

    Why: scaled_dot_product_attention takes the first enabled backend that accepts the inputs. Which one is
    fastest differs: cuDNN's attention kernels ran 1.7 to 2.3 times as fast as flash on Hopper, and slower on A100
    (0.82x). All are enabled by default, in the order flash, efficient, math, cudnn; with cuDNN 9.15.1 or later (torch
    2.11 on) torch puts cuDNN first on Hopper and on Blackwell for data centers, at the first attention and over any
    order set before. The order counts on CUDA only, and only where this function computes attention.
    Fix: enable the backends and set their order, as the target says.
    Source: https://github.com/huggingface/transformers/pull/48163
    https://github.com/pytorch/pytorch/issues/138907 https://github.com/pytorch/torchtitan/issues/1042
    https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html
    """
    text = target.flags.get("sdp")
    if text is None:
        if target.name == "none":
            raise Skip("no target was chosen")
        return
    flag = need(facts.torch).flags.get("sdp")
    if flag is None or flag.value is None:
        return
    wanted, actual = _names(text), _names(flag.value)
    if target.is_cpu:
        wanted, actual = _cpu(wanted), _cpu(actual)
    if actual == wanted:
        return
    off = [name for name in wanted if name not in actual]
    said = f"switched off: {', '.join(off)}" if off else f"tried in the order {', '.join(actual)}"
    first = bool(wanted) and wanted[0] == (actual[0] if actual else None)
    yield finding(
        actual=",".join(actual) or "none",
        expected=",".join(wanted),
        message=f"attention backends {said}; the target asks for {', '.join(wanted)}.",
        fix=remedies.setting(target, "Enable the backends in the target's order."),
        severity=NOTE if first and not off else None,  # the first choice stands: the rest is a fallback order
        repair=(SetFlag(name="sdp", value=text),),
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _cpu(names: tuple[str, ...]) -> tuple[str, ...]:
    """On a CPU the order is fixed; only what is enabled matters."""
    return tuple(sorted(name for name in names if name in _CPU))
