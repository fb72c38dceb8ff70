from envdoctor.knowledge.questions import line, messages, numbers, torch_cuda, torch_version, versions
from envdoctor.knowledge.torch_builds import label_of, lines_beside, release_of, release_with
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Skip, finding, known, remedies, rule

_SAYS = Pattern(
    r"(?i)detected CUDA version \((?P<nvcc>[\d.]+)\) mismatches the version(?: (?:that was )?used to compile)?\s+"
    r"PyTorch \((?P<torch>[\d.]+)\)",
)
_DEEPSPEED = Pattern(
    r"(?i)Installed CUDA (?:version )?(?P<nvcc>[\d.]+) does not match (?:the )?(?:version |CUDA )?"
    r"(?:\(?(?P<early>[\d.]+)\)? )?(?:that |which )?torch was (?:compiled|built) with(?: (?P<torch>[\d.]+))?",
)
_FAILED = Pattern(
    r"Failed (?:building wheel|to build)|Could not build wheels|error: command .{1,200}nvcc|Error compiling objects"
)
"""That something was built from source, and failed."""
_UNNUMBERED = Pattern(
    r"(?i)CUDAMismatchException(?:: extensions cannot be built, torch was built with (?P<torch>[\d.]*\d))?"
    r"|without a matching cuda version",
)


@rule(NOTE, kind="nvcc-mismatch", subject="nvcc")
def nvcc(facts: Facts) -> Findings:
    """The CUDA toolkit that compiles extensions is of another version than torch's CUDA.

    Why: torch's build helper stops ("detected CUDA version mismatches"), so flash-attn, DeepSpeed operators and the
    like cannot be built from source. Wheels are not affected, and training without self-compiled extensions is not
    either: without a failed build this is a note, and with one that does not say why a warning. Another minor version
    is harmless.
    Fix: a toolkit of torch's major version, or wheels.
    Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py
    https://github.com/deepspeedai/DeepSpeed/blob/master/op_builder/builder.py
    """
    # a frame names the exception before it
    said = messages.anywhere(facts, _SAYS, _DEEPSPEED) or messages.anywhere(facts, _UNNUMBERED)
    host = known(facts.host)
    numbered = said.groupdict() if said else {}
    toolkit = numbered.get("nvcc") or (host.nvcc if host else None)
    cuda = (numbered.get("torch") or numbered.get("early") or "").rstrip(".") or torch_cuda(facts)
    if said is not None and not (toolkit and cuda):
        toolkit, cuda = toolkit or "another CUDA", cuda or "another one"
    if not toolkit or not cuda:
        raise Skip("there is no toolkit, or torch's CUDA is not known")
    if numbers(toolkit)[:1] == numbers(cuda)[:1] and said is None:
        return
    expected = "the CUDA that torch is built for"
    if numbers(cuda):
        expected = f"CUDA {cuda.partition('.')[0]}.x, best {line(cuda) or cuda}"
        expected += _OR_TORCH if said and numbers(toolkit) else ""
    failed = WARNING if messages.in_report(facts, _FAILED) else NOTE
    end = "the build of an extension stopped at it" if said else "extensions cannot be built from source here"
    fix, run = _toolkit(facts, cuda)
    yield finding(
        actual=line(toolkit) or toolkit,
        expected=expected,
        severity=ERROR if said else failed,
        message=f"The toolkit that {_FOUND if said else 'is found here'} is {_cuda_name(toolkit)}, torch is built for "
        f"{_cuda_name(cuda)}: {end}.",
        usually=_usually(facts, cuda) if said else "",
        fix=fix,
        run=run,
        instead=_other_torch(facts, toolkit) if said and run else (),
        explains=("packages/",) if said else ("packages/known-errors",) if failed is WARNING else (),
    )


def _usually(facts: Facts, cuda: str) -> str:
    """Why the build found it: where the text shows one of torch's own line as well, that one was passed over."""
    host, own = known(facts.host), line(cuda)
    listed = {line(one) for one in (host.nvcc or "", *host.toolkits)} if host else set()
    folder = Pattern(rf"(?i)\bcuda-{own.replace('.', '[.]')}(?![\d.]*\d)") if own else None
    if folder is None or not (own in listed or messages.anywhere(facts, folder)):
        return _REPLACED
    return (
        f"CUDA_HOME or CUDA_PATH, which are asked before PATH, still name the other one (or neither is set, and "
        f"/usr/local/cuda leads to it), while a toolkit of CUDA {own} is here as well"
    )


_FOUND = "the build found (CUDA_HOME's or CUDA_PATH's, else that of the first nvcc on PATH, else /usr/local/cuda)"
_OR_TORCH = ", or a torch for the toolkit's own line"
_REPLACED = (
    "the toolkit is another one than the project asks for, or an installation (pytorch-lightning, xformers, a "
    "requirements.txt without pins) put a newer torch in the place of the one that was meant: then that one is "
    "installed again, from the index of its line, and pinned"
)


def _cuda_name(cuda: str) -> str:
    """A line of CUDA, where the report names one."""
    return f"CUDA {line(cuda) or cuda}" if numbers(cuda) else cuda


def _toolkit(facts: Facts, cuda: str) -> tuple[str, tuple[str, ...]]:
    """A toolkit that is there is named; a probe has seen all of them, so that none is named that is not."""
    host = known(facts.host)
    fitting = [one for one in (host.toolkits if host else ()) if numbers(one)[:1] == numbers(cuda)[:1]]
    if facts.origin.kind != "pasted" and not fitting:
        return f"Install extensions as wheels, or a toolkit of CUDA {cuda.partition('.')[0]}.x to build them.", ()
    if not fitting and not numbers(cuda):
        return "Point CUDA_HOME to a toolkit of torch's version, or install the extension as a wheel.", ()
    best = min(fitting, key=lambda one: one != line(cuda), default=line(cuda) or cuda)
    return _CUDA_HOME, (remedies.cuda_home(best),)


_CUDA_HOME = (
    "Point CUDA_HOME to a toolkit of torch's version (in a conda or pixi environment pin cuda-toolkit and cuda-nvcc to "
    "it), install torch for the toolkit's own line, or the extension as a wheel."
)


def _other_torch(facts: Facts, toolkit: str) -> tuple[str, ...]:
    """The command for a torch of the toolkit's own line, else of the nearest of its major version, where the release
    that is here was built for one."""
    own, version = numbers(toolkit)[:2], torch_version(facts)
    release = release_of(version) if version else None
    lines = release.lines if release else () if version else _offered(line(toolkit) or "")
    mates = sorted((one for one in lines if numbers(one)[:1] == own[:1]), key=lambda one: abs(numbers(one)[1] - own[1]))
    if not mates:
        return ()
    exact = f"torch=={versions.public(version)}" if version else "torch"
    return (remedies.torch_family(known(facts.packages), label_of(mates[0]), exact),)


def _offered(own: str) -> tuple[str, ...]:
    """The line itself where torch was ever built for it, else those on both sides."""
    return (own,) if release_with(own, beside="") else lines_beside(own) or ()
