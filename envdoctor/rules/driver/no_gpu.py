from envdoctor.knowledge.machine import in_wsl
from envdoctor.knowledge.questions import anywhere, circumstances, in_container, messages, nvidia_gpu, torch_cuda
from envdoctor.knowledge.topics import topics_of
from envdoctor.rules.causes import WITHOUT_CUDA
from envdoctor.rules.driver._kernel_says import REASONS, Reason
from envdoctor.rules.finding import Finding, Findings, Who, finding
from envdoctor.rules.rule import ERROR, Facts, Match, Pattern, Skip, Target, known, on_cpu, rule

_SMI = Pattern(r"(?i)NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver")
_MIGHT = Pattern(r"(?i)CUDA driver initialization failed, you might not have a CUDA gpu")
_REFUSED = Pattern(r"(?i)Key was rejected by service|Required key not available")
_SAYS = (
    Pattern(r"(?i)Found no NVIDIA driver on your system"),
    _SMI,
    Pattern(r"nvidia-container-cli: .*(?:driver not loaded|load library failed).*"),
    Pattern(r"(?i)no NVIDIA driver (?:was |is )?(?:found|installed|on|in)\b"),
    Pattern(r"(?i)NVIDIA driver (?:was |is )?not (?:found|installed|loaded)"),
)
_LIBRARY = (
    Pattern(r"^(?!.*libcudnn).*?(?P<name>libcuda\.so(?:\.1)?): cannot open shared object file"),
    Pattern(r"(?i)couldn't find (?P<name>libnvidia-ml)|NVML Shared Library Not Found"),
)
"""The driver's own libraries are not found: it is not there, or only they are not, as in a container."""

_PASSED_OVER = Pattern(r"caught exception .Found no NVIDIA driver")
_BOUND = Pattern(r"(?i)\.singularity\.d|\b(?:singularity|apptainer)\b")


@rule(ERROR, kind="gpu-not-visible", subject="driver", expected="loaded, and nvidia-smi lists the GPU")
def no_gpu(facts: Facts, target: Target) -> Findings:
    """There is an NVIDIA GPU, or one is wanted, and no driver for it.

    Why: the card is on the PCI bus, but its kernel module is not loaded: not installed, not built for this kernel
    (after a kernel update), refused by Secure Boot, or another driver (nouveau) holds the card. Where nothing is on
    the bus either, the machine or container was started without a GPU.
    Fix: install or rebuild the driver; start the container with access to the GPU.
    Source: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """
    if on_cpu(target):
        raise Skip("the target trains on the CPU")
    driver, host = known(facts.driver), known(facts.host)
    guess = () if nvidia_gpu(facts) else (_MIGHT,)  # torch's own guess, wrong where the driver shows the GPU
    reason = next((row for row in REASONS if anywhere(facts, row.pattern)), None)
    said = anywhere(facts, *_SAYS, *guess) or (_SMI.search(driver.smi) if driver and driver.smi else None)
    said = said or (anywhere(facts, reason.pattern) if reason and reason.alone else None)
    library = anywhere(facts, *_LIBRARY) if said is None else None
    if said is None and library is None and driver is None:
        raise Skip("the driver was not looked at")
    if messages.in_report(facts, _REFUSED):
        return  # packages/known-errors: to install or load it once more does not help
    on_bus = driver.pci if driver else ()
    unloaded = driver is not None and driver.kernel_module == "" and bool(on_bus)
    if unloaded and in_container(facts) and not torch_cuda(facts):
        unloaded = False  # a container for the CPU, on a host with a GPU
    wsl = in_wsl(facts)
    if library is not None and not unloaded:
        bound = anywhere(facts, _BOUND) is not None or (host is not None and host.container == "apptainer")
        yield _library_missing(facts, library, wsl=wsl, bound=bound)
        return
    if said is not None and wsl and not unloaded and "couldn't communicate" in said[0]:
        yield _silent_in_wsl(said)
        return
    toolkit = said is not None and said[0].startswith("nvidia-container-cli")
    if (wsl and not toolkit) or (not unloaded and said is None):
        return  # WSL has neither a kernel module nor a PCI device of its own: `driver/wsl`
    if said is not None and _PASSED_OVER.search(said.string):
        return  # the program said it in passing, as it does wherever it runs on the CPU
    container = in_container(facts)
    if unloaded or reason is not None:
        yield _not_loaded(said, reason, on_bus, unloaded=unloaded, container=container)
    elif said is not None:
        yield _silent(facts, said, container=container)


def _not_loaded(
    said: Match[str] | None, reason: Reason | None, on_bus: tuple[str, ...], *, unloaded: bool, container: bool
) -> Finding:
    """The card is on the bus without its module, or the kernel says why the driver does not serve it."""
    message = "A GPU of this machine cannot be used"
    if unloaded:
        message = f"NVIDIA GPU {on_bus[0]} is on the PCI bus, and its kernel module is not loaded."
    elif reason is not None and said is not None:
        message += f': {reason.meaning} ("{said[0]}").'
    fix = _FIX
    run: tuple[str, ...] = ("sudo modprobe nvidia", "nvidia-smi")
    if container:
        fix = "Start the container with access to the GPU (--gpus all), on a host whose driver is loaded."
        run = ("docker run --gpus all ...",)
    elif reason is not None:
        fix, run = reason.remedy, reason.commands
    return finding(
        title="" if unloaded else "The NVIDIA driver does not serve a GPU of this machine",
        actual="not loaded" if unloaded else "does not serve it",
        who="host" if container else "you",
        message=message,
        usually=reason.usually if reason is not None and not unloaded else "",
        fix=fix,
        run=run,
        explains=_EXPLAINED,
    )


_EXPLAINED = ("torch/cuda-unavailable", "torch/cuda-error", "driver/", "gpu/", *WITHOUT_CUDA)
_TOOLKIT = (
    "nvidia-smi",
    "sudo nvidia-ctk runtime configure --runtime=docker",
    "sudo systemctl restart docker",
    "docker run --rm --gpus all ubuntu nvidia-smi",
)


_NO_NVIDIA = ("An NVIDIA GPU is asked for where none answers", "code, or a torch, for what is here")
_NOT_REACHED = "No NVIDIA driver is reached from where the program runs"
_IN_WSL = (
    "Windows is older than 21H2, whose WSL has no GPU, its NVIDIA driver is missing or from before WSL, WSL's own "
    "kernel is old, or Docker does not run on WSL 2 (but on Hyper-V, or in a distribution of WSL 1)"
)


def _silent(facts: Facts, said: Match[str], *, container: bool) -> Finding:
    """A program found no driver where it ran: why, nobody says, and what the text rules out is left out."""
    who: Who = "host" if container else "you"
    message = f'No NVIDIA driver answers here ("{said[0]}").'
    inside = container or "a container" in topics_of(facts)
    answers = circumstances.ANSWERS.stands(facts)
    if answers:
        message = f'torch finds no NVIDIA driver, while nvidia-smi answers by the text ("{said[0]}").'
    title, expected = _NOT_REACHED, ""
    hosted = circumstances.NOTEBOOK.stands(facts)
    without = circumstances.WITHOUT_GPU.stands(facts) or circumstances.INTEGRATED.stands(facts)
    builds = "no nvidia driver" in said[0].lower() and any(
        each.stands(facts) for each in (circumstances.BUILDS, circumstances.BUILDS_AN_IMAGE)
    )
    run: tuple[str, ...] = ("nvidia-smi",)
    if said[0].startswith("nvidia-container-cli"):
        title = "The container toolkit found no NVIDIA driver where it looked"
        message = f'{title} ("{said[0]}").'
        usually = (
            "the driver is not installed or not loaded on the host, or Docker does not run on that host itself (Docker "
            "Desktop on Linux has a virtual machine of its own, snap's Docker another view of the libraries, WSL no "
            "driver of Windows in it)"
        )
        fix = (
            "See nvidia-smi on the host, without a container. Where it works: take Docker's own engine in place of "
            "Docker Desktop or snap's (docker context use default), and install the toolkit beside it; where it "
            "does not: install or load the driver."
        )
        run = ("nvidia-smi", "docker context ls", "snap list docker")
        if in_wsl(facts) or "WSL" in topics_of(facts):
            usually = _IN_WSL
            fix = (
                "See nvidia-smi in the WSL distribution, without a container. Where it fails: bring Windows to 21H2 or "
                "later (winver tells), install NVIDIA's driver for Windows, and none in WSL, then wsl --update and wsl "
                "--shutdown. Where it works: take Docker Desktop with its WSL 2 backend, or the toolkit beside the "
                "engine in WSL."
            )
            run = ("nvidia-smi", "wsl --version", "wsl --update")
    elif "card" in facts.remarks and not hosted:
        title, expected = _NO_NVIDIA
        usually = "the only card is the AMD one that is told of, which a torch for CUDA cannot use"
        fix = (
            "Take torch for ROCm (Linux, and AMD's own wheels on Windows for the cards that they name) or the "
            "program's variant for AMD; else the CPU (--device cpu)."
        )
        run = ()
    elif circumstances.APPLE.stands(facts) and not hosted:
        title, expected = _NO_NVIDIA
        usually = "there is no NVIDIA GPU in a Mac, and the code asks for one"
        fix = "Choose mps or cpu as the device (map_location='cpu' for torch.load), or the program's option for it."
        run = ()
    elif without:
        title, expected = _NO_NVIDIA
        message = f'The code asks for an NVIDIA GPU, and no driver of one answers here ("{said[0]}").'
        usually = "there is no such GPU in this machine, or none is meant to be used, and the code asks for one"
        fix = (
            "Have it compute on the CPU: the program's option for it (--device cpu, --cpu, no_cuda), else device='cpu' "
            "in place of cuda, no .cuda(), and torch.load(..., map_location='cpu')."
        )
        run = ()
    elif builds:
        title, expected, who = _NO_NVIDIA[0], "the architectures by name", "image"
        message = f'What is compiled asks for a GPU, and where it is built none answers ("{said[0]}").'
        usually = (
            "the build of an extension asks torch which GPU there is, to compile for it, as nothing names the "
            "architectures (TORCH_CUDA_ARCH_LIST), and while an image is built no GPU is there"
        )
        fix = (
            "Name the architectures that the image is for before the build (ENV in a Dockerfile), and FORCE_CUDA=1 for "
            'packages that else build for the CPU; the toolkit (an image "devel") is enough, a driver is not needed. '
            "Where a GPU is there while it is built: Docker's default runtime must be nvidia."
        )
        run = ("export TORCH_CUDA_ARCH_LIST='7.5;8.0;8.6;8.9;9.0+PTX' FORCE_CUDA=1",)
    elif inside and (circumstances.HANDED_OVER.stands(facts) or answers):
        usually = (
            "the container was given the driver's capability utility alone, with which nvidia-smi works and no program "
            "computes (NVIDIA_DRIVER_CAPABILITIES, which an image that is not NVIDIA's leaves unset), or the NVIDIA "
            "Container Toolkit is not set up for this Docker"
            if answers
            else "the host's driver is not loaded, the NVIDIA Container Toolkit is not set up for this Docker, or the "
            "container was not given the capability compute"
        )
        fix = (
            "See nvidia-smi on the host and then in the container; start it with -e "
            "NVIDIA_DRIVER_CAPABILITIES=compute,utility (or ENV in its Dockerfile), set the toolkit up anew, and start "
            "Docker again."
        )
        run = _TOOLKIT
    elif hosted:
        usually = "this session or machine was rented or started without a GPU, or its host's driver has failed"
        fix = (
            "Choose a machine with a GPU in the service's settings (Colab: Runtime, Change runtime type; Kaggle: "
            "Accelerator). Where it should have one, start it anew or take another: its driver is not yours to mend."
        )
    elif container:
        usually = (
            "the container was started without its GPU, the NVIDIA Container Toolkit is not set up for this Docker, or "
            "the host's driver is not loaded"
        )
        fix = (
            "Start the container with access to the GPU (--gpus all, or in compose a reservation of the device), on a "
            "host whose driver is loaded and that has the NVIDIA Container Toolkit."
        )
        run = ("docker run --gpus all ...",)
    else:
        usually = (
            "there is no NVIDIA GPU in this machine or session, its driver is not installed or not loaded (after an "
            "update of the kernel, or refused by Secure Boot), or a container was started without it"
        )
        fix, run = _FIX + _ELSE, ("lspci -d 10de:", "sudo modprobe nvidia", "nvidia-smi")
    return finding(
        title=title,
        actual="not found",
        expected=expected,
        who=who,
        message=message,
        usually=usually,
        fix=fix,
        run=run,
        explains=_EXPLAINED,
    )


def _silent_in_wsl(said: Match[str]) -> Finding:
    return finding(
        title="nvidia-smi reaches no driver in this WSL",
        actual="not found",
        message=f'nvidia-smi reaches no driver in this WSL ("{said[0]}").',
        usually="a Linux driver was installed in the distribution and its nvidia-smi is found first, the driver of "
        "Windows is missing or old, or WSL runs a kernel of one's own without dxgkrnl",
        fix="Try /usr/lib/wsl/lib/nvidia-smi. Remove Linux driver packages from the distribution, update the driver in "
        "Windows and WSL itself (wsl --update), and take WSL's own kernel (no kernel= in .wslconfig, or "
        "CONFIG_DXGKRNL in yours).",
        run=("/usr/lib/wsl/lib/nvidia-smi", "ls -l /dev/dxg", "dpkg -l | grep -i nvidia-driver"),
        explains=_EXPLAINED,
    )


_FIX = (
    "Install the NVIDIA driver, or load it: modprobe says why it does not load (no module for this kernel, Secure "
    "Boot, nouveau); in a container, start that with --gpus all (on a host with the NVIDIA Container Toolkit)."
)
_ELSE = " Without an NVIDIA GPU take the CPU (device='cpu', map_location='cpu') or the build for your card."


def _library_missing(facts: Facts, said: Match[str], *, wsl: bool, bound: bool) -> Finding:
    """The driver may well run, and only its library is not in view."""
    container = in_container(facts)
    name = said.groupdict().get("name") or "libnvidia-ml"
    run: tuple[str, ...] = ("ldconfig -p | grep -e libcuda.so -e libnvidia-ml.so", "nvidia-smi")
    why = usually = ""
    if circumstances.AT_BUILD.stands(facts):
        usually = "an image is being built, in which there is neither a GPU nor the driver's library"
        fix = (
            "Do what imports it when the container runs, and not while the image is built; for linking alone take the "
            "toolkit's lib64/stubs; or let the build see the GPU (nvidia as Docker's default-runtime)."
        )
        run = ()
    elif bound:
        why = "Singularity binds the host's with --nv, into /.singularity.d/libs"
        usually = "it was started without --nv, something in it changed LD_LIBRARY_PATH, or the host has no driver"
        fix = (
            "Start with --nv on a machine with a GPU, and keep /.singularity.d/libs in LD_LIBRARY_PATH: what clears "
            "the environment loses it. Where the host's ldconfig does not know the library, bind its folder by hand "
            "(-B)."
        )
        run = ("ldconfig -p | grep libcuda.so", "export LD_LIBRARY_PATH=/.singularity.d/libs:$LD_LIBRARY_PATH")
    elif wsl:
        why = "in WSL it is the one of Windows' driver, in /usr/lib/wsl/lib"
        usually = "Windows' driver is missing or too old for WSL, or the program does not search that folder"
        fix = "Install the NVIDIA driver of Windows and update WSL; then let programs find that folder."
        run = ("ls /usr/lib/wsl/lib", "export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH")
    elif container and circumstances.HANDED_OVER.stands(facts):
        why = "a container gets the host's from the toolkit, when it starts"
        usually = (
            "the toolkit is not set up for this Docker, NVIDIA_DRIVER_CAPABILITIES leaves compute out, or the image's "
            "loader does not look where the toolkit puts it (Alpine, an ld.so.cache that was not made anew)"
        )
        fix = (
            "See nvidia-smi in the container and which libraries came in; set the toolkit up anew, and start with "
            "NVIDIA_DRIVER_CAPABILITIES=compute,utility."
        )
        run = ("ldconfig -p | grep -e libcuda.so -e libnvidia-ml.so", *_TOOLKIT)
    elif container:
        why = "a container gets the host's when it is started with the GPU"
        usually = (
            "it was started without the GPU, the NVIDIA Container Toolkit is not set up for this Docker, or the host's "
            "driver is not loaded"
        )
        fix = "Start the container with access to the GPU (--gpus all), on a host whose driver is loaded."
        run = ("docker run --gpus all ...",)
    else:
        usually = "no driver is installed here, a container was started without the GPU, or the linker does not know it"
        fix = (
            "See nvidia-smi. " + _FIX + " Where nvidia-smi works, give the linker the folder of the library (ldconfig)."
        )
    return finding(
        title="The driver's own library is not found",
        actual=f"{name} not found",
        who="host" if container else "you",
        message=f'{name}, the driver\'s own library, is not found{f": {why}" if why else ""} ("{said[0]}").',
        usually=usually,
        fix=fix,
        run=run,
        explains=_EXPLAINED,
    )
