from envdoctor.knowledge.broken import KnownRelease, releases
from envdoctor.knowledge.questions import messages, versions
from envdoctor.rules.finding import Finding, Findings, Severity
from envdoctor.rules.rule import ERROR, Facts, Pattern, Skip, Target, finding, known, remedies, rule

_SCRIPTS = Pattern(r"(?i)dataset scripts are no|trust_remote_code (?:is )?no(?:t| longer) supported")
"""datasets 4 dropped data sets that come as Python scripts (https://github.com/huggingface/datasets/releases/tag/4.0.0)."""


@rule(ERROR, kind="package-conflict")
def known_conflicts(facts: Facts, target: Target) -> Findings:
    """Two packages do not work together, although their metadata allows it.

    Why: packages use each other's internals, or declare a limit too late. The result is an ImportError or a
    TypeError in the middle of a library.
    Fix: the release named.
    Source: https://github.com/deepspeedai/DeepSpeed/issues/5337
    https://github.com/hiyouga/LlamaFactory/issues/4271 https://github.com/huggingface/datasets/releases/tag/4.0.0
    """
    packages, torch = known(facts.packages), known(facts.torch)
    if packages is None and not facts.messages:
        raise Skip("the packages are not known")
    present = {d.name: d.version for d in packages.distributions} if packages else {}
    if torch:
        present["torch"] = torch.version
    for row in releases("pair", present):
        proof = messages.in_report(facts, row.said) if row.said else None
        if proof is None and row.symptom and row.otherwise == "none":
            continue
        if proof is None and torch and torch.hip and row.package == "bitsandbytes":
            continue  # builds for AMD's GPUs are numbered apart
        wanted = row.beside[0]
        if (other := present.get(wanted.name)) and versions.within(other, wanted.specifier):
            one = present[row.package]
            yield _finding(facts, target, row, f"{row.package} {one}", f"{wanted.name} {other}", proof is not None)
    script = messages.in_report(facts, _SCRIPTS)
    if script is not None:
        yield _script(present.get("datasets"), script.string, proved=_PROVED.search(script[0]) is not None)


def _finding(facts: Facts, target: Target, row: KnownRelease, one: str, other: str, proven: bool) -> Finding:
    locked = remedies.locked_pins(target, known(facts.packages), row.package, row.beside[0].name)
    return finding(
        subject=f"{row.package} {row.beside[0].name}",
        actual=f"{one} with {other}",
        expected=row.instead,
        severity=Severity[row.severity.upper()],
        certain=proven,
        message=f"{one} and {other} do not work together: {row.what}.",
        fix=remedies.choose(target, locked, row.advice, remedies.install(row.instead)),
        repair=locked,
        explains=("packages/import-mismatch",),
        source=row.source,
    )


_PROVED = Pattern(r"(?i)dataset scripts")


def _script(version: str | None, line: str, *, proved: bool) -> Finding:
    return finding(
        subject="datasets",
        title="" if proved else "datasets 4 does not take trust_remote_code any more",
        actual=f"datasets {version or '4 or later'}",
        expected="datasets<4, or the data set as Parquet",
        message=f"The data set comes as a Python script, which datasets dropped in 4.0: {line}."
        if proved
        else f"trust_remote_code is given, which is not supported any more: {line}.",
        usually=""
        if proved
        else "the data set comes as a Python script, which datasets dropped in 4.0 with that argument; where it does "
        "not, the argument is left out and nothing else is wrong",
        fix="Use the Parquet copy that the hub keeps of most data sets "
        '(load_dataset(NAME, revision="refs/convert/parquet")), or an older datasets.',
        run=remedies.install("datasets<4"),
        explains=("packages/import-mismatch", "packages/known-errors datasets"),
    )
