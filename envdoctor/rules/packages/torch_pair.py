from dataclasses import replace

from envdoctor.knowledge.questions import demanded_specifier, extensions, line_of, messages, pairs, versions
from envdoctor.rules.finding import ERROR, NOTE, Finding, Findings, finding
from envdoctor.rules.rule import Distribution, Facts, Packages, Pattern, Skip, Target, known, remedies, rule
from envdoctor.values import shell

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
_RELEASE_LABEL = Pattern(r"cpu|cu\d+")


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
    proven = said is not None
    problems = [(mate, problem) for mate in mates if torch and (problem := _problem(facts, torch, mate))]
    for mate, (text, fails) in problems:
        yield _finding(target, packages, torch or "", mate.name, text, fails or proven, proven)
    if said is not None and not problems:
        name = "torchaudio" if "audio" in said.string.lower() else "torchvision"
        text, usually = _proof(name, said.string)
        one = _finding(target, packages, torch or "", name, text, serious=True, proven=True, usually=usually)
        part = "reader of pictures" if _PICTURES.search(said.string) else "compiled operators"
        yield (
            replace(one, title=f"{name}'s {part} do{'es' if part.startswith('r') else ''} not work here")
            if usually
            else one
        )


_NOT_LOADED = "it was built for another release of torch or line of CUDA, as when one of the two is installed alone"
_CUDA_APART = Pattern(r"(?i)compiled with different CUDA")
_PICTURES = Pattern(r"Failed to load image Python extension")


def _proof(name: str, said: str) -> tuple[str, str]:
    """What a program's own line proves of the pair, and what usually lies behind it."""
    line = said.rstrip(".")
    if _CUDA_APART.search(line):
        return f"torch and {name} are builds for different lines of CUDA: {line}", ""
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


def _problem(facts: Facts, torch: str, mate: Distribution) -> tuple[str, bool] | None:
    """What is wrong with the pair, and whether it will fail."""
    want = pairs.torchvision_for(torch) if mate.name == "torchvision" else pairs.torchaudio_for(torch)
    have = versions.release(mate.version)
    interpreter = known(facts.interpreter)
    demand = demanded_specifier(mate.requires, "torch", interpreter.markers if interpreter else {})
    if demand and not versions.within(torch, demand):
        return f"{mate.name} {mate.version} requires torch{demand}, and torch is {torch}", True
    if have is None or versions.label(torch) not in (None, *_labels(torch)):
        return None
    if versions.prerelease(torch) or versions.prerelease(mate.version):
        return None  # nightlies of the three are numbered apart from each other at times
    if versions.label(mate.version) not in (None, *_labels(mate.version)):
        return None  # built from source, against the torch that is there
    # torchaudio has no release of its own for every torch any more
    later_audio = mate.name == "torchaudio" and (want or have[:2]) >= have[:2] >= pairs.STABLE_TORCHAUDIO
    if not demand and want is not None and have[:2] != want and not later_audio:
        return f"torch {torch} goes with {mate.name} {want[0]}.{want[1]}", True
    if mate.name == "torchaudio" and have < (0, 11):
        return None  # held no code of CUDA then, and had no builds for its lines
    lines = _lines(facts, torch, mate.version)
    if lines is None or lines[0] == lines[1]:
        return None
    spelled = tuple(f"CUDA {line}" if line else "CPU" for line in lines)
    major = lines[0].partition(".")[0] == lines[1].partition(".")[0]
    text = f"torch {torch} is a build for {spelled[0]}, {mate.name} {mate.version} for {spelled[1]}"
    return text, not major or (mate.name == "torchaudio" and not later_audio)


def _labels(version: str) -> tuple[str, ...]:
    label = versions.label(version) or ""
    return (label,) if _RELEASE_LABEL.fullmatch(label) else ()


def _lines(facts: Facts, torch: str, mate: str) -> tuple[str, str] | None:
    """CUDA lines of both; None unless both can be told. Builds without label count where torch's own has one."""
    host = known(facts.host)
    system = ((host.system if host else None) or "linux").lower()
    if not _labels(torch) or versions.label(mate) not in (None, *_labels(mate)):
        return None
    # A mate without label is the default build of the torch release that it belongs to.
    basis = f"{versions.public(torch)}+{versions.label(mate)}" if versions.label(mate) else versions.public(torch)
    left, right = line_of(torch, None, system=system), line_of(basis, None, system=system)
    return None if left is None or right is None else (left, right)


def _finding(
    target: Target,
    packages: Packages | None,
    torch: str,
    name: str,
    problem: str,
    serious: bool,
    proven: bool,
    usually: str = "",
) -> Finding:
    version = packages.version(name) if packages else None
    locked = remedies.locked_pins(target, packages, "torch", name)
    text = f"Install torch and {name} together, from one index."
    want = pairs.torchvision_for(torch) if name == "torchvision" else pairs.torchaudio_for(torch)
    requirement = f"{name}=={want[0]}.{want[1]}.*" if want else name
    by_hand = _by_hand(torch, requirement)
    return finding(
        subject=name,
        actual=f"{version or 'unknown'} beside torch {torch or 'unknown'}",
        expected=requirement.replace("==", " "),
        severity=None if serious else NOTE,
        certain=proven,
        message=f"{problem.rstrip('.')}.",
        usually=usually,
        fix=remedies.choose(target, locked, text, by_hand),
        repair=locked,
        explains=(f"packages/conflicts {name} torch", "packages/import-mismatch", f"packages/known-errors {name}")
        if serious
        else (),
    )


def _by_hand(torch: str, requirement: str) -> str:
    label = versions.label(torch)
    if label and label.startswith("rocm"):
        return ""  # which index it came from, only its owner knows
    backend = f"--torch-backend={label} " if label and _RELEASE_LABEL.fullmatch(label) else ""
    command = f"uv pip install {backend}" if backend else "python -m pip install "
    if not versions.parse(torch):
        return shell.with_names("uv pip install --torch-backend=auto --reinstall torch", requirement)
    exact = (f"torch=={versions.public(torch)}",)
    return shell.with_requirements(command.rstrip(), *exact, requirement)
