"""A package whose own pins of torch and of torch's mates exclude each other."""

from envdoctor.knowledge.questions import pairs, requirements, versions
from envdoctor.rules.packages import _unmet
from envdoctor.rules.rule import Facts, Findings, finding

_UNBOUND = {"torchvision": "0.29", "torchaudio": "2.11"}
"""From these on a mate serves later torches as well."""


def apart(facts: Facts) -> Findings:
    """Pins that an installer's notes tell of one package: no torch serves both."""
    for one, pins in _exact_pins(facts).items():
        torch = pins.get("torch", "")
        for mate, unbound in _UNBOUND.items():
            version = pins.get(mate, "")
            if not (torch and version and versions.below(version, unbound)):
                continue
            made_for = pairs.torch_of(mate, version)
            fitting = pairs.together(mate, torch)
            if torch.startswith(f"{made_for}.") or torch == made_for or fitting is None:
                continue
            yield finding(
                subject=one,
                title="The pins of one package exclude each other",
                actual=f"torch=={torch} and {mate}=={version}",
                expected=fitting[1],
                kind="torch-pair-mismatch",
                message=f"{one} asks for torch=={torch} and for {mate}=={version}, which was made for torch "
                f"{made_for}: no environment holds both.",
                fix=f"Change one of the two pins where {one} states them (requirements.txt, pyproject.toml, setup.py): "
                f"{fitting[1]} goes with torch {torch}, and {mate} {version} with torch {made_for}. Then install it "
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
