from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Remedy, SetFlag, Target, finding, need, rule

_ALL = "flash,efficient,math,cudnn"  # torch's default order


@rule(WARNING, kind="flag-differs", subject="sdp", expected=_ALL)
def math_only(facts: Facts, target: Target) -> Findings:
    """Only the slow attention path is left, or none.

    Why: with every fused backend switched off, scaled_dot_product_attention writes out the whole matrix of
    scores: memory grows with the square of the length, and it is several times slower. With math off as well, it
    raises for inputs that no fused backend takes.
    Fix: switch the fused backends on; all are by default.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
    https://github.com/UCSC-VLAA/story-iter/issues/25
    """
    flag = need(facts.torch).flags.get("sdp")
    if flag is None or flag.value is None or "sdp" in target.flags:
        return  # with a target that says which backends it wants, attention/sdp-backends compares them
    enabled = [name.strip() for name in flag.value.split(",") if name.strip()]
    if not enabled:
        message, severity = "No attention backend is enabled; attention raises.", ERROR
    elif enabled == ["math"]:
        message, severity = "Only the math backend is enabled; attention is slow and takes much memory.", WARNING
    elif "math" not in enabled:
        message, severity = "The math backend is off; inputs that no fused backend takes raise.", NOTE
    else:
        return
    yield finding(
        actual=flag.value or "none",
        severity=severity,
        message=message,
        fix=_ENABLE_ALL,
        repair=(SetFlag(name="sdp", value=_ALL),) if severity > NOTE else (),
    )


_ENABLE_ALL = Remedy(
    text="Call torch.backends.cuda.enable_flash_sdp(True), enable_mem_efficient_sdp(True) and "
    "enable_math_sdp(True), or remove the lines that switched them off.",
    commands=("grep -rnE 'enable_(flash|mem_efficient|math|cudnn)_sdp' --include='*.py' .",),
)
