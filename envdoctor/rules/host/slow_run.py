from envdoctor.knowledge.slowness import ANY, SITUATIONS
from envdoctor.rules.host._situations import failures, guesses
from envdoctor.rules.rule import WARNING, Facts, Findings, Skip, rule


@rule(WARNING, kind="script-slow")
def slow_run(facts: Facts) -> Findings:
    """A person says that a run is slow, and what such runs lose their time to.

    Why: a slow run prints no error. What stands beside the complaint (a mechanical disk, DataParallel, a GPU that is
    used by a tenth, ONNX Runtime) tells where such runs lose their time most often: a guess, and said as one.
    Fix: measure the step with made-up batches first: it tells the loader from the model.
    Source: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    names = [name for name in facts.remarks.get("slow with", "").split("; ") if name != ANY or not _fails(facts)]
    complaint = facts.remarks.get("slowness")
    if complaint is None or not any(names):
        raise Skip("nobody says that a run is slow, or beside what")
    yield from guesses(complaint, SITUATIONS.among(names))


def _fails(facts: Facts) -> bool:
    """Does the run stand still or end with an error, so that its speed is not what is complained of?"""
    return bool(failures(facts, "complaint", "slowness")) or "complaint of stall" in facts.remarks
