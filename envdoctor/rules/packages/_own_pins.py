"""A package whose own pins of torch and of torch's mates exclude each other."""

from envdoctor.knowledge.questions import pairs, requirements
from envdoctor.rules.packages import _mates, _unmet
from envdoctor.rules.rule import Facts, Findings, finding


def apart(facts: Facts) -> Findings:
    """Pins that an installer's notes tell of one package: no torch serves both."""
    for one, pins in _exact_pins(facts).items():
        torch = pins.get("torch", "")
        for mate in ("torchvision", "torchaudio"):
            version = pins.get(mate, "")
            if not (torch and version and _mates.is_of_another_torch(mate, version, torch)):
                continue
            made_for, fitting = pairs.torch_of(mate, version), _mates.requirement(mate, torch)
            yield finding(
                subject=one,
                title="The pins of one package exclude each other",
                actual=f"torch=={torch} and {mate}=={version}",
                expected=fitting,
                kind="torch-pair-mismatch",
                message=f"{one} asks for torch=={torch} and for {mate}=={version}, which was made for torch "
                f"{made_for}: no environment holds both.",
                fix=f"Change one of the two pins where {one} states them (requirements.txt, pyproject.toml, setup.py): "
                f"{fitting} goes with torch {torch}, and {mate} {version} with torch {made_for}. Then install it "
                "into a fresh environment.",
                explains=("packages/reported-conflicts", "packages/known-errors"),
            )


def _exact_pins(facts: Facts) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in facts.messages:
        match = _unmet.LINES[0].search(line)
        wanted = requirements.read(match["wanted"].rstrip(").,;")) if match else None
        exact = _unmet.exact(wanted.specifier) if wanted else ""
        if match and wanted and exact:
            found.setdefault(match["one"], {}).setdefault(wanted.name, exact)
    return found
