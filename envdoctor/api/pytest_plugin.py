"""A pytest plugin: GPU tests are skipped, or fail with the reason, on a machine that is sick.

    pytestmark = pytest.mark.usefixtures("healthy_gpu")

Without a GPU they are skipped. With one that has findings of severity error, the option ``envdoctor_sick`` decides:
``skip`` (the default) or ``fail``. The examination is made once in a session, and only if a test asks for it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from envdoctor.api.answers import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    wanted = "what becomes of GPU tests on a machine with errors: skip or fail"
    parser.addini("envdoctor_sick", wanted, default="skip")
    parser.addini("envdoctor_target", "what this machine is held against: a target, or auto", default="none")
    parser.getgroup("envdoctor").addoption("--envdoctor-sick", choices=("skip", "fail"), help=wanted)


@pytest.fixture(scope="session")
def envdoctor_report(pytestconfig: pytest.Config) -> Report:
    """What `envdoctor.check` says of the environment that runs these tests."""
    from envdoctor import check

    return check(sys.prefix, target=str(pytestconfig.getini("envdoctor_target")))


@pytest.fixture(scope="session")
def healthy_gpu(envdoctor_report: Report, pytestconfig: pytest.Config) -> Report:
    """Skips without a GPU, and skips or fails (``envdoctor_sick``) where something keeps it from working."""
    report = envdoctor_report
    how = pytestconfig.getoption("envdoctor_sick") or pytestconfig.getini("envdoctor_sick")
    if how not in ("skip", "fail"):
        raise pytest.UsageError(f"envdoctor_sick is {how!r}, not skip or fail")
    if report.environment.gpus == () or (report.environment.gpus is None and report.outcome != "unknown"):
        pytest.skip("envdoctor: there is no NVIDIA GPU here")
    problem = ""
    if report.errors:
        first = next(
            (e for e in report.errors if report.root_cause and e.rule == report.root_cause.rule), report.errors[0]
        )
        more = f" (and {len(report.errors) - 1} more)" if len(report.errors) > 1 else ""
        problem = f"envdoctor: {first.message}{more}. {first.remedy.text}"
    elif report.outcome == "unknown":
        problem = "envdoctor: this machine could not be judged: " + "; ".join(one.reason for one in report.unseen)
    if problem and how == "fail":
        pytest.fail(problem, pytrace=False)
    if problem:
        pytest.skip(problem)
    return report
