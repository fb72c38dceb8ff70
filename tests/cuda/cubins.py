"""Cubins of the kernels that Inductor wrote, by Triton and the ptxas that it brings: in every shape that Inductor would
try on the chip, with what each takes of a multiprocessor. Nothing is loaded, so no driver is asked.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.cuda.chips import Chip

# Of a multiprocessor, 32 bits each, on every capability from 7.5 to 12.0 (CUDA C++ Programming Guide).
REGISTERS = 65536


class Made(NamedTuple):
    """One kernel in one shape. size: bytes of the cubin, which is for `architecture` (75, 80, ...); shared: bytes that
    a block takes; registers, spilled: of a thread, and bytes of its stack, for what found no register; threads: of a
    block.
    """

    size: int
    architecture: int
    shared: int
    registers: int
    spilled: int
    threads: int

    def why_not(self, chip: Chip) -> str | None:
        """Why that chip could not launch it; None where it can."""
        reasons = {
            f"made for sm_{self.architecture}": self.architecture != 10 * chip.capability[0] + chip.capability[1],
            f"{self.shared} bytes of shared memory": self.shared > chip.shared,
            f"{self.registers} registers of {self.threads} threads": self.registers * self.threads > REGISTERS,
        }
        return next((reason for reason, is_so in reasons.items() if is_so), None)


def cubins(text: str, folder: Path, most: int = 99) -> list[Made]:
    """Of the kernel in one of `inductor.compiling`'s texts, at most so many shapes. The chip is the one that the text
    names, and Triton's driver must answer for it (`inductor.prepared`).
    """
    from torch._inductor import config as options
    from torch._inductor.runtime import triton_helpers

    options.use_static_triton_launcher = False  # which drops what was compiled for what was loaded
    triton_helpers.set_driver_to_gpu = lambda: None
    tuner = _loaded(text, folder)
    found = []
    for shape in tuner.configs[:most]:
        kernel = tuner._precompile_config(shape).kernel
        found.append(_measured(kernel, folder / "kernel.cubin"))
    return found


def _loaded(text: str, folder: Path) -> Any:
    """Inductor's object of that kernel, which knows what it would try."""
    name = re.findall(r"^def (triton_\w+)\(", text, re.MULTILINE)[0]
    path = folder / f"{name}.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def _measured(kernel: Any, path: Path) -> Made:
    import triton

    content = kernel.asm["cubin"]
    path.write_bytes(content)
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    done = subprocess.run([tool, "--dump-resource-usage", path], capture_output=True, text=True, check=True)
    used = {what: int(size) for what, size in re.findall(r"(REG|STACK|SHARED):(\d+)", done.stdout)}
    shared = max(used["SHARED"], kernel.metadata.shared)
    architecture = architecture_of(content)
    return Made(len(content), architecture, shared, used["REG"], used["STACK"], 32 * kernel.metadata.num_warps)


def architecture_of(content: bytes) -> int:
    """What the cubin says of itself: 75, 80, ... in the flags of its header (seen in the files of Triton 3.7.1 beside
    the names that cuobjdump gives them: bits 8 to 15 from abi 8 on, which is for Blackwell's, the lowest 8 before).
    """
    abi = content[8]
    flags = int.from_bytes(content[48:52], "little")
    return (flags >> 8 if abi >= 8 else flags) & 0xFF
