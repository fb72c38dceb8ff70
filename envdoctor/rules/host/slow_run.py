from envdoctor.knowledge.slowness import SITUATIONS
from envdoctor.rules.host._situations import guesses
from envdoctor.rules.rule import WARNING, Facts, Findings, Skip, rule


@rule(WARNING, kind="script-slow")
def slow_run(facts: Facts) -> Findings:
    """A person says that a run is slow, and what it runs on or with is known to be slow.

    Why: a slow run prints no error. What stands beside the complaint (a mechanical disk, DataParallel, a GPU that is
    used by a tenth, ONNX Runtime) tells where such runs lose their time most often: a guess, and said as one.
    Fix: measure the step with made-up batches first: it tells the loader from the model.
    Source: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    names = facts.remarks.get("slow with", "").split("; ")
    complaint = facts.remarks.get("slowness")
    if complaint is None or names == [""]:
        raise Skip("nobody says that a run is slow, or beside what")
    yield from guesses(complaint, SITUATIONS.among(names))
