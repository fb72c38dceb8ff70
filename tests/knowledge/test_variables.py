from envdoctor.facts import scrub
from envdoctor.knowledge.variables import CACHES_OFF, COMPILE_OFF, DEBUG, NCCL, PROFILERS, SETTINGS, UNREAD, on

ROWS = (*DEBUG, *COMPILE_OFF, *CACHES_OFF, *PROFILERS, *NCCL, *SETTINGS)


def test_every_row_says_what_it_does_and_where_that_is_written() -> None:
    for row in ROWS:
        assert row.effect
        assert not row.effect.endswith(".")
        assert row.source.startswith("https://"), row.name


def test_no_row_acts_when_its_variable_is_empty() -> None:
    assert not [row.name for row in ROWS if row.active("")]


def test_off_is_off_however_it_is_written() -> None:
    assert not any(on(value) for value in ("", "0", "false", "FALSE", "no", "Off", " 0 "))
    assert all(on(value) for value in ("1", "true", "yes", "2"))


def test_the_probe_reports_what_the_rules_read() -> None:
    given = {row.name: "1" for row in ROWS}
    assert set(scrub.variables(given)) == set(given)


def test_a_variable_is_read_or_not_but_not_both() -> None:
    assert not {row.name for row in ROWS} & set(UNREAD.names())
