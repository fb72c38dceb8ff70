"""What torch's allocator says when the GPU has no memory left for it."""

from __future__ import annotations

from typing import NamedTuple

from envdoctor.values.pattern import Pattern

_SIZE = r"[\d.]{1,12} (?:[KMG]iB|bytes)"
_FULL = Pattern(
    rf"(?i)Tried to allocate (?P<wanted>{_SIZE}).{{0,120}}?(?P<total>{_SIZE}) total capacity"
    rf"(?:.{{0,80}}?(?P<free>{_SIZE}) free)?"
    rf"|Tried to allocate (?P<asked>{_SIZE}).{{0,60}}?total capaci?ty of (?P<whole>{_SIZE})"
    rf"(?: of which (?P<left>{_SIZE}) is free)?",
)
_UNITS = {"bytes": 2.0**-30, "kib": 2.0**-20, "mib": 2.0**-10, "gib": 1.0}
_SPARE = 1.0
"""GiB that must have been free beyond what was asked: the allocator asks the driver for whole blocks, and another
process may have come and gone between the refusal and the count."""


_OWN = Pattern(
    rf"(?i)this process has (?P<now>{_SIZE}) memory in use|(?P<reserved>{_SIZE}) reserved in total by PyTorch"
    rf"|(?P<cached>{_SIZE}) cached",
)
_MOST = 0.4
"""Of the GPU's memory: a context of CUDA and libraries take up to a few GiB beside what torch counts as its own."""


_PIECES = Pattern(
    rf"(?i)(?P<free>{_SIZE}) is reserved by PyTorch but unallocated"
    rf"|(?P<used>{_SIZE}) already allocated;.{{0,60}}?(?P<held>{_SIZE}) reserved in total",
)
_MUCH = 0.15
"""Of the GPU's memory: what torch holds without using it is then worth more than a smaller batch."""
_LITTLE = 0.05
"""Of the GPU's memory: what torch holds without using it is then no more than the rest of its blocks."""
_ALL = 0.85
"""Of the GPU's memory: then what others hold is no more than a context or a display."""
_CONTEXT = 1.5
"""GiB that this process's own context and libraries may take beside what torch counts."""
_LIMIT = 3.9
"""GiB in one piece, from which on Intel's driver refuses them on the first Arc cards (single allocations)."""
_SEEN = 0.6
"""GiB beside torch's count from which on somebody looks for them."""
_LARGE = 0.3
"""Of the GPU's memory, for one tensor: a batch, a length or a resolution makes those, and no layer's weights."""


class Refusal(NamedTuple):
    """What the allocator says that it asked for, of how much, and how much of it was free."""

    wanted: str
    total: str
    free: str | None
    own: str | None = None  # what this process holds
    idle: float | None = None  # GiB that torch holds and does not use
    whole: bool = False  # is its own share counted with what it holds beside torch?
    empty: bool = False  # does torch hold nothing at all of an Intel GPU?

    @classmethod
    def read(cls, text: str) -> Refusal | None:
        found = _FULL.search(text)
        if found is None:
            return None
        held = _OWN.search(text)
        return cls(
            found["wanted"] or found["asked"],
            found["total"] or found["whole"],
            found["free"] or found["left"],
            next(filter(None, held.groups()), None) if held else None,
            _idle(text),
            bool(held and held["now"]),
            "XPU out of memory" in text and " 0 bytes is allocated by PyTorch" in text,
        )

    @property
    def others(self) -> float | None:
        """GiB that are neither free nor this process's: other processes hold them, where they are many."""
        if self.free is None or self.own is None:
            return None
        return _gib(self.total) - _gib(self.free) - _gib(self.own)

    @property
    def whole_gpu(self) -> float:
        """GiB of the GPU."""
        return _gib(self.total)

    @property
    def amounts(self) -> str:
        refused = f": {self.wanted} more{', in one piece,' if self.is_one_piece else ''} do not fit into {self.total}"
        if self.is_torn:
            return (
                f": {self.wanted} in one piece were refused while {self.free} of {self.total} were free and torch held "
                f"{self.idle or 0.0:.1f} GiB that it did not use"
            )
        if self.limited:
            return f": {self.wanted} in one piece were refused on a GPU of {self.total}, of which torch holds nothing"
        if self._is_others():
            return f"{refused}, of which this process{self._part} holds {self.own}"
        if self.refused:
            return f": {self.wanted} were refused while {self.free} of {self.total} were free"
        if self.holds_it_all:
            return f"{refused}, of which this process holds {self.own} itself{self._pieces}{self._context}"
        if self.others is not None and self.others >= _CONTEXT:
            return (
                f"{refused}, of which this process holds {self.own} by torch's own count, and about "
                f"{self.others:.1f} GiB are held beside it (other processes, and this one's CUDA context)"
            )
        return refused

    @property
    def _part(self) -> str:
        return "" if self.whole else "'s torch"

    @property
    def _or(self) -> str:
        """Older messages count what this process's torch holds, and nothing of what else is in the process."""
        return "" if self.whole else " (or, which is rare, something in this one beside torch)"

    @property
    def _context(self) -> str:
        """What lies beside torch's own count, where that is seen and no other process need hold it."""
        if self.whole or self.others is None or self.others < _SEEN:
            return ""
        return (
            f", and about {self.others:.1f} GiB are held by CUDA's context and libraries, or by whatever else is on "
            "this GPU, which no setting of torch frees"
        )

    @property
    def _pieces(self) -> str:
        return f" ({self.idle or 0.0:.1f} GiB of it reserved by torch and unused)" if self.in_pieces else ""

    @property
    def in_pieces(self) -> bool:
        return self.idle is not None and self.idle >= _MUCH * _gib(self.total)

    @property
    def has_no_pieces(self) -> bool:
        """Would all that torch holds without using it still not be enough?"""
        return self.idle is not None and self.idle < min(_gib(self.wanted), _LITTLE * _gib(self.total))

    @property
    def is_one_piece(self) -> bool:
        """Is what is asked for at once a large part of the whole GPU?"""
        return _gib(self.wanted) >= _LARGE * _gib(self.total)

    @property
    def holds_it_all(self) -> bool:
        """Is no other process to be looked for, by the error's own numbers?"""
        if self.own is None:
            return False
        whole = _gib(self.total)
        return _gib(self.own) >= _ALL * whole or (
            self.others is not None and self.others <= max(_CONTEXT, (1.0 - _ALL) * whole)
        )

    @property
    def refused(self) -> bool:
        return self.free is not None and _gib(self.free) >= _gib(self.wanted) + _SPARE

    @property
    def is_torn(self) -> bool:
        """Would the request fit into what is free and what torch holds unused, if that lay in one piece?"""
        if self.free is None or self.idle is None or self.refused:
            return False
        return self.idle >= _gib(self.wanted) and self.in_pieces and self.is_one_piece

    @property
    def limited(self) -> bool:
        """Is it an Intel GPU that torch holds nothing of, and that would have room?"""
        return self.empty and _LIMIT <= _gib(self.wanted) < _gib(self.total)

    @property
    def instead(self) -> tuple[str, str] | None:
        """What it means where the memory is not full at all, and what helps then: smaller batches do not."""
        if self.limited:
            return (
                "the GPU is empty by torch's count, and a request in one piece was refused: Intel's driver gives no "
                "more than about 4 GiB at once on cards of the first Arc generation",
                "Set UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1 before Python starts, with a torch for XPU that reads it "
                "(2.6 and later), or keep each tensor below 4 GiB: a smaller batch, attention in slices, the work in "
                "pieces.",
            )
        if self.refused:
            return (
                "the GPU's memory is not full by its own count, and was refused all the same",
                "Something else limits it: under Windows and WSL the memory of the machine and its page file "
                "(.wslconfig: memory=), a limit that the process was given (set_per_process_memory_fraction, "
                "a vGPU, ulimit -v), or another process that filled the GPU for a moment. Look at nvidia-smi and "
                "free -h while it starts.",
            )
        if self.is_torn:
            return (
                "what is left of the GPU's memory lies in pieces, of which none takes the request (fragmentation)",
                "Set PYTORCH_ALLOC_CONF=expandable_segments:True before Python starts (PYTORCH_CUDA_ALLOC_CONF before "
                "torch 2.9); torch.cuda.empty_cache() before the large step gives back what lies unused. Where that is "
                "not enough, lower what is asked for at once: the resolution, the length, the batch.",
            )
        if self._is_others():
            return (
                "the GPU's memory does not suffice, as other processes hold about "
                f"{self.others:.0f} GiB of it{self._or}",
                "See with nvidia-smi who holds it. Other ranks of the job: let each load into the GPU of its own "
                "(torch.cuda.set_device(LOCAL_RANK), device_map={'': LOCAL_RANK}). What is left of runs before, or "
                "somebody else's: end it, or take another GPU (CUDA_VISIBLE_DEVICES).",
            )
        if _gib(self.wanted) > _gib(self.total):
            return (
                "one single request (a tensor, or an operator's workspace) is larger than the whole GPU",
                "No setting of memory helps: see in the traceback which operator asks for it, and look at the shapes "
                "that it is given: the resolution, the length of a sequence (attention over all of it at once), a "
                "number of points or Gaussians, a wrong index or shape. Lower that, or compute it in pieces.",
            )
        return None

    def _is_others(self) -> bool:
        return (
            self.others is not None and self.own is not None and self.others > _MOST * _gib(self.total) > _gib(self.own)
        )


def _idle(text: str) -> float | None:
    found = _PIECES.search(text)
    if found is None:
        return None
    return _gib(found["free"]) if found["free"] else max(0.0, _gib(found["held"]) - _gib(found["used"]))


def _gib(size: str) -> float:
    number, _, unit = size.partition(" ")
    return float(number.rstrip(".")) * _UNITS[unit.lower()]
