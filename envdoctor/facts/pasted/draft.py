"""Facts in the making: many readers put claims here, and the more specific of two claims wins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from packaging.utils import canonicalize_name

from envdoctor.facts.model import (
    Distribution,
    Driver,
    Extension,
    Facts,
    Gpu,
    Gpus,
    Host,
    Interpreter,
    Launcher,
    Network,
    Origin,
    Packages,
    Torch,
    Unavailable,
)
from envdoctor.facts.pasted import words

_SENTENCE = re.compile(r", (?=[a-z]{3})|\. (?=[A-Z])")
"""Where a person's sentence goes on behind the name of a GPU."""

STATED, LISTED, INFERRED, TOLD = 3, 2, 1, 0
"""How a claim is known: said of the thing itself, out of a list, concluded from something else, told in passing."""

MAIN = {
    name: place
    for place, name in enumerate(
        "collect_env vllm transformers-env accelerate-env ds_report nvidia-smi xformers-info".split()
    )
}
"""Formats of whole reports, the main one first."""

MESSAGES, REMARKS, PACKAGES, DEVICES = 2_000, 500, 5_000, 256
"""More than any real report holds; the rest of a hostile one is left out."""

Kind = TypeVar("Kind")


@dataclass(slots=True)
class Draft:
    """What has been read so far."""

    claims: dict[str, tuple[int, Any]] = field(default_factory=dict)
    packages: dict[str, tuple[int, Distribution]] = field(default_factory=dict)
    whole_list: bool = False
    conda: dict[str, str] = field(default_factory=dict)
    gpus: dict[int, dict[str, Any]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    extensions: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: dict[str, None] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    formats: dict[str, None] = field(default_factory=dict)
    no_torch: str | None = None
    several_torches: tuple[str, ...] = ()  # releases that a text names, of which it does not tell which one runs

    def claim(self, name: str, value: Any, weight: int = STATED) -> None:
        """Put ``value`` under ``name`` ("torch.cuda"). Of two versions, one that extends the other is kept
        ("2.6.0+cu124" over "2.6.0"); else the better known, else the first."""
        if value is None:
            return
        known = self.claims.get(name)
        if known is None:
            self.claims[name] = (weight, value)
        elif isinstance(value, str) and isinstance(known[1], str) and _extends(value, known[1]):
            self.claims[name] = (max(weight, known[0]), value)
        elif isinstance(value, str) and isinstance(known[1], str) and _extends(known[1], value):
            self.claims[name] = (max(weight, known[0]), known[1])
        elif weight > known[0]:
            self.claims[name] = (weight, value)

    def said(self, name: str) -> Any:
        """The value claimed so far, or None."""
        return self.claims[name][1] if name in self.claims else None

    def package(self, name: str, version: str, weight: int = LISTED, build: str | None = None, **more: Any) -> None:
        """An installed distribution. Lists give all; a line that names one thing knows it better."""
        name = canonicalize_name(name)
        known = self.packages.get(name)
        if known is None and len(self.packages) >= PACKAGES:
            return
        found = Distribution(name=name, version=version, build=build, **more)
        if known is None or weight > known[0] or _extends(version, known[1].version):
            if known is not None and _extends(known[1].version, version):
                found = replace(found, version=known[1].version)
            if known is not None and found.build is None:
                found = replace(found, build=known[1].build)
            self.packages[name] = (max(weight, known[0]) if known else weight, found)
        elif build is not None and known[1].build is None:
            self.packages[name] = (known[0], replace(known[1], build=build))

    def gpu(self, index: int, **values: Any) -> None:
        """Facts of one GPU; a longer name replaces the cut-off one of a narrow table."""
        if index not in self.gpus and (len(self.gpus) >= DEVICES or not 0 <= index < DEVICES):
            return
        known = self.gpus.setdefault(index, {})
        if isinstance(called := values.get("name"), str):
            values["name"] = _SENTENCE.split(called)[0]
        for name, value in values.items():
            if value is not None and (known.get(name) is None or (name == "name" and _completes(value, known[name]))):
                known[name] = value

    def variable(self, name: str, value: str) -> None:
        self.variables.setdefault(name, value)

    def extension(self, name: str, **values: Any) -> None:
        known = self.extensions.setdefault(name, {})
        for key, value in values.items():
            if value not in (None, ()):
                known.setdefault(key, value)

    def message(self, text: str) -> None:
        if len(self.messages) < MESSAGES:
            self.messages.setdefault(text[:2_000])

    def remark(self, key: str, value: str) -> None:
        if len(self.remarks) < REMARKS:
            self.remarks.setdefault(key[:120], value[:2_000])

    def format(self, name: str) -> None:
        self.formats.setdefault(name)

    @property
    def is_empty(self) -> bool:
        return not (
            self.claims or self.packages or self.gpus or self.variables or self.settings or self.extensions
            or self.messages or self.no_torch or self.conda
        )  # fmt: skip

    def facts(self) -> Facts:
        """The frozen result; a section of which nothing was said stays `Unavailable`."""
        self._conclude()
        formats = tuple(sorted(self.formats, key=lambda name: (name not in MAIN, MAIN.get(name, 0), name)))
        sections: dict[str, Any] = {
            "origin": Origin(kind="pasted", tool=formats[0] if formats else "", formats=formats),
            "messages": tuple(self.messages),
            "remarks": dict(self.remarks),
        }
        for section, kind in (("interpreter", Interpreter), ("host", Host), ("driver", Driver), ("network", Network)):
            values = self._values(section)
            if values and (section != "interpreter" or "version" in values):
                sections[section] = kind(**values)
        torch = self._values("torch")
        if torch:
            sections["torch"] = Torch(**{"version": "", **torch})
        elif self.no_torch:
            sections["torch"] = Unavailable(
                reason=self.no_torch, why="failed" if "torch" in self.packages else "absent"
            )
        elif self.several_torches:
            which = f"the text names {', '.join(self.several_torches[:-1])} and {self.several_torches[-1]}"
            sections["torch"] = Unavailable(reason=which, why="not-reported")
        if self.packages or self.conda:
            found = tuple(distribution for _, (_, distribution) in sorted(self.packages.items()))
            sections["packages"] = Packages(
                distributions=found, complete=self.whole_list, conda=dict(self.conda), **self._values("packages")
            )
        gpus = self._values("gpus")
        if self.gpus or gpus:
            devices = tuple(Gpu(**{"name": "", **values}, index=index) for index, values in sorted(self.gpus.items()))
            sections["gpus"] = Gpus(devices=devices, **gpus)
        if self.variables:
            sections["variables"] = dict(self.variables)
        if self.settings:
            sections["launcher"] = Launcher(settings=dict(self.settings), source="pasted")
        if self.extensions:
            sections["extensions"] = tuple(
                Extension(name=name, **values) for name, values in sorted(self.extensions.items())
            )
        return Facts(**sections)

    def _values(self, section: str) -> Mapping[str, Any]:
        prefix = section + "."
        return {name.removeprefix(prefix): value for name, (_, value) in self.claims.items() if name.startswith(prefix)}

    def _conclude(self) -> None:
        """What one section says of another: torch's version stands in package lists, its CUDA in its local tag."""
        listed = self.packages.get("torch")
        if listed:
            self.claim("torch.version", listed[1].version, LISTED)
        version = self.said("torch.version")
        if version:
            self.package("torch", version, INFERRED)
            tag = version.partition("+")[2] or (listed[1].build if listed and listed[1].build else "")
            self.claim("torch.cuda", words.cuda_of_tag(tag), INFERRED)
            if rocm := re.match(r"rocm(\d+\.\d+(?:\.\d+)?)", tag):
                self.claim("torch.hip", rocm[1], INFERRED)
                self.claim("torch.cuda", "", INFERRED)
        if "pip" in self.packages:
            self.claim("packages.pip", self.packages["pip"][1].version)


def _extends(longer: str, shorter: str) -> bool:
    """Is ``longer`` the same version said more exactly ("2.6.0+cu124" of "2.6.0", but not "2.10" of "2.1")?"""
    return longer.lower().startswith(shorter.lower()) and longer[len(shorter) : len(shorter) + 1] in set(".+-_ ")


def _completes(longer: str, shorter: str) -> bool:
    """Is ``shorter`` the same name, cut off by a narrow table ("NVIDIA GeForce RTX 30..." of "... RTX 3090")?"""
    return len(longer) > len(shorter) and longer.lower().startswith(shorter.lower().rstrip("."))
