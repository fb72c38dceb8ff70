from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import finding_at, keyword_literal, trees


@rule(WARNING, kind="script-wrong", expected="logging_nan_inf_filter=False")
def nan_filter(facts: Facts) -> Findings:
    """Steps whose loss is NaN or infinite are hidden from the log.

    Why: logging_nan_inf_filter=True replaces such losses by the average of the last ones in what is logged; the
    gradients are NaN all the same, and the run looks well while the model is ruined.
    Fix: set it to False.
    Source: https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
    """
    for tree in trees(facts):
        for call in tree.calls():
            if keyword_literal(call, "logging_nan_inf_filter") is True:
                yield finding_at(
                    tree,
                    call,
                    message="losses that are NaN or infinite are left out of the log.",
                    fix="Set logging_nan_inf_filter=False, so that a ruined run shows.",
                    run="logging_nan_inf_filter=False",
                )
