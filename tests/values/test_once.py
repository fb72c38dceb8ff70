import contextlib

from envdoctor.facts.model import Facts
from envdoctor.values.once import once


def test_the_same_value_is_asked_about_once_and_another_anew() -> None:
    asked: list[Facts] = []

    @once
    def question(facts: Facts) -> int:
        asked.append(facts)
        return len(asked)

    one, other = Facts(), Facts()
    assert one == other  # equal, and yet not the same: it is the very value that counts
    assert [question(one), question(one), question(other), question(other), question(one)] == [1, 1, 2, 2, 3]


def test_an_answer_of_none_is_remembered_too_and_an_error_is_not() -> None:
    calls = [0]

    @once
    def question(facts: Facts) -> None:
        calls[0] += 1
        if calls[0] == 1:
            raise ValueError

    facts = Facts()
    with contextlib.suppress(ValueError):
        question(facts)
    assert question(facts) is question(facts) is None
    assert calls[0] == 2
