from envdoctor.knowledge.questions import versions
from envdoctor.rules.attention._gpu import Capability, need_capabilities
from envdoctor.rules.rule import NOTE, WARNING, Facts, Finding, Findings, Kind, Target, finding, need, remedies, rule

_THREE = frozenset({(8, 0), (9, 0)})


@rule(WARNING, expected="a generation made for this GPU")
def flash_generation(facts: Facts, target: Target) -> Findings:
    """The FlashAttention installed is of another generation than the GPU.

    Why: FlashAttention 3 is written for Hopper (9.0); its sources hold kernels for 8.0 too, and none for 8.6, 8.9 and
    Blackwell. FlashAttention 4 is for Hopper and Blackwell: on Ampere its forward runs, its backward does not.
    FlashAttention 2 runs from Ampere on, without what Hopper adds.
    Fix: the package for this GPU, or scaled_dot_product_attention.
    Source: https://github.com/Dao-AILab/flash-attention https://github.com/huggingface/transformers/pull/48163
    https://github.com/NVIDIA/cudnn-frontend/pull/852
    """
    packages, found = need(facts.packages), need_capabilities(facts, target)
    if not found:
        return
    three, four = packages.version("flash-attn-3"), packages.version("flash-attn-4")
    two = packages.version("flash-attn")
    if two and versions.at_least(two, "3"):
        three, two = two, None
    if three and any(capability not in _THREE for capability in found):
        yield _misfit("flash-attn-3", three, found, "runs on Hopper and A100 only", "extension-binary-missing")
    if four and max(found) < (9, 0):
        yield _misfit("flash-attn-4", four, found, "trains on Hopper and Blackwell only", "extension-binary-missing")
    if two and not three and not four and min(found) >= (9, 0) and max(found) < (10, 0):
        yield _misfit("flash-attn", two, found, "does not use what Hopper adds; FlashAttention 3 and 4 do", "no-effect")


def _misfit(name: str, version: str, found: frozenset[Capability], why: str, kind: Kind) -> Finding:
    gpus = ", ".join(f"{major}.{minor}" for major, minor in sorted(found))
    return finding(
        subject=name,
        actual=f"{name} {version} on compute capability {gpus}",
        kind=kind,
        severity=NOTE if kind == "no-effect" else None,
        message=f"{name} {version} {why}; this GPU has compute capability {gpus}.",
        fix='Use attn_implementation="sdpa", or the generation made for this GPU.',
        run=remedies.uninstall(name) if kind != "no-effect" else (),
    )
