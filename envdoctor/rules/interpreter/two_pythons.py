from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Remedy, Skip, finding, messages, rule

_LACKS = Pattern(r"No module named ['\"]?(?P<name>[A-Za-z_]\w{0,60})")
_FOLLOWS = ("packages/known-errors", "packages/missing", "packages/import-mismatch")


@rule(ERROR, kind="package-missing", explains=_FOLLOWS)
def two_pythons(facts: Facts) -> Findings:
    """A program ran under another Python than that of the environment which is active.

    Why: a script like torchrun belongs to the Python that it was installed with. Where the environment has none of its
    own, or ~/.local/bin stands first in PATH, the system's runs, whose Python sees nothing of the environment: the
    starter finds a module, and the workers that it starts do not.
    Fix: start by the environment's own Python (python -m torch.distributed.run), which needs its packages there.
    Source: https://docs.pytorch.org/docs/stable/elastic/run.html
    """
    ran, active = facts.remarks.get("python that ran"), facts.remarks.get("environment at the prompt")
    if not ran or not active:
        raise Skip("the report does not show an environment at its prompt and another Python that ran")
    said = messages.in_report(facts, _LACKS)
    if said is None:
        return
    script = facts.remarks.get("script that ran", "")
    by = f", started by {script}" if script else ""
    text = f"What does not find {said['name']} is {ran}{by}, while the environment ({active}) is active at the prompt"
    yield finding(
        subject=said["name"],
        actual=ran,
        expected=f"the Python of ({active})",
        message=f"{text}: two Pythons, of which the one sees nothing that was installed into the other: {said.string}",
        usually=f"({active}) {_RUNS_ANOTHER}",
        fix=_by_its_own(active),
    )


_RUNS_ANOTHER = (
    "has no torch of its own, or its bin folder stands behind another in PATH, so that the script of the system or of "
    "pip install --user runs"
)


def _by_its_own(active: str) -> Remedy:
    return Remedy(
        text=f"Let the environment's own Python start it: python -m torch.distributed.run in the place of torchrun "
        f"(python -m accelerate.commands.launch for accelerate). That needs torch and all else within ({active}): "
        "install there what it lacks (PYTHONNOUSERSITE=1 keeps ~/.local out), and nothing more for the other Python.",
        commands=("which -a python torchrun", "python -c 'import sys, torch; print(sys.executable, torch.__file__)'"),
    )
