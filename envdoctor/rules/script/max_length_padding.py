from envdoctor.rules.rule import WARNING, Facts, Findings, rule
from envdoctor.rules.script._reading import finding_at, keyword_literal, trees

_FIXED = ("diffusers", "torch_xla", "jax", "tensorflow", "optimum")
"""Where every row must have one length: text encoders of diffusion models, and compilers for fixed shapes."""


@rule(WARNING, kind="script-slow", expected='padding="longest" in the collator, or packing')
def max_length_padding(facts: Facts) -> Findings:
    """Every example is padded to the greatest length.

    Why: padded positions are computed like real ones. With rows of spread lengths most of the work is then padding;
    padding to the longest row of the batch, or packing, trains several times faster on the same examples.
    Fix: pad in the collator (padding="longest"), sort by length, or pack.
    Source: https://huggingface.co/docs/transformers/pad_truncation
    """
    for tree in trees(facts):
        if tree.imports(*_FIXED):
            continue
        for call in tree.calls():
            padding = keyword_literal(call, "padding")
            if padding == "max_length" or keyword_literal(call, "pad_to_max_length") is True:
                yield finding_at(
                    tree,
                    call,
                    message="every row is padded to the greatest length, and padding is computed like text.",
                    fix="Tokenise without padding; let the collator pad to the longest row of a batch, or pack rows.",
                    run="DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8)",
                )
