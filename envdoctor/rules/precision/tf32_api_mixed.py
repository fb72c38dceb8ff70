from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, SetFlag, Target, finding, known, need, remedies, rule

_FLAG = "float32-matmul-precision"
_SAYS = Pattern(
    r"(?i)(?:mix(?:ed|ture|ing)?|both)\b.{0,60}(?:legacy|old)\b.{0,40}\bTF32"
    r"|(?:legacy|old) and (?:the )?new .{0,30}TF32"
    r"|mix of the legacy and new APIs|(?:have|has) different TF32 flags|checking whether allow_tf32\w* is enabled"
    r"|TF32.{0,60}(?:legacy|old) and new|mixed .{0,20}TF32",
)


_EFFECTS = ("precision/float32-matmul",)


@rule(ERROR, kind="tf32-api-mixed", subject=_FLAG, expected="one interface, readable", explains=_EFFECTS)
def tf32_api_mixed(facts: Facts, target: Target) -> Findings:
    """Old and new TF32 settings were mixed, so that reading them raises.

    Why: since torch 2.9 there are two interfaces. Setting only the newer one (torch.backends.*.fp32_precision)
    makes torch.backends.cuda.matmul.allow_tf32 and torch.get_float32_matmul_precision() raise RuntimeError;
    libraries that read them, torch.compile among them, then stop in the middle of a run.
    Fix: torch.set_float32_matmul_precision("high") sets both interfaces alike and repairs a broken state.
    Source: https://github.com/pytorch/pytorch/issues/166387
    https://github.com/huggingface/transformers/issues/42371
    https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
    """
    wanted = target.flags.get(_FLAG, "high")
    evidence = _evidence(facts)
    if evidence is None:
        need(known(facts.torch), "torch's flags were not read")
        return
    only = f'Use torch.set_float32_matmul_precision("{wanted}") only; remove the lines that set fp32_precision.'
    yield finding(
        actual=evidence,
        message="TF32 was set through the old and the new interface; reading it raises.",
        fix=remedies.setting(target, only, "grep -rnE 'fp32_precision|allow_tf32' --include='*.py' ."),
        repair=(SetFlag(name=_FLAG, value=wanted),),
    )


def _evidence(facts: Facts) -> str | None:
    torch = known(facts.torch)
    errors = [flag.error for flag in torch.flags.values() if flag.error] if torch else []
    return next((line for line in (*errors, *facts.messages) if _SAYS.search(line)), None)
