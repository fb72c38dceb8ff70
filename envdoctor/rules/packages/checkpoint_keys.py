from envdoctor.knowledge.questions import misfit_of, read_misfit
from envdoctor.rules.rule import ERROR, WARNING, Facts, Findings, error_lines, finding, rule


@rule(ERROR, kind="script-wrong", subject="the checkpoint", expected="the names and sizes of the model")
def checkpoint_keys(facts: Facts) -> Findings:
    """Weights do not fit the model, and the names and sizes that the error lists tell how the two differ.

    Why: what wraps, adapts or quantises a model changes the names of its tensors; added tokens, other labels, another
    rank or base model change sizes. The error lists both, and only says that they differ.
    Fix: take the prefix off, or make the model as the one that was saved.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
    """
    misfit = misfit_of(error_lines(facts))
    reading = read_misfit(misfit)
    if reading is None:
        return
    first = (*misfit.unexpected, *misfit.missing, *(size.name for size in misfit.sizes))[0]
    yield finding(
        actual=first,
        severity=None if reading.certain else WARNING,
        certain=reading.certain,
        message=f"{reading.meaning}.",
        usually=reading.usually,
        fix=reading.remedy,
    )
