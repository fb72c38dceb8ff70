from envdoctor.rules.rule import ERROR, Facts, Findings, Pattern, error_lines, finding, rule

_SHAPES = Pattern(
    r"mat1 and mat2 shapes cannot be multiplied \(\d{1,9}x(?P<width>\d{2,9}) and (?P<taken>\d{2,9})x\d{1,9}\)"
)
_LEAST, _MOST = 2, 8
"""How often the one width is in the other where outputs are joined: two encoders, three layers, a few at most."""
_NARROW = 256
"""Widths of encoders' outputs begin here; below it a multiple means little."""


@rule(ERROR, kind="script-wrong", subject="shapes", explains=("packages/known-errors shapes",))
def matrix_widths(facts: Facts) -> Findings:
    """An input is a whole number of times as wide as the layer that it meets takes, or the layer as the input.

    Why: a model may take the outputs of several layers, encoders or pictures joined end to end. An encoder that was
    loaded as another model's gives those of one alone, and both widths are right for their own model.
    Fix: load the encoder as the one of the model that it feeds.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html
    """
    loaded = facts.remarks.get("loaded in turn", "")
    found = next((match for line in error_lines(facts) if (match := _SHAPES.search(line))), None)
    if found is None:
        return
    width, taken = int(found["width"]), int(found["taken"])
    less, more = sorted((width, taken))
    if less < _NARROW or more % less or not _LEAST <= more // less <= _MOST:
        return
    times = more // less
    joined, alone = ("layer", "input") if taken > width else ("input", "layer")
    other = "is given those of one" if joined == "layer" else "meets a layer for one"
    beside = f" Beside it the log loads {loaded}." if loaded else ""
    message = (
        f"An input that is {width} wide meets a layer that takes {taken}: the {joined} is exactly {times} "
        f"times as wide as the {alone}: {found[0]}.{beside}"
    )
    usually = (
        f"the {joined} is made for {times} outputs joined end to end (of {times} layers of a text encoder, of "
        f"{times} encoders or pictures) and {other}: {_AS_ANOTHERS}"
    )
    yield finding(actual=f"{width} wide", expected=f"{taken} wide", message=message, usually=usually, fix=_AS_ITS_OWN)


_AS_ANOTHERS = (
    "the encoder was loaded as that of another model, or the program is older than the model; else a picture was "
    "flattened, or heads were joined, otherwise than the layer was computed for"
)
_AS_ITS_OWN = (
    "Load the text encoder as that of the model which it feeds (in ComfyUI: the type in its CLIPLoader), by the "
    "model's own template, and update the program; in code of your own join the outputs, or compare the input's last "
    "dimension with in_features."
)
