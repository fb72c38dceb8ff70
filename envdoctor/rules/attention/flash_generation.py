from envdoctor.knowledge.questions import versions
from envdoctor.rules.finding import NOTE, Finding, Findings, Severity, finding
from envdoctor.rules.hardware import Capability
from envdoctor.rules.rule import WARNING, Facts, Skip, Target, likely_capabilities, need, remedies, rule, trains_on_gpu

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
    packages, found = need(facts.packages), likely_capabilities(facts, target)
    if not found:
        if trains_on_gpu(facts, target) is not False:
            raise Skip("the GPU is not known")
        return
    three = packages.version("flash-attn-3")
    four = packages.version("flash-attn-4")
    two = packages.version("flash-attn")
    if two and versions.at_least(two, "3"):
        three, two = two, None
    if three and any(capability not in _THREE for capability in found):
        yield _finding("flash-attn-3", three, _text(found), "runs on Hopper and A100 only", WARNING)
    if four and max(found) < (9, 0):
        yield _finding("flash-attn-4", four, _text(found), "trains on Hopper and Blackwell only", WARNING)
    if two and not three and not four and min(found) >= (9, 0) and max(found) < (10, 0):
        text = "does not use what Hopper adds; FlashAttention 3 and 4 do"
        yield _finding("flash-attn", two, _text(found), text, NOTE)


def _text(found: frozenset[Capability]) -> str:
    return ", ".join(f"{major}.{minor}" for major, minor in sorted(found))


def _finding(name: str, version: str, gpus: str, text: str, severity: Severity) -> Finding:
    return finding(
        subject=name,
        actual=f"{name} {version} on compute capability {gpus}",
        kind="no-effect" if severity is NOTE else "extension-binary-missing",
        severity=severity,
        message=f"{name} {version} {text}; this GPU has compute capability {gpus}.",
        fix='Use attn_implementation="sdpa", or the generation made for this GPU.',
        run=remedies.uninstall(name) if severity is WARNING else (),
    )
