from envdoctor.knowledge.questions import anywhere
from envdoctor.rules.gpu._cards import RELIABLE, full, subject
from envdoctor.rules.rule import ERROR, NOTE, WARNING, Facts, Findings, Pattern, Remedy, Skip, finding, known, rule

# Xid numbers that condemn the hardware: azure_gpu_xid.nhc of azurehpc-health-checks; meanings:
# https://docs.nvidia.com/deploy/xid-errors/
_HARDWARE = {
    48: "double-bit memory error",
    56: "display engine error",
    57: "error programming video memory",
    58: "unstable video memory interface",
    62: "internal micro-controller halt",
    63: "row remapping recorded",
    64: "row remapping failed to be recorded",
    65: "video processor exception",
    68: "video processor exception",
    69: "graphics engine class error",
    73: "video encoder error",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    80: "corrupted data sent to the GPU",
    81: "VGA subsystem error",
    92: "high rate of single-bit memory errors",
    94: "a memory error that was contained: the programs on it end",
    95: "a memory error that was not contained",
    119: "GPU system processor does not answer",
    120: "GPU system processor error",
    140: "memory error that could not be corrected",
    149: "NVLink error",
    155: "NVLink went down",
}
_SOFTWARE = {
    8: "a kernel did not end in its time",
    13: "graphics engine exception",
    31: "memory page fault",
    32: "a damaged stream of commands: a program, the bus or the driver",
    43: "a process was stopped",
    45: "a process ended",
    109: "a switch between programs did not end in its time",
}
_OUT_OF_BOUNDS = (
    "a kernel of the program (or of a library that it uses) read or wrote outside of its memory; else memory or clocks "
    "of the card are unstable"
)
_USUALLY = {
    13: _OUT_OF_BOUNDS,
    31: _OUT_OF_BOUNDS,
    43: "it follows a fault of the program that ran then",
    45: "it follows another Xid, which stands before it, or somebody ended the program",
    74: "a bridge, cable or socket of NVLink is at fault",
    79: "it is power, heat, the slot or a riser; else the card itself",
    119: "it is a fault of the driver or its firmware (another release, or GSP switched off, helps then); else the "
    "card",
    120: "it is a fault of the driver or its firmware (another release, or GSP switched off, helps then); else the "
    "card",
}
_SAYS = Pattern(r"Xid \(PCI:[0-9a-fA-F:.]+\): (\d+)")


@rule(ERROR, expected="none")
def kernel_log(facts: Facts) -> Findings:
    """The kernel log holds an Xid, an error that the driver reported of a GPU.

    Why: some numbers condemn the hardware (79: fell off the bus, 48: double-bit memory error, 74: NVLink, 119: the
    system processor). Others (13, 31, 43, 45) come from programs and are only noted.
    Fix: reset or exchange the GPU.
    Source: https://docs.nvidia.com/deploy/xid-errors/ and azure_gpu_xid.nhc of azurehpc-health-checks
    """
    gpus = known(facts.gpus)
    said = anywhere(facts, _SAYS)
    if gpus is None and said is None:
        raise Skip("the kernel log was not read")
    found = [(subject(gpu), full(gpu), number) for gpu in (gpus.devices if gpus else ()) for number in gpu.xid]
    if not found and said is not None:
        found = [("GPU", "A GPU", int(said[1]))]
    for name, long, number in found:
        meaning = _HARDWARE.get(number) or _SOFTWARE.get(number)
        hard, soft = number in _HARDWARE, number in _SOFTWARE
        # 63 records a successful replacement: the card goes on, and wants a reset.
        pasted = gpus is None and soft  # somebody shows it as what went wrong
        severity = WARNING if number in (63, 94) or pasted else ERROR if hard else NOTE
        yield finding(
            subject=f"{name}, Xid {number}",
            actual=f"Xid {number}",
            kind="gpu-unhealthy" if hard else "script-wrong" if soft else "not-judged",
            severity=severity,
            who="host" if hard else "you",
            message=f"{long} reported Xid {number} ({meaning or 'meaning unknown here'}).",
            usually=_USUALLY.get(number, "") if facts.origin.kind == "pasted" else "",
            fix=_RESET if hard else _WHICH_PROGRAM,
        )


_LOG = ("dmesg | grep -i xid",)
_RESET = Remedy(
    text="Reset the GPU (nvidia-smi -r, or a restart); where it comes again with another release of the driver too, "
    f"the card or what it is connected by is most likely broken. {RELIABLE}",
    commands=_LOG,
)
_WHICH_PROGRAM = Remedy(
    text="Look at the program that ran then: CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer names its kernel.",
    commands=_LOG,
)
