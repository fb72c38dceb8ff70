"""torchvision and torchaudio beside a torch: whether they were made for it, and how to come to those that were."""

from envdoctor.knowledge.questions import demanded_specifier, is_label, line_of, pairs
from envdoctor.rules.rule import Distribution, Facts, known, shell, versions


def problem(facts: Facts, torch: str, mate: Distribution) -> tuple[str, bool] | None:
    """What is wrong with the pair, and whether it will fail."""
    want = _series(mate.name, torch)
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
    if not demand and want is not None and is_of_another_torch(mate.name, mate.version, torch):
        return f"torch {torch} goes with {mate.name} {want[0]}.{want[1]}", True
    if mate.name == "torchaudio" and have < (0, 11):
        return None  # held no code of CUDA then, and had no builds for its lines
    lines = _lines(facts, torch, mate.version)
    if lines is None or lines[0] == lines[1]:
        return None
    spelled = tuple(f"CUDA {line}" if line else "CPU" for line in lines)
    major = lines[0].partition(".")[0] == lines[1].partition(".")[0]
    text = f"torch {torch} is a build for {spelled[0]}, {mate.name} {mate.version} for {spelled[1]}"
    return text, not major or (mate.name == "torchaudio" and not _serves_later(mate.name, have, want))


def is_of_another_torch(name: str, version: str, torch: str) -> bool:
    """Was this release of a mate made for another torch, and does not serve this one? Of a torch that nobody looked up
    nothing is said."""
    want, have = _series(name, torch), versions.release(version)
    return want is not None and have is not None and have[:2] != want and not _serves_later(name, have, want)


def _serves_later(name: str, have: tuple[int, ...], want: tuple[int, ...] | None) -> bool:
    """torchaudio has no release of its own for every torch any more."""
    return name == "torchaudio" and (want or have[:2]) >= have[:2] >= pairs.STABLE_TORCHAUDIO


def _series(name: str, torch: str) -> tuple[int, ...] | None:
    """Major and minor number of the mate's releases that were made for this torch."""
    return pairs.torchvision_for(torch) if name == "torchvision" else pairs.torchaudio_for(torch)


def _labels(version: str) -> tuple[str, ...]:
    label = versions.label(version) or ""
    return (label,) if is_label(label) else ()


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


def requirement(name: str, torch: str) -> str:
    """The release that was made for this torch."""
    want = _series(name, torch)
    return f"{name}=={want[0]}.{want[1]}.*" if want else name


def by_hand(torch: str, requirement: str) -> str:
    label = versions.label(torch)
    if label and label.startswith("rocm"):
        return ""  # which index it came from, only its owner knows
    backend = f"--torch-backend={label} " if label and is_label(label) else ""
    command = f"uv pip install {backend}" if backend else "python -m pip install "
    if not versions.parse(torch):
        return shell.with_names("uv pip install --torch-backend=auto --reinstall torch", requirement)
    exact = (f"torch=={versions.public(torch)}",)
    return shell.with_requirements(command.rstrip(), *exact, requirement)
