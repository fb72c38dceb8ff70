"""What the commands of an image install: pip, uv, conda and apt lines as requirements, each with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import pairwise

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from envdoctor.facts.images.dockerfile import Instruction, Stage
from envdoctor.facts.images.shell import Command
from envdoctor.facts.images.words import Word
from envdoctor.rules.rule import Pattern
from envdoctor.values.frozen import frozen

_PIP = Pattern(r"pip(?:3(?:\.\d+)?)?")
_PYTHON = Pattern(r"python(?:3(?:\.\d+)?)?")
_VALUES = frozenset(
    "-r --requirement --requirements -c --constraint --constraints -i --index-url --extra-index-url -f --find-links -t "
    "--target -p --python --prefix --root --torch-backend -e --editable --progress-bar --timeout --retries --platform "
    "--python-version --no-binary --only-binary --index --default-index --index-strategy --cache-dir --build-option "
    "--config-settings -C --global-option --trusted-host --override --overrides --link-mode --upgrade-package "
    "--no-build-isolation-package -n --name --channel --file --implementation --abi -b --src --group --extra".split()
)
HEAVY = frozenset({"torch", "pytorch", "vllm", "tensorflow", "jax", "torchvision", "xformers", "deepspeed", "sglang"})
"""What brings gigabytes."""
_HOMES = {
    "flash-attention": "flash-attn",
    "apex": "apex",
    "xformers": "xformers",
    "mamba": "mamba-ssm",
    "causal-conv1d": "causal-conv1d",
    "transformerengine": "transformer-engine",
    "sageattention": "sageattention",
    "detectron2": "detectron2",
    "pytorch3d": "pytorch3d",
    "deepspeed": "deepspeed",
}
"""Repository -> distribution, where they are called otherwise or are built against the torch that is installed."""


@frozen
class RequestedPackage:
    """One package that a command installs. ``version``: the exact one, "" for any other specifier or none."""

    name: str
    line: int
    version: str = ""
    specifier: str = ""
    wheel: str = ""  # file name, of one given by its address
    source: bool = False  # from a folder or a repository: built here


@frozen
class Install:
    """One installing command."""

    tool: str  # "pip", "uv", "conda", "apt" or "setup.py"
    command: Command
    instruction: Instruction
    stage: Stage
    wanted: tuple[RequestedPackage, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by their long or short name, as written

    @property
    def line(self) -> int:
        return self.command.line

    @property
    def is_heavy(self) -> bool:
        return any(one.name in HEAVY for one in self.wanted)

    def values(self, *names: str) -> tuple[str, ...]:
        return tuple(value for name in names for value in self.options.get(name, ()))

    def has(self, *names: str) -> bool:
        return any(name in self.options for name in names)

    def variable(self, name: str) -> str:
        return self.command.variables.get(name) or self.stage.variables.get(name, "")

    @property
    def indexes(self) -> tuple[str, ...]:
        """Addresses of the indexes beside the default one."""
        given = self.values(
            "-i", "--index-url", "--extra-index-url", "--index", "--default-index", "-f", "--find-links"
        )
        set_ = [self.variable(name) for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_INDEX_URL")]
        return (*given, *filter(None, set_))

    @property
    def torch_line(self) -> str | None:
        """The label of torch's index that is asked first: "cu124", "cpu"; None where it is the default index."""
        backend = self.values("--torch-backend") or tuple(filter(None, (self.variable("UV_TORCH_BACKEND"),)))
        for address in self.indexes:
            if found := re.search(r"/whl/(?:nightly/|test/)?(cpu|cu\d{2,3}|rocm[\d.]+|xpu)(?:/|$|\?)", address):
                return found[1]
        return next((name for name in backend if name != "auto"), None)


def installs(stage: Stage) -> Iterator[Install]:
    """The installing commands of one stage, in their order."""
    folder = ""
    for instruction in stage.instructions:
        if instruction.name == "WORKDIR" and instruction.words:
            folder = instruction.words[-1].text
        if instruction.name != "RUN":
            continue
        here = folder
        for command in instruction.commands:
            if command.program in ("cd", "pushd") and len(command.words) > 1:
                here = command.words[1].text
            elif (found := _install(command, instruction, stage, here)) is not None:
                yield found


def _install(command: Command, instruction: Instruction, stage: Stage, folder: str) -> Install | None:
    words = list(command.words)
    program = command.program
    if _PYTHON.fullmatch(program) and len(words) > 2 and words[1].text == "-m":
        words, program = words[2:], words[2].text
    if _PYTHON.fullmatch(program) and len(words) > 2 and words[1].text == "setup.py":
        if not {"install", "develop", "bdist_wheel"} & {word.text for word in words[2:]}:
            return None
        wanted = (_source_build(folder, words[1].line),)
        return Install(tool="setup.py", command=command, instruction=instruction, stage=stage, wanted=wanted)
    if program == "uv" and [word.text for word in words[1:3]] == ["pip", "install"]:
        tool, rest = "uv", words[3:]
    elif _PIP.fullmatch(program) and (place := _install_word(words)) is not None:
        tool, rest = "pip", words[place + 1 :]
    elif program in ("conda", "mamba", "micromamba") and (place := _install_word(words)) is not None:
        tool, rest = "conda", words[place + 1 :]
    elif program in ("apt-get", "apt", "aptitude") and (place := _install_word(words)) is not None:
        tool, rest = "apt", words[place + 1 :]
    else:
        return None
    options, plain = _sort_words(rest)
    reader = {"conda": _of_conda, "apt": _of_apt}.get(tool)
    found = [reader(word) if reader else _of_pip(word, folder) for word in plain]
    found += [_of_pip(word, folder, editable=True) for word in _editable(rest)] if tool in ("pip", "uv") else []
    return Install(
        tool=tool,
        command=command,
        instruction=instruction,
        stage=stage,
        options=options,
        wanted=tuple(each for each in found if each is not None),
    )


def _install_word(words: list[Word]) -> int | None:
    return next((number for number, word in enumerate(words) if word.text in ("install", "create")), None)


def _sort_words(words: list[Word]) -> tuple[dict[str, tuple[str, ...]], list[Word]]:
    options: dict[str, tuple[str, ...]] = {}
    plain: list[Word] = []
    waiting = ""
    for word in words:
        text = word.text
        if waiting:
            options[waiting] = (*options.get(waiting, ()), text)
            waiting = ""
        elif text.startswith("-") and text != "-":
            name, equals, value = text.partition("=")
            options.setdefault(name, ())
            if equals:
                options[name] = (*options[name], value)
            elif name in _VALUES:
                waiting = name
        elif text:
            plain.append(word)
    return options, plain


def _editable(words: list[Word]) -> Iterator[Word]:
    for before, word in pairwise(words):
        if before.text in ("-e", "--editable"):
            yield word


def _of_pip(word: Word, folder: str, editable: bool = False) -> RequestedPackage | None:
    text = word.text
    if text.endswith(".whl") or ".whl#" in text or ".whl?" in text:
        name = re.split(r"[?#]", text)[0].rpartition("/")[2].replace("%2B", "+")
        try:
            distribution, version, _, _ = parse_wheel_filename(name)
        except InvalidWheelFilename:
            return None
        return RequestedPackage(name=distribution, line=word.line, version=str(version), wheel=name)
    if " @ " in text or "git+" in text or text.startswith(("http://", "https://")):
        known = text.partition("@")[0].strip() if " @ " in text else ""
        place = re.split(r"[@#?]", text.partition("git+")[2] or text)[0].rstrip("/")
        return _source_build(place.removesuffix(".git"), word.line, known)
    if text.startswith((".", "/")) or editable or text in (".",):
        inner = text.partition("[")[0].rstrip("/")
        return _source_build(folder if inner in (".", "") else inner, word.line)
    try:
        found = Requirement(text)
    except InvalidRequirement:
        return None
    exact = [one.version for one in found.specifier if one.operator in ("==", "===") and not one.version.endswith("*")]
    return RequestedPackage(
        name=canonicalize_name(found.name),
        line=word.line,
        version=exact[0] if len(exact) == 1 else "",
        specifier=str(found.specifier),
    )


def _source_build(place: str, line: int, name: str = "") -> RequestedPackage:
    """Something built from source: named by its folder or repository."""
    last = canonicalize_name(name or place.rstrip("/").rpartition("/")[2] or "project")
    return RequestedPackage(name=_HOMES.get(last.replace("_", "-"), last), line=line, source=True)


def _of_conda(word: Word) -> RequestedPackage | None:
    found = re.fullmatch(r"(?:[\w./-]+::)?([A-Za-z][\w.-]*)(?:=+([\w.*]+).*)?", word.text)
    if found is None:
        return None
    return RequestedPackage(name=found[1].lower(), line=word.line, version=(found[2] or "").rstrip(".*"))


def _of_apt(word: Word) -> RequestedPackage | None:
    name, _, version = word.text.partition("=")
    return RequestedPackage(name=name, line=word.line, version=version)
