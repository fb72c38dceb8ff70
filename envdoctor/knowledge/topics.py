"""What a text speaks of, and which usual cause that speaks for: a container, a scheduler, a Mac, an adapter.

``told``: words of a cause that is about the topic. ``shown``: what a text has where the topic is there: paths, prompts,
commands and settings rather than the bare word, which forms of issues name as an example.
"""

from __future__ import annotations

import re

from envdoctor.facts.model import SHOWS, Facts
from envdoctor.values.frozen import frozen
from envdoctor.values.pattern import Pattern


@frozen
class Topic:
    """One thing of which both a text and a cause may speak; ``name`` as a person is told of it."""

    name: str
    told: Pattern
    shown: Pattern


def _topic(name: str, told: str, shown: str) -> Topic:
    return Topic(name=name, told=Pattern(told), shown=Pattern(shown, re.IGNORECASE))


TOPICS = (
    _topic(
        "Windows",
        r"\b(?:on|of|this is|or) Windows\b|^\(Windows\b|\bWindows (?:has|does|alone)\b",
        r"(?<![\w/])[A-Z]:\\+\w|\bPS [A-Z]:|\bWinError\b|\bwin_amd64\b|\.(?:exe|pyd|bat)\b|\bWindows[- ]1[01]\b",
    ),
    _topic(
        "a Mac",
        r"\b(?:Mac|macOS|Apple)\b",
        r"/Users/\w|\bmacOS[ :]1\d|\bmacosx_(?!\d+_\d+_\w+, )|\bdarwin\b|\.dylib\b|\bMacBook|\bosx-(?:64|arm64)\b",
    ),
    _topic("Linux", r"(?!)", r"/home/\w|/usr/(?:lib|local/lib)/python|\bmanylinux|\.so\b"),
    _topic("sudo", r"(?!)", r"\bsudo (?!su\b)[a-z]|\broot@[\w.-]{1,60}[:#]"),
    _topic("WSL", r"\bWSL", r"\bWSL ?2?\b|microsoft-standard"),
    _topic(
        "a container",
        r"\b(?:container|Docker|docker|image)\b(?! (?:processor|size|file|tokens?|encoder|model))",
        r"\bdocker(?:file|-compose| run| compose| build| exec)\b|\bpodman\b|\bkubectl\b|\bnvidia-ctk\b"
        r"|\bin (?:a |the |my )?(?:docker|container)\b|\bapptainer\b|\bsingularity\b|--gpus[ =]all|\bdevcontainer\b",
    ),
    _topic("Kubernetes", r"\b(?:Kubernetes|pod)\b", r"\bkubectl\b|\bkubernetes\b|\bk8s\b|nvidia\.com/gpu|\bhelm\b"),
    _topic(
        "Slurm",
        r"\b(?:Slurm|scheduler shows|srun|sbatch)\b|--gpus-per-task",
        r"\b(?:srun|sbatch|salloc|squeue|slurmd?|slurmstepd)\b|#SBATCH|\bSLURM_|--gres\b",
    ),
    _topic(
        "nouveau or Secure Boot",
        r"\bnouveau\b|\bSecure Boot\b",
        r"\bnouveau\b|\bNV1[0-9A-F]{2}\b|\bmokutil\b|\bsecure ?boot\b|\bMOK\b|Key was rejected"
        r"|Required key not available",
    ),
    _topic(
        "a kernel that was upgraded",
        r"\bkernel (?:was|is) (?:upgraded|newer)|\bnewer kernel\b|\bDKMS\b",
        r"\bapt(?:-get)? (?:dist-)?upgrade\b|\bdkms\b|kernel (?:update|upgrade)"
        r"|after (?:an? )?(?:update|upgrade|reboot)",
    ),
    _topic(
        "/usr/bin/nvcc",
        r"/usr/bin\b|\bDebian's own\b|\bnvidia-cuda-toolkit\b",
        r"/usr/bin/nvcc\b|\bnvidia-cuda-toolkit\b",
    ),
    _topic(
        "an evaluation",
        r"\b(?:no_grad|inference_mode|evaluation|validation|evaluates?)\b",
        r"\bin (?:validate|evaluate|eval|validation_step|evaluation_loop|validation_epoch\w*|test_step|val)\b"
        r"|\b(?:during|in|at|after|start of|when) (?:the )?(?:validation|evaluation|eval|validating)\b|\bvalidate\(\)",
    ),
    _topic(
        "an adapter",
        r"\b(?:LoRA|adapters?|PEFT|QLoRA)\b",
        r"\blora_\w|\bLoraConfig\b|\bpeft[/\\.]|\bget_peft_model\b|\bQ?LoRA\b|\badapter_(?:config|model)\b",
    ),
    _topic(
        "DeepSpeed",
        r"\b(?:DeepSpeed|ZeRO)\b",
        r"\bdeepspeed[/\\. ]|\bds_config\b|\bzero[-_ ]?(?:stage|[23]\b)|--deepspeed\b|\bZeRO-[123]\b",
    ),
    _topic("FSDP", r"\bFSDP", r"\bFSDP\b|\bfsdp_|FullyShardedDataParallel|\bfully_shard\b"),
    _topic(
        "weights in 4 or 8 bits",
        r"\b(?:quantised|4-bit|8-bit|4 or 8 bits|bitsandbytes|load_in_[48]bit)\b",
        r"\bload_in_[48]bit\b|\bbitsandbytes\b|\bbnb_|\bBitsAndBytesConfig\b|\bGPTQ\b|\bAWQ\b|\bQLoRA\b|\bLinear[48]bit",
    ),
    _topic(
        "recomputed activations",
        r"\bgradient[_ ]checkpointing\b|\brecomput",
        r"\bgradient_checkpointing\b|\buse_reentrant\b|torch[/\\.]utils[/\\.]checkpoint",
    ),
    _topic(
        "a compiled model",
        r"\btorch\.compile\b|\bInductor\b",
        r"\btorch\.compile\b|\btorch[/\\._]_?(?:dynamo|inductor)\b|--compile\b|\btorch_compile\b",
    ),
    _topic(
        "a notebook",
        r"\b(?:notebook|Jupyter|Colab|Kaggle)\b|\bkernel (?:was|is) not restarted\b",
        r"\bipykernel\b|\bipython-input\b|\bJupyter\b|\bcolab\b|\bkaggle\b|\.ipynb\b|/usr/local/lib/python3\.\d+/dist-packages",
    ),
    _topic(
        "several machines",
        r"\b(?:several|other|between) (?:nodes|machines)\b|\bmulti-node\b|\bInfiniBand\b|\b(?:node|machine)s? reach",
        r"--nnodes[ =](?!1\b)\d|--node_rank\b|--master_addr\b(?![ =](?:localhost|127))|--num_machines[ =](?!1\b)\d"
        r"|\bnum_machines: (?!1\b)\d|\bmulti-?node\b|\bMASTER_ADDR=(?!localhost|127)",
    ),
    _topic(
        "DataParallel",
        r"\b(?:DataParallel|nn\.DataParallel)\b",
        r"\bnn\.DataParallel\b|data_parallel\.py|parallel_apply",
    ),
    _topic(
        "ROCm",
        r"\b(?:ROCm|AMD|HIP)\b",
        r"\brocm\d?|\bHIP\b|\bhip(?:blas|Error)|\bgfx\d{3,4}\b|\bamdgpu\b|\bRadeon\b|\bAMD (?:cards?|GPUs?)\b",
    ),
    _topic("conda", r"\bconda\b", r"\bconda (?:install|env|create|activate)\b|\bmamba install\b"),
    _topic(
        "a proxy",
        r"\bproxy\b",
        r"\bhttps?_proxy\b|\bproxies\b|\bProxyError\b|Cannot connect to proxy|\bcorporate\b"
        r"|\b127\.0\.0\.1:(?:7890|1080\d?|10809)\b",
    ),
    _topic("a mirror", r"\bmirror\b", r"\bHF_ENDPOINT\b|hf-mirror|tuna\.tsinghua|mirrors?\.\w+\.\w+|aliyun\.com/pypi"),
    _topic("Ray", r"\bRay\b", r"\bray\.(?:init|remote|get|exceptions)\b|\bRay(?:TaskError|Worker)|\bray::"),
    _topic(
        "added tokens",
        r"\b(?:added tokens|resize_token_embeddings|special tokens)\b|\btokens were added\b",
        r"\badd_(?:special_)?tokens\b|\bresize_token_embeddings\b|\bpad_token\b",
    ),
    _topic(
        "a class label",
        r"\b(?:labels?|classes)\b",
        r"\b(?:CrossEntropy|cross_entropy|nll_loss|n_classes|num_classes|num_labels|t >= 0 && t < n_classes)\b",
    ),
    _topic(
        "float16",
        r"\b(?:fp16|float16|half precision|GradScaler)\b",
        r"\bfp16\b|\bfloat16\b|\bHalf(?:Tensor)?\b|\.half\(\)|\bGradScaler\b|--half\b|mixed_precision[ =:'\"]{1,4}fp16",
    ),
    _topic("shared memory", r"\b(?:shared memory|/dev/shm|--shm-size|--ipc)\b", r"/dev/shm|\bshm-size\b|--ipc\b"),
    _topic("Python 2", r"\bPython 2\b", r"\bcp27\b|\bpython2(?:\.7)?\b|Python 2\.7"),
    _topic(
        "a virtual machine",
        r"\bvirtual machine\b|\bhypervisor\b|\bpass(?:ed)? through\b",
        r"\b(?:VirtualBox|VMware|Proxmox|QEMU|KVM|passthrough|Hyper-V)\b",
    ),
)


_SET = Pattern(r"(?<![\w./-])([A-Z][A-Z0-9]{1,20}(?:_[A-Z0-9]{1,20}){1,6})(?==[^=\s])")
_OPTION = Pattern(r"(?<![\w-])(--[a-z][a-z0-9]{1,20}(?:[-_][a-z0-9]{1,20}){0,4})\b")
_NAMED = Pattern(r"(?<![\w./-])[A-Z][A-Z0-9]{1,20}(?:_[A-Z0-9]{1,20}){1,6}\b")
_ADVISED = frozenset("CUDA_LAUNCH_BLOCKING NCCL_DEBUG PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF".split())
"""Variables that programs and people set to look for a cause, or are told to."""
_MOST = 40
_START = 24
"""Characters of a cause in which it says what it is about."""


def shown_topics(text: str) -> frozenset[str]:
    """The names of the topics that a text shows, and the variables and options that it sets."""
    topics = {topic.name for topic in TOPICS if topic.shown.search(text)}
    words = {found[1] for pattern in (_SET, _OPTION) for found in pattern.finditer(text)} - _ADVISED
    return frozenset(topics | set(sorted(words)[:_MOST]))


def topics_of(facts: Facts) -> frozenset[str]:
    """What the text behind these facts shows; nothing where there is none."""
    return frozenset(filter(None, facts.remarks.get(SHOWS, "").split(", ")))


def told_topics(cause: str) -> frozenset[str]:
    """The names of the topics, variables and options of which a cause speaks."""
    words = {found[0] for found in _NAMED.finditer(cause)} | {found[1] for found in _OPTION.finditer(cause)}
    return frozenset({topic.name for topic in TOPICS if topic.told.search(cause)} | words)


_RULES_OUT = {
    "Windows": frozenset({"a Mac", "Slurm", "Kubernetes", "nouveau or Secure Boot"}),
    "a Mac": frozenset({"Windows", "WSL", "Slurm", "Kubernetes", "nouveau or Secure Boot"}),
    "Linux": frozenset({"Windows", "a Mac"}),
}


def ruled_out(shown: frozenset[str]) -> frozenset[str]:
    """Topics that a text with these signs is not about: another system, where it shows none but one."""
    systems = shown & _RULES_OUT.keys()
    if len(systems) != 1 or shown & {"WSL", "a container"}:
        return frozenset()
    return _RULES_OUT[next(iter(systems))] - shown


def begins_with(cause: str, topics: frozenset[str], shown: frozenset[str]) -> bool:
    """Is a cause about one of these topics alone, and about none that the text shows? Its first words say so."""
    start = cause[:_START]
    named = {topic.name for topic in TOPICS if topic.told.search(start)}
    return " or " not in start and bool(named & topics) and not named & shown
