"""What xformers prints of itself where its kernels do not load: for which torch, CUDA and Python it was built."""

import re

from envdoctor.knowledge.circumstances import XFORMERS_PYTHON
from envdoctor.knowledge.machine import needs_board_wheels
from envdoctor.knowledge.messages import everything
from envdoctor.knowledge.questions import installed, pairs, versions
from envdoctor.rules.rule import Facts, Pattern
from envdoctor.values import shell
from envdoctor.values.frozen import frozen

_TORCH = Pattern(
    r"PyTorch (?P<built>\d[\w.+]{2,40}) with (?:CUDA|HIP) (?P<cuda>\w{1,12})\S{0,12} "
    r"\(you have (?P<have>\d[\w.+]{2,40})\)"
)


@frozen
class BuiltFor:
    """``differs`` names which of torch, CUDA and Python are others here, as far as the message tells."""

    text: str
    differs: tuple[str, ...]
    torch: str
    python: str

    @property
    def meaning(self) -> str:
        what = f"The kernels of xformers do not load: it was built for {self.text}"
        if self.differs:
            return f"{what}; what differs here: {', '.join(self.differs)}."
        return f"{what}, and here are releases of the same numbers."

    def usually(self, facts: Facts) -> str:
        if listed := self.listed(facts):
            return _ELSEWHERE.format(listed=listed, torch=self.torch)
        return "" if self.differs else _SAME_NUMBERS

    def listed(self, facts: Facts) -> str:
        """The torch and xformers that a list in the text shows, where that is of another torch than the one that runs;
        "" where they agree, or none is listed."""
        torch, xformers = (installed.version(facts, name) for name in ("torch", "xformers"))
        if torch is None or versions.public(torch) == versions.public(self.torch):
            return ""
        return f"torch {torch}" + (f" and xformers {xformers}" if xformers else "")

    def advice(self, facts: Facts) -> tuple[str, ...]:
        """A sentence, what to install so that xformers fits and torch stays as it is, and what to type instead."""
        label = versions.label(self.torch) or ""
        tag = f"cp{self.python.replace('.', '')}" if self.python else "this Python's cp tag"
        build = (
            "build it against the torch that is here, without isolation and without its requirements, which would "
            "bring another torch"
        )
        made = pairs.xformers_for(self.torch)
        if self.listed(facts):
            own = f"the xformers made for its torch {self.torch}{f', {made},' if made else ''}"
            return _ASK_IT.format(own), "python -m xformers.info"
        from_source = "python -m pip install --no-build-isolation --no-deps "
        from_source += f"git+https://github.com/facebookresearch/xformers.git{f'@v{made}' if made else ''}"
        if needs_board_wheels(facts):
            text = (
                f"Take the xformers wheel of this JetPack and Python ({tag} in its name) from the index that torch "
                f"came from; if it has none, {build} (TORCH_CUDA_ARCH_LIST=8.7 on Orin, 7.2 on Xavier)."
            )
            return text, from_source.replace("install ", "install --force-reinstall ", 1)
        backend = label if re.fullmatch(r"cpu|cu\d{2,3}", label) else "auto"
        if made == pairs.UNBOUND_XFORMERS:
            text = f"Install xformers {made}, whose builds go with torch 2.10 and later and differ by their CUDA,"
        else:
            python = "" if _serves_every_python(self.torch) else f" and this Python ({tag} in its file's name)"
            text = f"Install the xformers that was made for torch {self.torch}{python}{f', {made},' if made else ','}"
        text += f" from the index that torch came from, into this very Python, or {build}; or remove it."
        command = shell.with_requirements(
            f"uv pip install --torch-backend={backend} --no-deps --reinstall-package xformers",
            f"xformers=={made}" if made else "xformers",
        )
        return text, command if made else from_source, "python -m pip uninstall -y xformers"


_ASK_IT = (
    "Find the Python that runs the program (in a folder of its own, venv as a rule) and ask that one (python -m pip "
    "list). There install {} or torch and xformers anew as a pair; what is installed into another Python changes "
    "nothing."
)
_ELSEWHERE = (
    "the program runs in another environment than the list was made in: its torch is {torch}, and the list "
    "shows {listed}"
)
_SAME_NUMBERS = (
    "torch's CUDA line or build is another, or a library that the kernels need does not load (CUDA's, Visual C++'s "
    "runtime)"
)
_KERNELS = Pattern(r"xFormers (?:was built for|can'?t load)|with (?:CUDA|HIP) \w{1,12}\S{0,12} \(you have")


def built_for(facts: Facts, line: str) -> BuiltFor | None:
    """What the text says of it, where this line is of its kernels."""
    if _KERNELS.search(line) is None:
        return None
    texts = everything(facts)
    said = next((found for text in texts if (found := _TORCH.search(text))), None)
    if said is None:
        return None
    python = next((found for text in texts if (found := XFORMERS_PYTHON.said.search(text))), None)
    cuda = _line(said["cuda"])
    own = versions.label(said["have"]) or ""
    differs = []
    if versions.public(said["built"]) != versions.public(said["have"]):
        differs.append(f"torch ({said['built']} against {said['have']})")
    if cuda and re.fullmatch(r"cu\d{3}", own) and _line(f"{own[2:4]}0{own[4:]}") != cuda:
        differs.append(f"torch's CUDA line ({cuda} against {own})")
    built, here = (_minor(python["built"]), _minor(python["have"])) if python else ("", "")
    if python and built != here and not _serves_every_python(said["built"]):
        differs.append(f"Python ({python['built']} against {python['have']})")
    text = f"torch {said['built']}" + (f" with CUDA {cuda}" if cuda else "") + (f" and Python {built}" if built else "")
    return BuiltFor(text=text, differs=tuple(differs), torch=said["have"], python=here)


def _serves_every_python(torch: str) -> bool:
    """Are the wheels for this torch of no Python's own (xformers' of PyPI and PyTorch, whose torch has a label of CUDA,
    from 0.0.31 on)?"""
    return bool(versions.label(torch)) and not versions.below(versions.public(torch), "2.7.1")


def _line(number: str) -> str:
    """1209 is 12.9, as cudaRuntimeGetVersion counts."""
    return f"{int(number) // 100}.{int(number) % 100}" if re.fullmatch(r"\d{4}", number) else ""


def _minor(python: str) -> str:
    return ".".join(python.split(".")[:2])
