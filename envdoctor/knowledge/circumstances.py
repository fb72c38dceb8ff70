"""What a text tells beside an error that rules out some of its causes: a GPU that was handed over, a driver that
answers, a person who wants no GPU at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.knowledge import full_disk, full_memory, installers
from envdoctor.knowledge.circumstance import Circumstance
from envdoctor.values.pattern import Pattern

_GPU = Pattern(
    r"CUDA|GPU|NVIDIA|NVML|libcuda|no kernel image|invalid device function|shared memory|Bus error", re.IGNORECASE
)


HANDED_OVER = Circumstance(
    of=_GPU,
    said=Pattern(
        r"(?<!without )(?<!forgot )--gpus[ =]['\"\\]{0,2}(?:all\b|device=)"
        r"|\b(?:docker|podman|nerdctl) (?:container )?run\b.{0,200} --gpus\b"
        r"|--runtime[ =]?nvidia|\b(?:singularity|apptainer)\b.{0,80}--nv\b"
        r"|nvidia\.com/gpu|capabilities: ?\[{1,2} ?['\"]?gpu|--device[ =]/dev/nvidia|runtime: ?nvidia",
        re.IGNORECASE,
    ),
)
"""The container was started with its GPU."""

ANSWERS = Circumstance(
    of=_GPU,
    said=Pattern(
        r"\bNVIDIA-SMI \d{3}\.\d|\bDriver Version: ?\d{3}\.\d"
        r"|nvidia-smi`?\b(?!.{0,40}(?:\bnot\b|n't|fail|no device|error|unknown)).{0,40}"
        r"\b(?:works?|working|fine|shows?|displays?|opens?|lists?|detects?|sees?|returns?|prints?|correctly|normal(?:ly)?|ok)\b"
        r"|see (?:the |my )?GPUs? .{0,10}\(?(?:using|with|in) `?nvidia-smi",
        re.IGNORECASE,
    ),
)
"""nvidia-smi lists the GPU, by its own table or by somebody's word."""

WITHOUT_GPU = Circumstance(
    of=_GPU,
    said=Pattern(
        r"\b(?:do|does|did)(?: not|n['’]?t|nt) (?:have|own|need|want|use)(?: an?| any"
        r"| the)? (?:\w{1,20} ){0,2}GPUs?\b"
        r"|\b(?:I|we|laptop|computer|machine|PC|server|desktop|notebook|VM|Mac|box|workstation)\b.{0,20}"
        r"\b(?:have|has|having|with|got) no (?:\w{1,20} ){0,2}GPUs?\b"
        r"|\b(?:laptop|computer|machine|PC|server|desktop|VM|box|host|instance|workstation)\b.{0,20}\bwithout (?:an? "
        r"|any )?(?:\w{1,20} ){0,2}GPUs?\b"
        r"|\bcpu[- ]only (?:machine|laptop|computer|server|system|pc|instance|environment|mode|inference|setup"
        r"|device)"
        r"|\b(?:want|try(?:ing)?|tried|like|need|how (?:to|can|do)|possible|can (?:I|we|it)|intend|plan)\b.{0,60}"
        r"\b(?:on|with|using|by|only) (?:the |my |an? |only )?CPU\b(?!.{0,20}\b(?:instead|rather|although|but"
        r"|even)\b)",
        re.IGNORECASE,
    ),
)
"""A person's word that no GPU is there, or that none is wanted."""

INTEGRATED = Circumstance(
    of=_GPU,
    said=Pattern(
        r"\b(?:integrated|onboard|built-in)\b.{0,24}\b(?:intel|iris|uhd|graphics|gpu)\b"
        r"|\b(?:gpu|graphics|graphics card)\b.{0,24}\b(?:integrated|intel)\b|\biris ?\(?r?\)? ?xe\b"
        r"|\bintel(?:\(r\))? (?:u?hd|iris)\b",
        re.IGNORECASE,
    ),
    unless=Pattern(
        r"\b(?:geforce|[rg]tx|quadro|tesla|dedicated|discrete|egpu|nvidia-smi)\b|\bnvidia (?:gpu|graphics|card|rtx)"
        r"|\b[avh]100\b|\bt4\b",
        re.IGNORECASE,
    ),
)
"""The only GPU that is told of is Intel's own, within the processor."""

BUILDS = Circumstance(
    of=_GPU,
    said=Pattern(
        r"\bdocker(?: buildx)? build\b|^RUN |\bsetup\.py\b|\bbuild_ext\b|TORCH_CUDA_ARCH_LIST|\bFORCE_CUDA\b"
        r"|cpp_extension|pip-req-build|\bpip3? wheel\b"
        r"|\b(?:if|when) I (?:do|run|try|use)\b.{0,12}\bpip3? install (?!-\S{1,20} torch|torch)",
        re.IGNORECASE,
    ),
)
"""Something is compiled."""

BUILDS_AN_IMAGE = Circumstance(
    of=_GPU,
    said=Pattern(
        r"\bDockerfile\b|\bbuild(?:s|ing)?\b.{0,60}\b(?:docker|container|image)\b"
        r"|\b(?:docker|container|image)\b.{0,40}\bbuild(?:s|ing)?\b",
        re.IGNORECASE,
    ),
    unless=Pattern(r"\b(?:docker|podman)(?: container)? run\b|nvidia-docker run", re.IGNORECASE),
)
"""An image is built, and nobody tells that it was started."""

APPLE = Circumstance(
    of=Pattern(rf"{_GPU.source}|triton", re.IGNORECASE),
    said=Pattern(
        r"\bMacBook\b|\bMac ?(?:Mini|Studio|Pro|OS)\b|\bmacOS\b|\bApple (?:Silicon|M[1-5])\b"
        r"|\bM[1-5] (?:Pro|Max|Ultra|chip|Mac)|\bon (?:a |my )?Mac\b|\bOS ?X\b|darwin",
        re.IGNORECASE,
    ),
    unless=Pattern(r"\b(?:ubuntu|debian|centos|linux|windows|WSL2?|ssh|docker)\b|\b[RG]TX ?\d", re.IGNORECASE),
)
"""A Mac, and no other machine beside it."""

NOTEBOOK = Circumstance(
    of=_GPU,
    said=Pattern(
        r"\bcolab\b|\bgoogle collab\b|\bcollab notebooks?\b|\bkaggle\b|Paperspace"
        r"|SageMaker|Studio Lab|\bRunPod\b|Vast\.ai|JupyterHub|AutoDL|\bLightning AI\b"
        r"|Hugging ?Face Spaces?\b|ZeroGPU|notebook (?:pod|server)|\bmodal\.com\b",
        re.IGNORECASE,
    ),
)
"""A machine of somebody else's, which one cannot reboot and whose driver is not one's own."""

RAY = Circumstance(of=_GPU, said=Pattern(r"\bray(?:\.remote|\.init|Worker|::| start\b)|RayTaskError|RayWorker"))

AT_BUILD = Circumstance(
    of=_GPU,
    said=Pattern(r"\bdocker (?:buildx )?build\b|^RUN |^#\d+ \[|Dockerfile:\d+|\bbuildkit\b|docker-compose build"),
)
"""While an image is built, which sees no GPU."""

NO_WORKERS = Circumstance(
    of=Pattern(r"DataLoader worker|shared memory|shm|bus error", re.IGNORECASE),
    said=Pattern(r"(?:num_?workers?|workers)\W{0,6}0\b", re.IGNORECASE),
)

WORKED = Circumstance(
    of=Pattern(r"Failed to initialize NVML", re.IGNORECASE),
    said=Pattern(
        r"\b(?:after|within) (?:an? |some|several|\d+|random|certain|few)[\w ]{0,30}"
        r"(?:hours?|days?|time|minutes?|weeks?)\b"
        r"|\bsuddenly\b|\brandom(?:ly)?\b|\bwhile (?:running|training)\b|daemon-reload|\bstops? working\b"
        r"|\blos(?:es?|t"
        r"|ing) access"
        r"|\bno longer\b|\blong[- ]running\b|过(?:一段|几)|一段时间",
        re.IGNORECASE,
    ),
)
"""A person's word that the GPU was there before."""

XFORMERS_PYTHON = Circumstance(
    of=Pattern(r"xFormers|with CUDA \w{1,12} \(you have", re.IGNORECASE),
    said=Pattern(r"\bPython\s{1,4}(?P<built>3\.\d{1,2}[\w.]{0,8}) \(you have (?P<have>3\.\d{1,2}[\w.]{0,8})\)"),
)
"""For which Python xformers was built, in a line of its own."""

IMAGE_WITHOUT_CUDNN = Circumstance(
    of=Pattern(r"cudnn", re.IGNORECASE),
    said=Pattern(
        r"\bnvidia/cuda:(?P<cuda>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)-"
        r"(?P<rest>(?!\S{0,40}cudnn)(?:base|runtime|devel)(?:-[a-z]{1,10}[\d.]{0,5}\d)?)",
        re.IGNORECASE,
    ),
    unless=Pattern(
        r"\bnvidia/cuda:\S{0,40}cudnn|(?:apt(?:-get)?|dnf|yum|conda|pip3?) install\b.{0,200}cudnn", re.IGNORECASE
    ),
)
"""Of NVIDIA's images of CUDA only those with cudnn in their tag hold it."""

ON_CUDA_11 = Circumstance(
    of=Pattern(r"cudnn", re.IGNORECASE),
    said=Pattern(
        r"\bCUDA(?:[ _-]?(?:version|toolkit))?[\s:=v/_-]{0,4}11(?:\.\d{1,2}|\.x)?\b(?!\.\d{3})|\bcu11\d?\b"
        r"|\bnvidia/cuda:11\b",
        re.IGNORECASE,
    ),
    unless=Pattern(
        r"\bCUDA(?:[ _-]?(?:version|toolkit))?[\s:=v/_-]{0,4}1[23]\b|\bcu1[23]\d?\b|\bnvidia/cuda:1[23]\b",
        re.IGNORECASE,
    ),
)
"""The CUDA that is there is 11, and no other is spoken of."""

OUTDATED = Circumstance(
    of=Pattern(r"Version JAX was built against"),
    said=Pattern(r"Outdated \w{3,20} installation|^Installed version: \d"),
)
"""JAX prints over several lines which library of CUDA is too old for it."""

_SHARED = Pattern(r"shared memory|/dev/shm|\bshm\b|bus error|</torch_", re.IGNORECASE)
KUBERNETES = Circumstance(
    of=_SHARED,
    said=Pattern(r"\bkubectl\b|\bhelm\b|\bkubernetes\b|\bk8s\b|\bpods?\b|\bemptyDir\b|\bkubeflow\b", re.IGNORECASE),
)
SHM_LISTED = Circumstance(of=_SHARED, said=Pattern(r"^(?:shm|tmpfs)\s{1,20}(?P<size>\d{1,4}(?:\.\d)?[KMGT])\b"))
"""A line of df; of tmpfs only those that end in /dev/shm count, which a cut line does not show."""

_BY_A_PERSON = r"\b(?:tried|already|I|we|I've|after|even|still|then|by)\b"
REBOOTED = Circumstance(
    of=Pattern(r"mismatch|NVML", re.IGNORECASE),
    said=Pattern(
        rf"{_BY_A_PERSON}(?: \w{{1,12}}){{0,4}} (?:re-?boot(?:ed|ing|s)?"
        r"|re-?start(?:ed|ing) (?:the |my |our )?(?:machine|computer|pc|system|server|host|node))\b"
        r"|\breboot(?:ed|ing|s)?\b.{0,60}\b(?:did|does|do|has|but|still|not|without)\b.{0,30}"
        r"(?:\bnot\b|n't|same|still|help|no )|重启(?:了|后|过).{0,20}(?:还是|仍|没|无)",
        re.IGNORECASE,
    ),
    unless=Pattern(
        r"\b(?:until|unless|before|without|cannot|can't|can not|avoid|don't want to)\b.{0,20} re-?boot"
        r"|reboot\w{0,3}\b.{0,30}\b(?:fixe[sd]|solve[sd]|resolve[sd]|works?|helps|helped)\b|(?:fixed|solved|resolved)"
        r" (?:it )?(?:by|after|with) (?:a )?reboot",
        re.IGNORECASE,
    ),
)
"""The machine was started anew, in vain."""

NEWER_TORCH = Circumstance(
    of=Pattern(r"no kernel image|is not compatible with the current", re.IGNORECASE),
    said=Pattern(
        rf"{_BY_A_PERSON}(?: \w{{1,12}}){{0,4}} (?:install|upgrad|updat|us|switch|mov|try)\w{{0,4}}\b.{{0,40}}"
        r"\b(?:nightly|cu12[89]|cu13\d|CUDA (?:12\.[89]|13\.\d)|(?:torch|pytorch)\W{0,3}(?:2\.(?:[7-9]|1\d)))\b"
        r"(?![^.\n]{0,60}\?)|get_arch_list.{0,60}(?:sm_?1[02]\d|支持|support|has|shows|lists)|最新nightly|nightly版",
        re.IGNORECASE,
    ),
)
"""A torch that knows the newest GPUs was installed already, by the text."""

FIXED_ARCHITECTURE = Circumstance(
    of=Pattern(r"no kernel image|invalid device function"),
    said=Pattern(
        r"-arch[= ]['\"]?(?:sm|compute)_\d\d|\bcode=\[?['\"]?(?:sm|compute)_\d\d"
        r"|\bCUDA_(?:MODELS|ARCH\w{0,20}|GENERATION)['\"]?\s?[=:]\s?[('\"]{0,3}(?:\d|-arch|-gencode|sm_)"
        r"|\b(?:set|setting|changed?|changing|edit(?:ed|ing)?|put)\b.{0,40}\bsm_\d\d",
    ),
)
"""A build script of the project's own names the GPUs that it compiles for."""

_NEW_BUILD = (
    r"\brebuil[dt]\b|\brecompil(?:e|ed|ing)\b|\b(?:build|built|compiled?) (?:it |them |everything |all "
    r"|the \w{1,20} )?"
    r"(?:again|anew|afresh|from scratch)\b|\b(?:fresh|clean)(?:ly)? (?:build|built|compiled|clone)\b"
    r"|\bpython3? (?:build|setup)\.py (?:build|install|develop)\b|\bpip3? install (?:-\S{1,30} )*(?:-e )?\.(?=\s|$)"
)
NVCC_SHOWN = Circumstance(
    of=Pattern(r"bin/nvcc"),
    said=Pattern(
        r"^(?:nvcc is |nvcc: )?(?P<home>/[\w./-]{1,80}?)/bin/nvcc$"
        r"|\bPATH=['\"]?(?P<path>/[\w./-]{0,60}cuda[\w./-]{0,20}?)/bin(?=[:'\"]|$)"
    ),
)
"""Where `which nvcc`, or PATH, has the toolkit's folder."""

OLD_WINDOWS = Circumstance(
    of=Pattern(
        r"libcuda|No CUDA GPUs|\bdriver|NVML|nvidia-smi|cuInit|is_available|no CUDA-capable|\bCUDA\b.{0,40}not"
        r"|error: 100\b|cudaErrorNoDevice|\bGPUs?\b.{0,30}\b(?:not|no)\b",
        re.IGNORECASE,
    ),
    said=Pattern(
        r"(?P<windows>\bWindows 10\b.{0,30}?\b(?:1[5-9]0[379]|2004|20H2|21H1)\b"
        r"|\b(?:OS )?build\b.{0,12}?\b(?:1[0-8]\d{3}|190[0-3]\d|1904[1-3])\b"
        r"|(?<![\w-])10\.0\.(?:1[0-8]\d{3}\b|190[0-3]\d\b|1904[1-3]\.\d{2,5}))"
        r"(?!.{0,20}\b(?:or|and) (?:higher|later|above|newer|up)\b)",
        re.IGNORECASE,
    ),
    unless=Pattern(r"\bWindows 11\b|\b2[0-9]H2\b(?<!20H2)|\b(?:19044|19045|20[1-9]\d\d|2[1-9]\d{3})(?:\.\d{1,5})?\b"),
)
"""A Windows before 21H2, the first release that hands a GPU to WSL 2. Python's "Windows-10-10.0.19041-SP0" is none: the
number is kernel32's, which stayed the same until 22H2."""

ENGINE_IMAGE = Circumstance(
    of=Pattern(r"no kernel image|is not compatible with the current|NoKernelImage|is not supported"),
    said=Pattern(
        r"(?<![\w/.-])(?P<image>(?:docker\.io/)?(?:vllm/vllm-openai|lmsysorg/sglang|nvcr\.io/nvidia/(?:vllm|sglang)))\b"
        r"(?::(?P<tag>[\w.-]{1,60}))?"
    ),
)
"""An image of an engine, which brings torch and its own kernels."""

BUILT_ANEW = Circumstance(
    of=Pattern(r"undefined symbol"),
    said=Pattern(_NEW_BUILD, re.IGNORECASE),
    unless=Pattern(
        r"\b(?:should|must|need to|have to|try to|how to|please|do I) (?:I )?(?:rebuild|recompile)\b", re.IGNORECASE
    ),
)
"""What does not load was compiled here, for what is here."""

RESTARTED = Circumstance(
    of=Pattern(r"\w"),
    said=Pattern(
        r"\bre-?start(?:ed|ing)?\b(?: \w{1,12}){0,4},? (?:(?:but|and) )?(?:(?:it|this|that|I) )?"
        r"(?:has|have|gives?|shows?|get|got|see|leads? to|is"
        r"|does ?n[o']t|did ?n[o']t|does not|did not|made no|makes no|still)"
        r"\b.{0,24}\b(?:same|help|work|change|fix|solve|difference|persist|error|issue|fail)"
        r"|\b(?:even )?after (?:\w{1,12} ){0,2}re-?start\w{0,3}\b.{0,30}\b(?:same|still|persist|remain)"
        r"|重启.{0,12}(?:还是|仍|没用|无效|一样)",
        re.IGNORECASE,
    ),
    unless=Pattern(r"re-?start\w{0,3}\b.{0,30}\b(?:fixe[sd]|solve[sd]|resolve[sd]|helped)\b", re.IGNORECASE),
)
"""Python, its notebook or the machine was started anew, in vain."""

IN_A_BUILD = Circumstance(
    of=Pattern(r"No module named"),
    said=Pattern(
        r"\[end of output\]|pyproject_hooks[/\\]_in_process|[Gg]etting requirements to build|Preparing metadata"
        r"|subprocess-exited-with-error|metadata-generation-failed|get_requires_for_build|build backend returned"
        r"|egg_info did not run"
    ),
)
"""An installer builds a package from source."""

RUNS_A_STRING = Circumstance(
    of=Pattern(r"No module named"),
    said=Pattern(r"\bFile \"<string>\", line \d"),
    unless=Pattern(r"spawn_main|\bpython\S{0,20} -c\b"),
)
"""So does an installer when it builds; Python's own children run a string, too, and whoever types one."""

FROM_A_FILE = Circumstance(
    of=Pattern(r"No module named"),
    said=Pattern(r"(?<![\w/\\.-])(?P<file>(?:[\w./\\-]{1,80}[/\\])?requirements[\w.-]{0,40}\.txt)\b"),
)
"""What is installed stands in a file of requirements."""

ZLUDA = Circumstance(
    of=Pattern(r"torch|CUDA|HIP\b", re.IGNORECASE),
    said=Pattern(r"(?i)zluda"),
    unless=Pattern(r"(?i)\b(?:no|not|without|instead of|never|from) (?:\w{1,8} ){0,2}zluda|\bNVIDIA (?:GeForce|RTX)"),
)
"""A program for NVIDIA's GPUs runs on AMD's by way of ZLUDA."""

JAX_FOR_CUDA = Circumstance(
    of=Pattern(r"\bjax|\b(?:flax|haiku|chex|optax)\b"),
    said=Pattern(r"jaxlib\S{0,4} ?\S{0,12}\+cuda\d{0,3}|jax\[cuda\w{0,10}|jax[-_]cuda1[1-3][-_]p(?:lugin|jrt)"),
)
"""A jax that computes on the GPU, by its own label or its packages."""
ON_A_RUNNER = full_disk.ON_A_RUNNER
BY_PIP = full_disk.BY_PIP
FLAT_PAGE, AN_INDEX, OF_A_PROJECT = installers.FLAT_PAGE, installers.AN_INDEX, installers.OF_A_PROJECT

CIRCUMSTANCES = (
    ZLUDA,
    JAX_FOR_CUDA,
    *full_memory.CIRCUMSTANCES,
    ON_A_RUNNER,
    BY_PIP,
    IN_A_BUILD,
    FROM_A_FILE,
    *installers.CIRCUMSTANCES,
    RESTARTED,
    REBOOTED,
    NEWER_TORCH,
    FIXED_ARCHITECTURE,
    BUILT_ANEW,
    ENGINE_IMAGE,
    NVCC_SHOWN,
    OLD_WINDOWS,
    HANDED_OVER,
    ANSWERS,
    WITHOUT_GPU,
    APPLE,
    NOTEBOOK,
    RAY,
    AT_BUILD,
    NO_WORKERS,
    OUTDATED,
    WORKED,
    XFORMERS_PYTHON,
    IMAGE_WITHOUT_CUDNN,
    ON_CUDA_11,
    INTEGRATED,
    RUNS_A_STRING,
    BUILDS,
    BUILDS_AN_IMAGE,
    KUBERNETES,
    SHM_LISTED,
)


def asked_beside(said: str) -> Iterator[Pattern]:
    """What tells a circumstance of one of these messages."""
    return (pattern for each in CIRCUMSTANCES if each.of.search(said) for pattern in each.patterns)
