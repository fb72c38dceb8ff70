"""pip's configuration, read from its files and variables without starting pip.

Order and sections as in pip's documentation ("Configuration"): global, user and site files, then the file of
``PIP_CONFIG_FILE``; ``[install]`` beats ``[global]``; ``PIP_*`` variables beat every file.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor.errors import Trouble


def read(environment: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Option -> value, names with dashes ("extra-index-url"). Raises `Trouble` for a file that cannot be parsed."""
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}}
    for path in _files(environment, variables):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            first = str(error).splitlines()[0]
            raise Trouble(f"is not a pip configuration: {first}", file=path, remedy="Correct or remove it.") from error
        for section, values in sections.items():
            if parser.has_section(section):
                values.update({key.replace("_", "-"): value.strip() for key, value in parser.items(section)})
    merged = sections["global"] | sections["install"]
    for name, value in variables.items():
        if name.startswith("PIP_") and name != "PIP_CONFIG_FILE" and value:
            merged[name[4:].lower().replace("_", "-")] = value.strip()
    return merged


def _files(environment: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    chosen = variables.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return
    home = Path(variables.get("HOME") or os.path.expanduser("~"))
    for folder in (variables.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep):
        yield Path(folder) / "pip" / "pip.conf"
    yield Path("/etc/pip.conf")
    yield home / ".pip" / "pip.conf"
    yield Path(variables.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    yield environment / "pip.conf"
    if chosen:
        yield Path(chosen)
