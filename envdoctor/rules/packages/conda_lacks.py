from envdoctor.knowledge.questions import conda_channels, messages, platform_of, versions
from envdoctor.rules.rule import ERROR, WARNING, Facts, Finding, Findings, Pattern, error_lines, finding, rule, shell

_LIST = Pattern(
    r"(?:ResolvePackageNotFound|PackagesNotFoundError): not in the channels: (?P<specs>.{1,1600}?)"
    r"(?: \(channels: (?P<channels>[^)]{1,300})\))?$"
)
_TREE = Pattern(r"the solver lacks(?P<beside> beside conflicts)?: (?P<specs>.{1,1600})")
_EXACT = Pattern(r"(?P<name>[A-Za-z_][\w.-]*) ?={1,2} ?(?P<version>\d{1,4}(?:\.\d{1,4}){0,3})(?:\.?\*)?")
_NAME = Pattern(r"(?P<name>[A-Za-z_][\w.-]*)")
_BUILD = Pattern(r"[\w.-]+ ?={1,2} ?[\w.!*]+ ?= ?(?=[\w.*]*[A-Za-z_])[\w.*]+")
_BUILD_IN_TREE = Pattern(r"[\w.-]+ ={1,2} ?[\w.!]+ (?=[\w.]*[A-Za-z_])[\w.]+(?: for \S+)?")
_LABEL = Pattern(r"(?P<name>[\w.-]+) ?== ?(?P<version>[\d.]+\+(?:cu\d{2,3}|cpu|rocm[\d.]+))")
_VIRTUAL = Pattern(
    r"(?<![\w-])(?P<name>__(?:cuda|glibc|osx|win|unix|linux|archspec))\b(?: \D{0,4}(?P<version>\d+\.\d+))?"
)
_SYSTEMS = frozenset({"__unix", "__linux", "__osx", "__win"})
"""What a list lacks together with builds was exported on a system of that kind."""
_EXPLAINED = ("packages/known-errors conda", "packages/known-errors requirements")


@rule(ERROR, kind="package-conflict", subject="conda", explains=_EXPLAINED)
def conda_lacks(facts: Facts) -> Findings:
    """conda, mamba or pixi found a package, or a build of it, in none of the channels that were asked.

    Why: which channel has a package, and for which systems, differs: the CUDA toolkit up to 11.8 is conda-forge's,
    pytorch-cuda PyTorch's, which ended with 2.5. An exported environment names builds, of the system and day on which
    it was written; PyPI's names and labels (torch==1.9.0+cu102) are unknown to conda; and names with two underscores
    stand for what the machine itself has.
    Fix: the channel that has it, or the file without builds, or pip.
    Source: https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
    https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-virtual.html https://pixi.sh/latest/
    """
    error_lines(facts)
    listed, tree = messages.in_report(facts, _LIST), messages.in_report(facts, _TREE)
    said = listed or tree
    if said is None:
        return
    specs = [spec.strip() for spec in said["specs"].split(", ")]
    exported = any(map(_BUILD_IN_TREE.fullmatch, specs)) or any(map(_BUILD.fullmatch, specs))
    if (virtual := _VIRTUAL.search(said["specs"])) and not (exported and virtual["name"] in _SYSTEMS):
        yield _of_machine(virtual["name"], virtual["version"] or "12.8", said.string)
        return
    if listed is None and not said["beside"] and sum(map(bool, map(_BUILD_IN_TREE.fullmatch, specs))) > 1:
        yield _of_builds(facts, said.string)
        return
    if listed is None:
        yield _of_channels(facts, specs, (), said.string, proven=not said["beside"])
        return
    asked = tuple((listed["channels"] or "").split(", ")) if listed["channels"] else ()
    if any(_LABEL.fullmatch(spec) for spec in specs):
        yield _of_pip(specs, said.string)
    elif any(_BUILD.fullmatch(spec) for spec in specs):
        yield _of_builds(facts, said.string)
    else:
        yield _of_channels(facts, specs, asked, said.string, proven=True)


def _finding(
    subject: str,
    text: str,
    said: str,
    fix: str,
    run: str | tuple[str, ...] = (),
    why: str = "",
    proven: bool = True,
) -> Finding:
    severity = None if proven else WARNING
    message = f"{text}: {said[:400]}"
    return finding(
        subject=subject,
        actual="not found",
        severity=severity,
        certain=proven,
        message=message,
        usually=why,
        fix=fix,
        run=run,
    )


def _of_machine(name: str, version: str, said: str) -> Finding:
    if name != "__cuda":
        text = (
            f"What is asked for wants another system than the solver sees here ({name} stands for what the machine "
            "itself has)"
        )
        return _finding(name, text, said, "Take a release or a build for this system, or a newer system.")
    text = (
        "What is asked for wants a machine with NVIDIA's driver (the virtual package __cuda stands for it), and the "
        "solver sees none of that version here"
    )
    usually = (
        "there is no driver, it is older, this is a machine or container without a GPU, or a pixi project does not say "
        "that its machines have one (system-requirements)"
    )
    help_ = (
        "On a machine with a GPU see first why nvidia-smi does not answer there. To make the environment on another "
        "one, tell the solver which CUDA to assume; for a CPU take an environment without the demand "
        "(system-requirements of pixi, builds with cuda in their name)."
    )
    return _finding(name, text, said, help_, f"export CONDA_OVERRIDE_CUDA={version}", usually)


def _of_pip(specs: list[str], said: str) -> Finding:
    wanted = [found for spec in specs if (found := _LABEL.fullmatch(spec))]
    label = wanted[0]["version"].partition("+")[2]
    text = (
        f"conda is asked for releases by the labels that PyTorch's own wheels carry (+{label}), which it does not know"
    )
    pins = [f"{one['name']}=={one['version']}" for one in wanted]
    command = shell.with_requirements("python -m pip install", *pins)
    tail = f" --extra-index-url https://download.pytorch.org/whl/{label}"
    help_ = "Install what was written for pip (a requirements.txt) with pip, within the activated environment."
    return _finding(wanted[0]["name"], text, said, help_, (command and command + tail,))


def _of_builds(facts: Facts, said: str) -> Finding:
    text = "Builds are asked for by name (what stands after the second =), which the channels do not have"
    usually = (
        "the list was exported on another system, for which they are made (all but those of noarch), or they were "
        "withdrawn since"
    )
    posix = not platform_of(facts).startswith("win")
    remove = r"sed -i.bak -E 's/^( *- [^=]+=+[^=]+)=.*$/\1/' environment.yml"
    help_ = (
        "Remove the builds, keep the versions of what the code itself uses, and drop what is for another system (of "
        "Linux alone: libgcc-ng, ld_impl_linux-64, ncurses, readline); or make the environment on the system of the "
        "list (on Windows in WSL). Who writes the file exports it without: conda env export --no-builds, or "
        "--from-history."
    )
    return _finding("builds", text, said, help_, (remove,) if posix else (), usually)


_OTHER_MACHINE = Pattern(r"\b(?:linux[-_])?(?P<name>aarch64|arm64|ppc64le)\b|\b(?P<board>Raspberry ?Pi|Jetson)\b")


def _other_machine(facts: Facts) -> str:
    """The architecture of a machine with Linux that is none of x86-64, where the text tells of one."""
    platform = platform_of(facts)
    if not platform.startswith("linux"):
        return ""
    if not platform.endswith("x86_64"):
        return platform.removeprefix("linux-")
    told = (found for text in (*facts.messages, *facts.remarks.values()) if (found := _OTHER_MACHINE.search(text)))
    found = next(told, None)
    return "" if found is None else "ppc64le" if found["name"] == "ppc64le" else "aarch64"


def _for_another_machine(machine: str, names: list[str], said: str, proven: bool) -> Finding:
    text = (
        f"This is Linux on {machine}, not x86-64, and the channels that were asked have none of these releases for it"
    )
    usually = (
        "the list was written for x86-64: exact old pins of Python, torch and the CUDA toolkit have no builds for "
        f"{machine}, and a further channel adds none"
    )
    drop = any(conda_channels.NO_CUDA_ON_MAC.fullmatch(name) for name in names)
    help_ = (
        f"Loosen the exact versions and take what conda-forge has for {machine}, or torch with pip (PyPI has wheels "
        "for aarch64; on a Jetson take NVIDIA's)"
        + ("; leave the CUDA toolkit out where there is no NVIDIA GPU, and compute on the CPU" if drop else "")
        + ". The list as it stands is one for a machine with x86-64."
    )
    wanted = next(
        (name for name in names if name not in ("python", "pip") and not conda_channels.NO_CUDA_ON_MAC.fullmatch(name)),
        "",
    )
    search = f"conda search -c conda-forge --subdir linux-{machine}"
    found = shell.with_names(search, wanted) if wanted else ""
    name = names[0] if names else "conda"
    return _finding(name, text, said, help_, (found,) if found else (), usually, proven)


def _of_another_line(name: str, version: str) -> str:
    if name == "pytorch-cuda" and versions.below(version, "11.6"):
        return (
            f"Write cudatoolkit={version} in its place, with a pytorch of that time (1.12 or earlier) from the channel "
            "pytorch; or take a line that exists (pytorch-cuda=11.8, with the channels pytorch and nvidia) for a later "
            "one, or pip's wheels."
        )
    return "Take a line that exists, or install torch with pip, whose wheels bring their own CUDA."


_TOOLKIT_ON_WINDOWS = (
    "Take it out of the list. Where something is compiled, install NVIDIA's own CUDA toolkit of that release for "
    "Windows (with Visual Studio's C++ tools, and CUDA_HOME set to it), or, where the channel nvidia has that line, "
    "its cuda-nvcc and cuda-libraries-dev (label cuda-11.8.0, say); what only runs torch needs none. Or make the "
    "environment in WSL 2."
)
_LACKING = (
    "a channel that has it was not named, the list was written on another system (one of Linux with CUDA, on a Mac or "
    "Windows), or the release is too old or too new for the Python that is asked for"
)


_OF_LINUX = frozenset(
    "ld_impl_linux-64 libgcc-ng libstdcxx-ng libuuid patchelf secretstorage gcc_linux-64 gxx_linux-64 "
    "gcc_impl_linux-64 gxx_impl_linux-64 kernel-headers_linux-64 sysroot_linux-64".split(),
)
"""What an environment that was exported on Linux names, and neither Windows nor macOS has."""
_NONE_ON_WINDOWS = _OF_LINUX | {"libedit", "ncurses", "readline", "unixodbc", "wurlitzer"}
_FOR_LINUX = "The list was written on another system: the channels have no {} for this one"
_WITHOUT_LINUX = (
    "Make the environment on Linux (on Windows in WSL 2), or keep of the list what the code itself imports (python, "
    "torch, numpy and their versions) and drop the rest: the solver brings what they need on this system. Who writes "
    "the file exports it by conda env export --from-history."
)


def _of_channels(facts: Facts, specs: list[str], asked: tuple[str, ...], said: str, proven: bool) -> Finding:
    names = [found["name"].lower() for spec in specs if (found := _NAME.match(spec))]
    other = next(((name, known) for name in names if (known := conda_channels.name_in_conda(name))), None)
    if any(conda_channels.NO_CUDA_ON_MAC.fullmatch(name) for name in names) and platform_of(facts).startswith("macos"):
        name = next(name for name in names if conda_channels.NO_CUDA_ON_MAC.fullmatch(name))
        text = f"{name} is asked for on macOS, for which there is no CUDA"
        return _finding(name, text, said, "Drop the CUDA packages from the list: torch for macOS uses Metal.")
    if other is not None:
        text = f"{other[0]} is PyPI's name; conda calls it {other[1]}"
        help_ = f"Write {other[1]}, or move it below pip: in the file, which pip then installs."
        return _finding(other[0], text, said, help_)
    for one in specs:
        if (asked_for := _EXACT.fullmatch(one)) and (
            why := conda_channels.outside(asked_for["name"], asked_for["version"])
        ):
            return _finding(
                asked_for["name"], why[0].upper() + why[1:], said, _of_another_line(**asked_for.groupdict())
            )
    if machine := _other_machine(facts):
        return _for_another_machine(machine, names, said, proven)
    if "cudatoolkit-dev" in names and platform_of(facts).startswith("win"):
        text = "cudatoolkit-dev is a package of conda-forge for Linux alone, and this is Windows"
        return _finding("cudatoolkit-dev", text, said, _TOOLKIT_ON_WINDOWS, proven=proven)
    homes = {name: home for name in names if (home := conda_channels.home_of(name)) and home not in asked}
    if not homes:
        text = "None of the channels that were asked has this release for this system"
        windows = platform_of(facts).startswith("win")
        elsewhere = _NONE_ON_WINDOWS if windows else _OF_LINUX if platform_of(facts).startswith("macos") else ()
        if linux := [name for name in names if name in elsewhere]:
            text, help_ = _FOR_LINUX.format(" and no ".join(linux[:3])), _WITHOUT_LINUX
            return _finding(linux[0], text, said, help_, proven=proven)
        help_ = (
            "Loosen the version, take the channel that has it (conda-forge has most), or install it with pip in the "
            "activated environment (below pip: in an environment file)."
        )
        name = names[0] if names else "conda"
        search = shell.with_names("conda search -c conda-forge", name)
        return _finding(name, text, said, help_, (search,), _LACKING, proven)
    channels = list(dict.fromkeys(homes.values()))
    where = ", ".join(f"{name}: {home}" for name, home in list(homes.items())[:6])
    text = (
        f"The channels that were asked do not have this release for this system; where it is looked for first: {where}"
    )
    if "cudatoolkit-dev" in homes:
        text += " (for Linux alone)"
    if "cudatoolkit" in homes:
        text += (
            " (cudatoolkit up to 11.8, for Linux and Windows; later ones are called cuda-toolkit. Of the channel "
            "pytorch, torch 1.13 and later tell their CUDA line by pytorch-cuda=11.7 in its place, with -c nvidia)"
        )
    if "pytorch" in homes:
        text += " (PyTorch's channel ended with 2.5, and has the old releases for the Pythons of their time)"
    help_ = (
        f"Add the channel ({', '.join(channels)}) to channels: in the file, or with -c to the command; where that does "
        "not have the release either, loosen its version, or install it with pip."
    )
    run = tuple(f"conda config --append channels {channel}" for channel in channels)
    return _finding(names[0], text, said, help_, run, _LACKING, proven)
