from envdoctor.knowledge.questions import is_board, is_published, torch_version
from envdoctor.rules.rule import NOTE, Facts, Findings, Pattern, finding, need, rule

_OTHER_BACKEND = Pattern(r"\+(rocm|xpu)")


@rule(NOTE, kind="not-judged", subject="torch", expected="a release")
def source_build(facts: Facts) -> Findings:
    """torch was built from source, or is a nightly.

    Why: no published table says what such a build contains, baselines do not apply to it, and compiled extensions
    must be built against exactly this one. Nightlies disappear from the index after some weeks.
    Fix: nothing, if it was meant.
    Source: https://github.com/pytorch/pytorch#from-source https://github.com/KellerJordan/modded-nanogpt/issues/198
    """
    version = need(torch_version(facts), "torch's version is not known")
    nightly = ".dev" in version
    if (is_published(version) and not nightly) or _OTHER_BACKEND.search(version):
        return
    theirs = "NVIDIA's build for a Jetson" if is_board(facts) else "NVIDIA's container build"
    what = "a nightly" if nightly else theirs if ".nv" in version else "built from source"
    message = f"torch {version} is {what}: no published table says what it holds, and recorded speeds do not apply."
    yield finding(actual=version, message=message, fix="Nothing to do, if it was meant.")
