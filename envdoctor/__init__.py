"""envdoctor: is this environment as fast as it should be, and if not, why, and repaired by one command."""

from __future__ import annotations

__version__ = "0.1.0"
