import pytest

from envdoctor.rules.script.tokenizer_in_loop import tokenizer_in_loop
from tests.rules.judging import silent
from tests.rules.script.scripts import LOOP, facts, found, in_step


@pytest.mark.parametrize(
    "line",
    [
        "inputs = tokenizer(batch['text'], return_tensors='pt')",
        "ids = self.tokenizer.encode(text)",
        "ids = tok_tokenizer.apply_chat_template(messages)",
    ],
)
def test_in_the_step(line: str) -> None:
    (finding,) = found(tokenizer_in_loop, in_step(line))
    assert (finding.kind, finding.subject) == ("script-slow", "train.py:15")


@pytest.mark.parametrize(
    "source",
    [
        LOOP,
        "rows = tokenizer(texts)\n" + LOOP,
        in_step("text = tokenizer.decode(ids)"),
        in_step("if step % 100 == 0: tokenizer(text)"),
    ],
)
def test_before_or_rarely(source: str) -> None:
    assert silent(tokenizer_in_loop, facts(source))
