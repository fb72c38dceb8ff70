from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Skip, finding, need, rule


@rule(WARNING, kind="known-slow-version", subject="flash-attn-4", expected="flash-attn 2 beside it, or neither")
def flash_attn_namespace(facts: Facts) -> Findings:
    """FlashAttention 4 alone hides FlashAttention 2 from xformers and others.

    Why: flash-attn-4 installs the folder flash_attn without flash_attn_interface. Packages that look for
    flash_attn find the folder, fail to import from it and fall back to a slower attention without a word: 547 ->
    2154 ms per step and seven times the memory on a B200 (Qwen3-0.6B, LoRA, sequence 8192).
    Fix: install flash-attn (2.x) beside it, or remove flash-attn-4.
    Source: https://github.com/unslothai/unsloth/blob/main/unsloth/import_fixes.py
    """
    packages = need(facts.packages)
    four = packages.version("flash-attn-4")
    if four is None or packages.version("flash-attn"):
        return
    if not packages.complete:
        raise Skip("the list of packages is not complete: flash-attn 2 may be there")
    affected = [name for name in ("xformers", "unsloth", "vllm") if packages.version(name)]
    result = f"{', '.join(affected)} silently fall back to slower attention" if affected else "importers fall back"
    yield finding(
        actual=f"flash-attn-4 {four} without flash-attn",
        severity=None if affected else NOTE,
        message=f"flash-attn-4 alone leaves a flash_attn package without flash_attn_interface; {result}.",
        fix="Install flash-attn 2 as well, or remove flash-attn-4.",
        run="python -m pip uninstall -y flash-attn-4",
    )
