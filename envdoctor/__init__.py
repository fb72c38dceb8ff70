"""envdoctor: is this environment as fast as it should be, and if not, why, and repaired by one command.

For programs::

    from envdoctor import check, fit, fix, verify

    report = check("./env", target="h100")
    if report.outcome != "healthy":
        print(report.root_cause, [found.message for found in report.findings])

What is returned are frozen values with the fields of the JSON documents (`envdoctor check --format json` and so on);
the schemas of these lie in ``envdoctor/schemas``. Expected failures raise `Trouble`.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["Trouble", "__version__", "check", "fit", "fix", "verify"]


_HOMES = {"check": "api.calls", "fit": "api.calls", "fix": "api.calls", "verify": "api.calls", "Trouble": "errors"}


def __getattr__(name: str) -> object:
    """What programs use loads when it is first asked for: the command line needs none of it, and starts at once.

    Its types are in ``__init__.pyi``.
    """
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(f"envdoctor.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
