from envdoctor.rules.rule import WARNING, Facts, Findings, Pattern, rule
from envdoctor.rules.script._reading import calls_each_step, finding_at, trees

_TOKENISES = Pattern(
    r"(?i)(?:^|\.)\w*tokenizer(?:\.(?:encode|encode_plus|batch_encode_plus|apply_chat_template|__call__))?$|(?:^|\.)tokenize$",
)


@rule(WARNING, kind="script-slow", expected="tokens prepared beforehand")
def tokenizer_in_loop(facts: Facts) -> Findings:
    """Text is tokenised inside the training step.

    Why: the GPU waits while the tokenizer runs on the CPU, again in each epoch for the same text.
    Fix: tokenise once before training (datasets.map with batched=True), or in loader workers.
    Source: https://huggingface.co/docs/datasets/use_with_pytorch
    """
    for tree in trees(facts):
        for call in calls_each_step(tree):
            if _TOKENISES.search(tree.dotted(call.func)):
                yield finding_at(
                    tree,
                    call,
                    message="the tokenizer runs inside the training step, while the GPU waits.",
                    fix="Tokenise the data once, before training.",
                    run="dataset = dataset.map(lambda rows: tokenizer(rows['text'], truncation=True), batched=True)",
                )
