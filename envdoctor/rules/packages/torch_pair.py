from envdoctor.knowledge.questions import extensions, installed, messages
from envdoctor.rules.packages import _mates
from envdoctor.rules.rule import ERROR, NOTE, Facts, Findings, Pattern, Skip, Target, finding, known, remedies, rule

_SAYS = (
    Pattern(r"operator torchvision::\w+ does not exist"),
    Pattern(r"(?i)PyTorch and (TorchAudio|torchvision) were compiled with different CUDA"),
    Pattern(r"compiled with different CUDA major versions"),
    Pattern(
        r"(?:libtorchaudio|_torchaudio|torchaudio/lib/\S|torchvision/_C|image\.so)\S{0,120}:? undefined symbol"
        r"(?!:? (?![Ta]?_*(?:Z|THP|aoti))\w)"
    ),
    Pattern(r"Failed to load image Python extension"),
    Pattern(r"register a meta kernel directly to the operator '(?:torchvision|torchaudio)::"),
    Pattern(
        r"(?i)\b(?:torchvision|torchaudio)(?: v?\d[\w.+]*)? (?:version )?(?:is |was )?(?:not compatible|incompatible"
        r"|mismatche[sd]|does not (?:match|fit)|doesn't match) (?:with )?"
        r"(?:the |my |your |this |installed |current ){0,2}"
        r"(?:version of )?(?:py)?torch\b",
    ),
)


@rule(ERROR, kind="torch-pair-mismatch")
def torch_pair(facts: Facts, target: Target) -> Findings:
    """torchvision or torchaudio do not belong to this torch.

    Why: both carry compiled operators for exactly one torch release and CUDA line. From another one they are
    refused at import ("operator torchvision::nms does not exist"). What the installed wheel itself requires decides;
    where that is not known, torch 2.x goes with torchvision 0.(x+15) up to 2.14, and with torchaudio 2.x up to 2.10.
    torchvision 0.29.1 and torchaudio 2.11 have a stable ABI and serve every later torch.
    Fix: install the three together, from one index.
    Source: https://github.com/pytorch/vision#installation https://docs.pytorch.org/audio/2.11.0/installation.html
    https://github.com/pytorch/pytorch/issues/157648 https://github.com/pytorch/vision/issues/9174
    """
    packages = known(facts.packages)
    said = messages.in_report(facts, *_SAYS)
    torch = extensions.labelled_torch(facts)
    mates = [mate for name in ("torchvision", "torchaudio") if packages and (mate := packages.find(name))]
    if said is None and (torch is None or not mates):
        if packages is None or not packages.complete:
            raise Skip("torch, or a mate of it, is not reported")
        return
    problems = [(mate.name, problem) for mate in mates if torch and (problem := _mates.problem(facts, torch, mate))]
    for name, (text, fails) in problems:
        yield from _findings(facts, target, name, text, serious=fails or said is not None, proven=said is not None)
    if said is not None and not problems:
        name = "torchaudio" if "audio" in said.string.lower() else "torchvision"
        yield from _findings(facts, target, name, *_proof(name, said.string), serious=True, proven=True)


def _findings(
    facts: Facts, target: Target, name: str, problem: str, usually: str = "", *, serious: bool, proven: bool
) -> Findings:
    torch = extensions.labelled_torch(facts) or ""
    part, wanted = "compiled operators do", _mates.requirement(name, torch)
    if _PICTURES.search(problem):
        part = "reader of pictures does"
    text, by_hand = f"Install torch and {name} together, from one index.", _mates.by_hand(torch, wanted)
    apart = _CUDA_APART.search(problem) is not None
    if apart:
        text += _BUILT_HERE.format(name)
    explains = (f"packages/conflicts {name} torch", "packages/import-mismatch", f"packages/known-errors {name}")
    yield finding(
        subject=name,
        title=f"{name}'s {part} not work here" if usually and not apart else "",
        actual=f"{installed.version(facts, name) or 'unknown'} beside torch {torch or 'unknown'}",
        expected=wanted.replace("==", " "),
        severity=None if serious else NOTE,
        certain=proven,
        message=f"{problem.rstrip('.')}.",
        usually=usually,
        fix=remedies.from_lock(facts, target, ("torch", name), text, by_hand),
        explains=explains if serious else (),
    )


_NOT_LOADED = "it was built for another release of torch or line of CUDA, as when one of the two is installed alone"
_LINES_APART = (
    "they came from different indexes or channels, or {} was built here from its sources, by a CUDA toolkit of another "
    "line than torch's"
)
_BUILT_HERE = (
    " Where {} is built from its sources, build it anew with CUDA_HOME and PATH pointing to a toolkit of torch's line."
)
_CUDA_APART = Pattern(r"(?i)compiled with different CUDA")
_PICTURES = Pattern(r"Failed to load image Python extension")


def _proof(name: str, said: str) -> tuple[str, str]:
    """What a program's own line proves of the pair, and what usually lies behind it."""
    line = said.rstrip(".")
    if _CUDA_APART.search(line):
        return f"torch and {name} are builds for different lines of CUDA: {line}", _LINES_APART.format(name)
    if _PICTURES.search(line):
        text = f"torchvision's reader of pictures (torchvision.io) does not load: {line}"
        return text, f"{_NOT_LOADED}; else libjpeg or libpng is missing, which matters where it is used alone"
    if "undefined symbol" in line:
        return f"{name} was built for another torch than the one that is here: {line}", ""
    if "register a meta kernel" in line:
        return f"{name} registers an operator in another way than this torch takes it: {line}", _NOT_LOADED
    if "operator" in line:
        return f"{name}'s compiled operators are not there beside this torch: {line}", _NOT_LOADED
    return line, ""
