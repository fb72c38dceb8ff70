"""The interpreters that a stack may serve: CPython 3.10 to 3.14 on Linux with glibc, macOS (arm64) and Windows.

Where nothing says otherwise it is Linux on x86-64 and aarch64. A machine's name, as ``platform_machine`` has it, tells
the systems apart as well: ``arm64`` is a Mac and ``AMD64`` a Windows, which Linux calls ``aarch64`` and ``x86_64``.

A lock is trimmed to them when it is written and judged against each of them when it is linted, on whatever machine
that happens; so they are made from plain data, not asked from the running Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from envdoctor.facts.model import Interpreter

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
DESKTOPS = {
    "arm64": ("posix", "darwin", "Darwin", "macosx-14.0-arm64"),  # torch's wheels ask for macOS 14
    "AMD64": ("nt", "win32", "Windows", "win-amd64"),
}
"""Machine -> os.name, sys.platform, platform.system() and sysconfig.get_platform() of what is not Linux."""
GLIBC_NEWEST = "glibc 2.50"  # for trimming: no wheel is thrown away because its glibc is too new for some machine
GLIBC_OLDEST = "glibc 2.28"  # for linting: what torch's own wheels ask for (manylinux_2_28)


def interpreter(python: str, machine: str, *, libc: str = GLIBC_NEWEST, patch: int = 0) -> Interpreter:
    """A CPython of that version ("3.12") on that machine, as a probe would describe it."""
    version = f"{python}.{patch}"
    os_name, sys_platform, system, platform = DESKTOPS.get(machine, ("posix", "linux", "Linux", f"linux-{machine}"))
    return Interpreter(
        version=version,
        platform=platform,
        libc=None if machine in DESKTOPS else libc,
        free_threaded=False,
        markers={
            "implementation_name": "cpython",
            "implementation_version": version,
            "os_name": os_name,
            "platform_machine": machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": system,
            "platform_version": "",
            "python_full_version": version,
            "python_version": python,
            "sys_platform": sys_platform,
        },
    )


def interpreters(pythons: Iterable[str] = PYTHONS, machines: Iterable[str] = MACHINES) -> tuple[Interpreter, ...]:
    """One interpreter for each Python and machine, machines outermost."""
    pythons = tuple(pythons)
    return tuple(interpreter(python, machine) for machine in machines for python in pythons)


def place(interpreter: Interpreter) -> tuple[str, str]:
    """``("3.12", "x86_64")``: what tells the interpreters of a stack apart."""
    return interpreter.markers["python_version"], interpreter.markers["platform_machine"]


def holds(marker: Marker, interpreter: Interpreter, extras: Iterable[str] = ("",), groups: Iterable[str] = ()) -> bool:
    """Whether a marker is true for the interpreter with any of the extras, in any of its patch releases.

    ``groups`` are the dependency groups that are installed, for the markers of locks (PEP 751).

    Some markers name a patch release (``python_full_version < '3.12.4'``): true for one of the first and the last
    conceivable one is enough, because a lock may hold too much but never too little.
    """
    for patch in ("0", "99"):
        markers = dict(interpreter.markers)
        markers["python_full_version"] = f"{markers['python_version']}.{patch}"
        lists = {"extras": frozenset[str](), "dependency_groups": frozenset(groups)}
        if any(marker.evaluate({**markers, **lists, "extra": extra}, context="lock_file") for extra in extras):
            return True
    return False


def environments(served: Iterable[Interpreter]) -> list[str]:
    """The lock's own statement of whom it serves: a marker for each machine (and run of Pythons, if they differ)."""
    by_machine: dict[str, set[str]] = {}
    systems: dict[str, str] = {}
    for one in served:
        python, machine = place(one)
        by_machine.setdefault(machine, set()).add(python)
        systems[machine] = one.markers["sys_platform"]
    # requires-python says it alone where every machine has the same unbroken run of Pythons
    whole = (
        len(set(map(frozenset, by_machine.values()))) == 1
        and len(list(python_ranges(set().union(*by_machine.values())))) == 1
    )
    answer = []
    for machine, pythons in sorted(by_machine.items()):
        terms = [
            "implementation_name == 'cpython'",
            f"platform_machine == '{machine}'",
            f"sys_platform == '{systems[machine]}'",
        ]
        answer += [" and ".join(terms if whole else [*terms, term]) for term in python_ranges(pythons)]
    return answer


def requires_python(served: Iterable[Interpreter]) -> str:
    """``>=3.10,<3.15``: from the oldest Python served to before the one after the newest."""
    minors = sorted(int(place(one)[0].partition(".")[2]) for one in served)
    return f">=3.{minors[0]},<3.{minors[-1] + 1}"


def python_ranges(pythons: Iterable[str]) -> Iterator[str]:
    """A marker for each unbroken run among some Pythons: ``python_version >= '3.10' and python_version < '3.12'``."""
    minors = sorted(int(python.partition(".")[2]) for python in set(pythons))
    start = 0
    for end in range(1, len(minors) + 1):
        if end == len(minors) or minors[end] != minors[end - 1] + 1:
            yield f"python_version >= '3.{minors[start]}' and python_version < '3.{minors[end - 1] + 1}'"
            start = end


def served_by(
    requires: SpecifierSet | None, environments: Iterable[Marker] | None, machines: Iterable[str] = MACHINES
) -> tuple[Interpreter, ...]:
    """Which interpreters on these machines a lock says that it serves (all of them when it does not say)."""
    markers = list(environments or ())
    return tuple(
        one
        for one in interpreters(machines=machines)
        if (requires is None or requires.contains(one.version))
        and (not markers or any(holds(marker, one) for marker in markers))
    )
