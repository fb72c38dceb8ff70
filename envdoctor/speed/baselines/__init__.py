"""Recorded speeds: written, read, shown, translated to other machines."""
