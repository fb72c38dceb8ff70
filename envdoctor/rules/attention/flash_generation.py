from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts import Facts
from envdoctor.knowledge import versions
from envdoctor.knowledge.hardware import Capability, capabilities, trains_on_gpu
from envdoctor.rule import Finding, Remedy, Severity, Skip, need, rule
from envdoctor.target import Target


@rule(Severity.WARNING)
def flash_generation(facts: Facts, target: Target) -> Iterator[Finding]:
    """The FlashAttention installed is of another generation than the GPU.

    Why: FlashAttention 3 is written for Hopper (9.0) and runs nowhere else; FlashAttention 4 for Hopper and
    Blackwell; FlashAttention 2 runs from Ampere on, without what Hopper adds. On Hopper, torch's own cuDNN
    attention is as fast as FlashAttention 3.
    Fix: the package for this GPU, or scaled_dot_product_attention.
    Source: https://github.com/Dao-AILab/flash-attention https://github.com/huggingface/transformers/pull/48163
    """
    packages, found = need(facts.packages), capabilities(facts, target)
    if not found:
        if trains_on_gpu(facts, target) is not False:
            raise Skip("the GPU is not known")
        return
    three = packages.version("flash-attn-3")
    four = packages.version("flash-attn-4")
    two = packages.version("flash-attn")
    if two and versions.at_least(two, "3"):
        three, two = two, None
    if three and any(capability[0] != 9 for capability in found):
        yield _finding("flash-attn-3", three, _text(found), "runs on Hopper only", Severity.WARNING)
    if four and max(found) < (9, 0):
        yield _finding("flash-attn-4", four, _text(found), "runs on Hopper and Blackwell only", Severity.WARNING)
    if two and not three and not four and min(found) >= (9, 0) and max(found) < (10, 0):
        text = "does not use what Hopper adds; cuDNN's attention or FlashAttention 3 are faster there"
        yield _finding("flash-attn", two, _text(found), text, Severity.NOTE)


def _text(found: frozenset[Capability]) -> str:
    return ", ".join(f"{major}.{minor}" for major, minor in sorted(found))


def _finding(name: str, version: str, gpus: str, text: str, severity: Severity) -> Finding:
    return Finding(
        kind="no-effect" if severity is Severity.NOTE else "extension-binary-missing",
        subject=name,
        actual=f"{name} {version} on compute capability {gpus}",
        expected="a generation made for this GPU",
        message=f"{name} {version} {text}; this GPU has compute capability {gpus}.",
        remedy=Remedy(
            text='Use attn_implementation="sdpa", or the generation made for this GPU.',
            commands=(f"python -m pip uninstall -y {name}",) if severity is Severity.WARNING else (),
        ),
        severity=severity,
        root_rank=5 if severity is Severity.WARNING else 0,
    )
