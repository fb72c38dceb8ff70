"""The rules: one file each, in a folder per family. A new rule is a new file and its test; nothing else changes."""
