from envdoctor.knowledge.questions import circumstances, extensions, installed, line_is_guessed, messages, topics_of
from envdoctor.rules.packages import _abi_line, _fitting_build, _strings, _xformers_says
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, Pattern, Skip, Target, finding, known, remedies, rule

_STOPS = Pattern(r"(?i)no operator found for|wasn'?t build with CUDA")
_FALLS_BACK = frozenset({"torchao", "xformers"})  # without their kernels they still import, and are slower


@rule(ERROR, kind="extension-abi-mismatch")
def extension_abi(facts: Facts, target: Target) -> Findings:
    """A compiled extension was built for another torch, CUDA, Python or C++ ABI.

    Why: extensions call torch's C++ code, which promises no compatibility between releases. Built for another one
    they do not load ("undefined symbol: _ZN3c10..."), or load without their kernels. CUDA must agree in the major
    version.
    Fix: a wheel for exactly this torch, CUDA, Python and ABI; or do without: scaled_dot_product_attention needs
    no extension.
    Source: https://github.com/Dao-AILab/flash-attention/issues/1644
    https://github.com/huggingface/open-r1/issues/684 https://github.com/axolotl-ai-cloud/axolotl/issues/3142
    https://github.com/facebookresearch/xformers/issues/1176 https://github.com/pytorch/ao/issues/2919
    """
    torch = extensions.build_of_torch(facts)
    said = _abi_line.find(facts, torch)
    built = extensions.builds(facts)
    failed = {e.name: e.error for e in known(facts.extensions) or () if e.error}
    if said is None and (torch is None or not built) and not failed:
        if known(facts.packages) is None and known(facts.extensions) is None:
            raise Skip("the extensions are not known")
        return
    blamed = _abi_line.named_in(facts, said.string, built) if said else None
    alone = _abi_line.listed_alone(facts, said.string) if said else None
    unnamed = blamed is None and alone is not None
    blamed = blamed or alone
    told = False
    for name, build in sorted(built.items()):
        says = said is not None and name == blamed == "xformers" and _xformers_says.built_for(facts, said.string)
        reason = extensions.difference(build, torch) if torch and not says else None  # a list may be another Python's
        error = failed.get(name) or (said.string if said and name == blamed else None)
        error = error if error is None or _abi_line.is_one(error) else None
        if reason is None and error is None:
            continue
        told = told or name == blamed
        only = unnamed and reason is None and name == blamed
        yield from _findings(facts, target, name, reason or error or "", proven=error is not None, unnamed=only)
    if said is not None and blamed is None and "THPVariableClass" in said.string:
        return  # which says no more than that torch was not there first: packages/known-errors
    if said is not None and not told and not (blamed is None and _abi_line.is_of_torch(said.string)):
        name = blamed or "a compiled extension"
        yield from _findings(facts, target, name, said.string, proven=True, unnamed=unnamed)


def _findings(facts: Facts, target: Target, name: str, reason: str, *, proven: bool, unnamed: bool) -> Findings:
    """``unnamed``: the line names no extension, and the text lists this one alone."""
    version, build = installed.version(facts, name), extensions.builds(facts).get(name)
    torch, unresolved = extensions.build_of_torch(facts), "undefined symbol" in reason
    told = _xformers_says.built_for(facts, reason) if name == "xformers" and proven else None
    strings = _strings.of(facts, name, version, reason)
    own = told.advice(facts) if told else _fitting_build.advice(name, version, extensions.labelled_torch(facts))
    advice = strings.advice or own
    if unresolved and not told:
        advice = _fitting_build.after_cleaning(name, advice)
    who = f"{name.replace('a compiled', 'A compiled')} {version or ''}".rstrip()
    who = f"A compiled extension (the text lists {who} alone)" if unnamed else who
    said = f"{who}{_abi_line.meaning(reason)}: {messages.own_words(reason).rstrip('.')}.{strings.proved}"
    on_amd = "ROCm" in topics_of(facts)
    usually = (told.usually(facts) if told else "") or _abi_line.usually(reason, on_amd=on_amd) or strings.usually
    fresh = unresolved and circumstances.BUILT_ANEW.stands(facts)
    anew = _OF_NEW_BUILD if fresh else _abi_line.usually_elsewhere(reason)
    weak = name in _FALLS_BACK and not reason.startswith("undefined") and messages.in_report(facts, _STOPS) is None
    yield finding(
        subject=name,
        title=_NOT_PROVED if _abi_line.proves_no_misfit(reason) else "",
        actual="another one than is listed"
        if told and told.listed(facts)
        else f"{version or 'unknown version'}{f', built for {build.text()}' if build and build.text() else ''}",
        expected=f"built for {torch.text(guessed=line_is_guessed(facts)) if torch else 'this torch'}",
        severity=WARNING if weak else None,
        certain=proven or weak,
        message=told.meaning if told else said,
        usually=usually or anew,
        fix=remedies.from_lock(facts, target, ("torch", name), *advice[:2], instead=advice[2:]),
        explains=(*_EXPLAINED, f"packages/conflicts {name} torch"),
    )


_OF_NEW_BUILD = (
    "what was built before was used again (the folder build, a .so beside the sources, another copy that is imported "
    "first), the build saw another torch than the run (isolation, another environment), or its sources are of another "
    "time than this torch"
)
_NOT_PROVED = "A compiled extension does not load"
_EXPLAINED = (
    "packages/import-mismatch",
    "packages/known-errors a compiled package",
    "attention/flash-unavailable",
    "attention/operators-refused",
)
