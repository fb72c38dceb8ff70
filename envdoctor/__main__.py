"""``python -m envdoctor``."""

from envdoctor.cli import main

main()
