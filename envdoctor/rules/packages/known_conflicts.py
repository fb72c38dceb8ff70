from envdoctor.knowledge.questions import broken, installed, messages, versions
from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, Severity, Skip, Target, finding, known, remedies, rule

_SCRIPTS = Pattern(r"(?i)dataset scripts are no|trust_remote_code (?:is )?no(?:t| longer) supported")
"""datasets 4 dropped data sets that come as Python scripts (https://github.com/huggingface/datasets/releases/tag/4.0.0)."""


@rule(ERROR, kind="package-conflict", explains=("packages/import-mismatch",))
def known_conflicts(facts: Facts, target: Target) -> Findings:
    """Two packages do not work together, although their metadata allows it.

    Why: packages use each other's internals, or declare a limit too late. The result is an ImportError or a
    TypeError in the middle of a library.
    Fix: the release named.
    Source: https://github.com/deepspeedai/DeepSpeed/issues/5337
    https://github.com/hiyouga/LlamaFactory/issues/4271 https://github.com/huggingface/datasets/releases/tag/4.0.0
    """
    torch, present = known(facts.torch), installed.with_torch(facts)
    if known(facts.packages) is None and not facts.messages:
        raise Skip("the packages are not known")
    for row in broken.releases("pair", present):
        proof = messages.in_report(facts, row.said) if row.said else None
        if proof is None and row.symptom and row.otherwise == "none":
            continue
        if proof is None and torch and torch.hip and row.package == "bitsandbytes":
            continue  # builds for AMD's GPUs are numbered apart
        wanted = row.beside[0]
        if (other := present.get(wanted.name)) and versions.within(other, wanted.specifier):
            one = present[row.package]
            yield from _pair(facts, target, row, f"{row.package} {one}", f"{wanted.name} {other}", proof is not None)
    script = messages.in_report(facts, _SCRIPTS)
    if script is not None:
        yield from _script(present.get("datasets"), script.string, proved=_PROVED.search(script[0]) is not None)


def _pair(facts: Facts, target: Target, row: broken.KnownRelease, one: str, other: str, proven: bool) -> Findings:
    second, by_hand = row.beside[0].name, remedies.install(row.instead)
    yield finding(
        subject=f"{row.package} {second}",
        actual=f"{one} with {other}",
        expected=row.instead,
        severity=Severity[row.severity.upper()],
        certain=proven,
        message=f"{one} and {other} do not work together: {row.what}.",
        fix=remedies.from_lock(facts, target, (row.package, second), row.advice, by_hand),
        source=row.source,
    )


_PROVED = Pattern(r"(?i)dataset scripts")


def _script(version: str | None, line: str, *, proved: bool) -> Findings:
    title = (
        "datasets 4 runs no scripts of data sets" if proved else "datasets 4 does not take trust_remote_code any more"
    )
    usually = "" if proved else _A_SCRIPT
    meaning = "The data set comes as a Python script, which datasets dropped in 4.0"
    yield finding(
        subject="datasets",
        title=title,
        actual=f"datasets {version or '4 or later'}",
        expected="datasets<4, or the data set as Parquet",
        message=f"{meaning if proved else 'trust_remote_code is given, which is not supported any more'}: {line}.",
        usually=usually,
        fix=_AS_PARQUET,
        run=remedies.install("datasets<4"),
        explains=("packages/import-mismatch", "packages/known-errors datasets"),
    )


_A_SCRIPT = (
    "the data set comes as a Python script, which datasets dropped in 4.0 with that argument; where it does not, the "
    "argument is left out and nothing else is wrong"
)
_AS_PARQUET = (
    'Use the Parquet copy that the hub keeps of most data sets (load_dataset(NAME, revision="refs/convert/parquet")), '
    "or an older datasets."
)
