"""A pasted report to facts: `read` takes whatever a person pastes and fills what it says, and nothing more."""

from envdoctor.facts.pasted.report import read

__all__ = ["read"]
