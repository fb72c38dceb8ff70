"""The table of wordings: each of its words is a concept, each complaint is one that somebody answers."""

from __future__ import annotations

from envdoctor.knowledge.slowness import COMPLAINTS, OTHERS, SITUATIONS, SPEED
from envdoctor.knowledge.wordings import CONCEPTS, WORDINGS

TROUBLE = "trouble"  # asked for by its name


def test_words_are_concepts_and_each_concept_is_used() -> None:
    used = {word for one in WORDINGS for word in (*one.words, *one.unless)}
    assert used | {TROUBLE} == set(CONCEPTS.names())


def test_each_complaint_is_answered() -> None:
    assert {one.of for one in WORDINGS} <= {*OTHERS, SPEED}
    assert {one.of for one in COMPLAINTS} == set(OTHERS)


def test_one_at_most_speaks_where_no_other_does() -> None:
    rows = (*COMPLAINTS, *SITUATIONS)
    last = [one.of for one in rows if one.last]
    assert len(last) == len(set(last))
    always = {one.of for one in rows if one.said == r"\S"}
    assert {one.of for one in WORDINGS} <= always
    assert not [one.name for one in rows if one.last and one.gives_way]
