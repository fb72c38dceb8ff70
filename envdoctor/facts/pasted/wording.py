"""What people make of error messages when they retell them, and the words of the tool that said it first.

Rules look for the tools' own words. A line that says the same in a shorter or other way is given them here, so that
one table serves every rule; the person's own line goes along with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.model import AS_TOLD, IN_OTHER_WORDS
from envdoctor.values.pattern import Pattern


def _row(said: str, words: str) -> tuple[Pattern, str]:
    return Pattern(said, re.IGNORECASE), words


_OLD_TENSORFLOW = (
    r"(?:tensorflow|\btf)(?:[-_ ]gpu)?(?: version)?[ =:v-]{0,4}"
    r"(?:1\.(?:1[0-5]|\d)(?:\.\d)?|1(?:\.x)?(?! ?(?:gpu|x ))|2\.[0-3](?:\.\d)?)\b(?!\.?\d)"
)
_AMPERE = (
    r"(?:\b(?:RTX ?|GTX ?)?[34]0[5-9]0\b|\bRTX ?50[5-9]0\b|\b[AH]100\b|\bA(?:[46]000|[14]0|30)\b|\bL40S?\b"
    r"|\bampere\b)"
)
_A_GPU = r"(?:GPU|CUDA)(?![A-Za-z\d_-])"
_UNSEEN_ELSEWHERE = (
    rf"\bне (?:видит|видна|находит|обнаруж\w{{2,6}}|определя\w{{2,4}}|использу\w{{2,4}}) (?:\w{{1,12}} ){{0,2}}"
    rf"(?:{_A_GPU}|видеокарт)|(?:\b{_A_GPU}|видеокарт\w{{1,2}}) не (?:видн|видит|наход|обнаруж|определя|использу)"
    r"|(?:找不到|[检偵侦][测測]不到|识别不[到了]|認不到|认不[到出]|无法(?:识别|检测|使用)|看不到"
    rf"|[没未]有?(?:检测|识别|找)到|不识别|用不了) ?.{{0,6}}(?:{_A_GPU}|显卡|顯卡)"
    rf"|(?:{_A_GPU}|显卡|顯卡) ?.{{0,4}}"
    r"(?:找不到|检测不到|识别不[到了]|认不[到出]|无法(?:被)?(?:识别|检测|使用)|不可用|用不了)"
    rf"|(?:{_A_GPU}|グラボ|グラフィックボード) ?[がをは]?.{{0,4}}"
    r"(?:認識(?:し(?:ない|ません|てくれ)|され(?:ない|ません)|できない)|検出(?:し|され|でき)(?:ない|ません)"
    r"|見つから|使え(?:ない|ません)|使われな)"
    rf"|(?:{_A_GPU}|그래픽 ?카드)[가를을이]? ?(?:인식|감지|사용|잡).{{0,4}}[못안않]"
    r"|\b(?:no|não|non) (?:\w{1,4} )?"
    r"(?:recono[cz]\w{1,3}|reconhece|riconosce|detecta|encuentra|encontra|rileva|trova|vede|usa)"
    rf" (?:\w{{1,6}} ){{0,2}}(?:{_A_GPU}|tarjeta gráfica|placa de vídeo|scheda video)"
    rf"|\b(?:erkennt|findet|sieht|nutzt|benutzt|verwendet) (?:\w{{1,8}} ){{0,2}}(?:{_A_GPU}|Grafikkarte) nicht\b"
    rf"|\b(?:{_A_GPU}|Grafikkarte) (?:wird )?nicht (?:erkannt|gefunden|genutzt|benutzt|verwendet)\b"
    r"|\bne (?:\w{1,5} )?(?:voit|détecte|trouve|reconna[iî]t|utilise) pas "
    rf"(?:\w{{1,5}} ){{0,2}}(?:{_A_GPU}|carte graphique)"
    rf"|\b(?:{_A_GPU}|carte graphique) n'est pas (?:détecté|reconnu|utilisé|vu)e?\b"
)
"""That no GPU is found, in other languages."""

_ROWS = (
    _row(
        r"(?:worker|loader|\bshm\b|shared memory).{0,80}\bbus error|\bbus error.{0,80}(?:worker|loader|\bshm\b"
        r"|shared memory)"
        r"|(?:out of|too little|insufficient|not enough) (?:shared memory|shm)\b"
        r"|/dev/shm (?:is )?(?:full|exhausted|too small)",
        "DataLoader worker is killed by signal: Bus error, out of shared memory",
    ),
    _row(r"\bfreeze support\b", 'The "freeze_support()" line can be omitted'),
    _row(
        r"^(?:.{0,40}\W)?(torch\.Size\(\[[\d, ]+\]\) from checkpoint, the shape in current model is "
        r"torch\.Size\(\[[\d, ]*\]\))",
        r"size mismatch for its.weights: copying a param with shape \1",
    ),
    _row(r"\bancdata\b", "received 0 items of ancdata"),
    _row(
        r"(?:too many|limit of|run out of|exhausted).{0,12}(?:open files|file (?:descriptors|handles))",
        "Too many open files",
    ),
    _row(
        r"no (?:NVIDIA |CUDA )?(?:GPU|graphics card)s?,? (?:or|nor|and) (?:no )?(?:NVIDIA )?drivers? .{0,20}found"
        r"|libcuda\.so\S* (?:is |was )?(?:not found|missing|absent)|no GPU (?:was |is )?passed"
        r"|without GPU pass-?through|container (?:has|sees|got) no GPU",
        "Found no NVIDIA driver on your system",
    ),
    _row(
        r"(?:NVML|driver).{0,60}(?:driver and librar|librar(?:y|ies) and driver).{0,30}(?:mismatch|differ|not match)"
        r"|\bNVML version mismatch",
        "Driver/library version mismatch",
    ),
    _row(
        r"\bcuInit\b(?!\(\)=\d{3}\]\])(?:\(0?\))?\D{0,30}\b(\d{2,3})\b",  # in [[...]]: why an image goes on without
        r"CUDA initialization: Unexpected error from cudaGetDeviceCount(): Error \1",
    ),
    _row(  # as numba and PyCUDA say it
        r"\bcuInit\b.{0,40}(?:results in|failed|returned).{0,20}CUDA_ERROR_NO_DEVICE\b",
        "CUDA initialization: Unexpected error from cudaGetDeviceCount(): "
        "Error 100: no CUDA-capable device is detected",
    ),
    _row(r"cuda runtime error \(30\)", "CUDA unknown error"),
    _row(r"system (?:is )?not yet initiali[sz]ed", "Error 802: system not yet initialized"),
    _row(
        r"driver (?:version )?(?:is |was )?(?:insufficient|not sufficient)",
        "CUDA driver version is insufficient for CUDA runtime version",
    ),
    _row(r"(?!driver too old ?\?)driver .{0,30}\btoo old\b", "The NVIDIA driver on your system is too old"),
    _row(
        r"cudnn\b\D{0,30}(?:loaded|found|run-?time|present)\D{0,20}([\d.]*\d).{0,40}(?:built"
        r"|compiled)\D{0,20}([\d.]*\d)",
        r"cuDNN version incompatibility: compiled against \2 but found runtime version \1",
    ),
    _row(
        r"toolkit (?:is )?(?:CUDA )?v?([\d.]*\d)\b.{0,20}(?:differs|does not match|is not|against|versus|vs).{0,30}?"
        r"torch\S* (?:CUDA )?([\d.]*\d)",
        r"detected CUDA version (\1) mismatches the version used to compile PyTorch (\2)",
    ),
    _row(
        r"installed CUDA (?:version )?([\d.]*\d) (?:does not match|differs from) torch\S* (?:CUDA )?([\d.]*\d)",
        r"detected CUDA version (\1) mismatches the version used to compile PyTorch (\2)",
    ),
    _row(
        r"CUDA (?:\w+ ){0,3}\(?v?([\d.]*\d)\)? (?:mismatches|differs from|does not match|does not agree with)"
        r".{0,40}?(?:PyTorch|torch)\b.{0,40}?\(?([\d.]*\d)\)?",
        r"detected CUDA version (\1) mismatches the version used to compile PyTorch (\2)",
    ),
    _row(
        r"compiled with a version of Cuda that does not match the version used to compile Pytorch.{0,20}?"
        r"Pytorch binaries were compiled with Cuda ([\d.]*\d)",
        r"CUDAMismatchException: extensions cannot be built, torch was built with \1",
    ),
    _row(
        r"compiled with a version of Cuda that does not match the version used to compile Pytorch",
        "CUDAMismatchException: extensions cannot be built",
    ),
    _row(
        r"\bcl\.exe\b.{0,60}(?:not (?:be )?found|missing|not on (?:the |my )?PATH|not installed)",
        "Error checking compiler version for cl: [WinError 2] The system cannot find the file specified",
    ),
    _row(
        r"no working triton|triton .{0,20}(?:is )?(?:not (?:found|installed)|missing)\b",
        "Cannot find a working triton installation",
    ),
    _row(
        r"triton\b(?! backend).{0,30}(?:needs|requires|wants|supports).{0,30}capability",
        "Triton only supports devices of CUDA Capability >= 7.0",
    ),
    _row(
        r"ptxas\b.{0,40}(?:does not know|unknown|not know|unrecogni[sz]ed|rejects).{0,20}(sm_\w+)",
        r"ptxas fatal : Value '\1' is not defined for option 'gpu-name'",
    ),
    _row(
        r"\b(flash_attn\w{0,40}|(?:vllm|xformers|mmcv|apex|causal_conv1d)\S{0,40})\W{0,3}.{0,30}"
        r"(lib(?:cudart|cublas)\.so\.\d{1,4})\S{0,40} .{0,20}(?:cannot be (?:opened|found|loaded)|not found|missing)",
        r"flash_attn or other extension \1: \2: cannot open shared object file",
    ),
    _row(
        r"flash[ -_]?attention.{0,12}\bonly\b.{0,12}\b(\w+) GPUs? or newer",
        r"FlashAttention only supports \1 GPUs or newer",
    ),
    _row(
        r"no (?:CUDA|GPU) (?:binary|library) (?:in|for|of).{0,40}|CPU (?:library|binary) (?:is )?loaded.{0,40}8-?bit",
        "bitsandbytes was compiled without GPU support",
    ),
    _row(
        r"(?<!\w)(?!undefined symbol\b)(?:un-?d[a-z]{3,9}|undef\.?|unresolved|unknown)[ -]{0,2}(?:external )?"
        r"s[iy]mbole?s?\W{1,4}(_Z\w+)",
        r"undefined symbol: \1",
    ),
    _row(
        r"(?<!undefined )symbol:? [`'\"(]?(_Z\w+)[`'\")]?.{0,40}?(?:is |was |are )?"
        r"(?:missing|absent|unknown|lacking|not (?:found|exported|defined|there|present|available|resolved))",
        r"undefined symbol: \1",
    ),
    _row(
        r"(?:lacks|misses|without|has no|cannot (?:find|resolve)|does not (?:have|export|define)|missing|looks for"
        r"|asks for|needs|wants) (?:an? |the |its )?(?:C\+\+ )?symbol:? [`'\"(]?(_Z\w+)",
        r"undefined symbol: \1",
    ),
    _row(
        r"\b(?:py)?torch\b(?! not compiled with CUDA enabled).{0,40}(?:\bnot|n[o']t|\bnever)"
        r" (?:\w{2,8} ){0,2}(?:compiled|built) (?:with|for|against) (?:(?:nvidia|support|the|for) ){0,2}"
        r"(?:cuda|gpus?)\b(?! ?(?:version|v?\d))"
        r"|\b(?:py)?torch\b.{0,24}\b(?:compiled|built|build|compilation) without (?:any )?(?:cuda|gpu)\b",
        "Torch not compiled with CUDA enabled",
    ),
    _row(
        r"(?:\bno|\bmissing|\black(?:s|ing)?|\bwithout|\bfind(?:ing)?|\bfound|\bimport(?:ing)?) (?:the |an? |any )?"
        r"(?:python )?module (?:that is )?(?:called|by the name of|with the name(?: of)?)"
        r" ['\"`]?([A-Za-z_][\w.]{1,60}\w)",
        r"ModuleNotFoundError: No module named '\1'",
    ),
    _row(
        r"\btensors? (?:\w+ ){0,4}(?:on|across|from) (?:two |2 |several )?different (?:devices|gpus)\b"
        r"|\bdifferent devices\b.{0,30}\btensors\b"
        r"|\btensors? (?:\w+ ){0,2}(?:not|n't) (?:\w+ ){0,2}on the same (?:device|gpu)\b",
        "Expected all tensors to be on the same device, but found at least two devices",
    ),
    _row(
        r"\billegal memory access(?:es)?\b(?! was encountered)", "CUDA error: an illegal memory access was encountered"
    ),
    _row(r"\bdevice[- ]side asserts?\b(?! triggered)", "CUDA error: device-side assert triggered"),
    _row(r"\bno cuda(?:-capable)? (?:gpus?|devices?) being\b", "No CUDA GPUs are available"),
    _row(
        r"\boperator torchvision(?:::| |\.)nms\b.{0,12}\b(?:not existing|missing|unknown|not (?:be )?found)\b",
        "operator torchvision::nms does not exist",
    ),
    _row(
        r"\b(GLIBC(?:XX)?_[\d.]*\d)['\"`]? (?:was |is |could |can ?)?(?:not (?:be )?(?:found|available)|missing)\b",
        r"version `\1' not found",
    ),
    _row(
        r"\b(?:CPU|cpu-only) (?:version|build|wheel)s? of (?:py)?torch"
        r"|torch.{0,20} (?:is|was) (?:a |the )?CPU(?:-only)? build",
        "Torch not compiled with CUDA enabled",
    ),
    _row(
        r"\bPTX (?:version )?mismatch|unsupported toolchain",
        "the provided PTX was compiled with an unsupported toolchain",
    ),
    _row(r"no kernel image", "CUDA error: no kernel image is available for execution on the device"),
    _row(
        r"\bmodule (\w[\w.]*) has no (?:attribute|name|member) (\w+)",
        r"AttributeError: module '\1' has no attribute '\2'",
    ),
    _row(
        r"(?<!module )(?<!object )['\"]([a-z]\w*(?:\.[a-z]\w*)+)['\"] has no (?:attribute|name|member) ['\"](\w+)",
        r"AttributeError: module '\1' has no attribute '\2'",
    ),
    _row(
        r"cannot import (?:the )?(?:name )?(\w+) (?:from|out of) (\w[\w.]*)",
        r"ImportError: cannot import name '\1' from '\2'",
    ),
    _row(
        r"(?:(?<!xpu\.)(?<!mps\.)\b(?:cuda_)?is_available|\bcuda\.available)\b(?:\(\))?\W{0,12}"
        r"(?:(?:is|are|was|returns?|returned|returning|gives?|to|always|be|still|the|should be true but)"
        r" |为|返回|是){0,4}"
        r"\W{0,4}(?:false|flase)\b",
        "torch.cuda.is_available() is False",
    ),
    _row(r"\bmajor: (8|9|1\d) minor: (\d) memoryClockRate", r"TensorFlow's log: major: \1 minor: \2 memoryClockRate"),
    _row(r"\bcomputeCapability: ((?:8|9|1\d)\.\d) coreClock", r"TensorFlow's log: computeCapability \1"),
    _row(
        rf"{_OLD_TENSORFLOW}.{{0,80}}{_AMPERE}|{_AMPERE}.{{0,80}}{_OLD_TENSORFLOW}",
        "TensorFlow before its CUDA 11 (2.4) and a GPU of Ampere or later",
    ),
    _row(
        r"^(?!.{0,80}\b(?:initially|at first|previously|earlier)\b).{0,400}?"
        r"\bCUDA(?: is| was)?(?: running)?[ _-]out[_ -]of[_ -]memory"
        r"|\bVRAM (?:is |was )?(?:full|exhausted)",
        "CUDA out of memory",
    ),
    _row(
        r"\b(?:(?:system|cpu|host) (?:ram|memory)|ram usage|(?:my|the) (?:machine|computer|server) (?:is|runs?|ran))\b"
        r".{0,80}(?:out of memory|\bOOM\b)",
        "DefaultCPUAllocator: can't allocate memory",
    ),
    _row(
        r"(?:\b(?:gpus?|vram|graphics (?:card|memory)|[avh]\d00s?|rtx ?\d{4})\b|显存)"
        r"(?:(?!\bram\b|\bcpu\b|\b(?:machine|computer|server) ).){0,60}"
        r"(?<!ll cause )(?<!ld cause )(?<!ay cause )(?<!ht cause )(?<!avoid )(?<!without )\b(?:out of memory|OOM)\b"
        r"|\b(?:out of memory|OOM)\b(?:(?!\bram\b|\bcpu\b).){0,30}(?:\b(?:gpus?|vram)\b|显存)",
        "CUDA out of memory",
    ),
    _row(
        r"no wheels? .{0,40}(?:for|on) this Python|Python 3\.\d+(?: or (?:later|newer))? is (?:needed|required)"
        r"|needs (?:at least )?Python",
        "Package requires a different Python: another version is needed",
    ),
)


_ALONE = (
    _row(
        r"(?:ca(?:n'?t|n ?not)|unable to|fails? to|impossible to|failed) (?:be )?install(?:ed|ation|ing)?\b"
        r".{0,40}\b(?:on|with|under|in|for) python ?(?:3\.\d+|version)",
        "Package requires a different Python: another version is needed",
    ),
    _row(
        r"\bjax\b.{0,60}\b(?:only|just) (?:sees?|finds?|uses?|using|detects?|shows?|runs? on) (?:the |my )?CPU\b"
        r"|\bjax\b.{0,60}(?:CpuDevice\(id=0\)|TFRT_CPU_0|\[cpu\(id=0\)\])"
        r"|\bjax\b.{0,40}(?:does ?n[o']t|not|n't) (?:\w+ ){0,2}(?:see|find|detect|us(?:e|ing)|recogni[sz]e) "
        r"(?:\w+ ){0,2}gpus?\b"
        r"|\bgpus?\b.{0,30}(?:not|n't) (?:be )?(?:\w+ )?(?:detected|found|used|visible|recogni[sz]ed) .{0,12}\bjax\b",
        "JAX finds only the CPU",
    ),
    _row(
        r"no wheels? .{0,40}(?:for|on) (?:the )?Python",
        "Package requires a different Python: another version is needed",
    ),
    _row(
        r"(?:torch|\bcuda\b|program|script|training|model|\bit)\b.{0,40}"
        r"(?:n[o']t|\bnot|\bnever|\bno longer|fails? to|unable to) (?:\w+ ){0,2}"
        r"(?:detect|see|find|recogni[sz]e|pick(?:ing)? up)(?:s|ing)? (?:\w+ ){0,3}(?:gpu|cuda\b|graphics card)"
        r"|\b(?:gpus?|cuda|graphics card) (?:is |was |are )?(?:not|never) (?:being )?"
        r"(?:detected|found|recogni[sz]ed|available|visible|working)\b(?! (?:in|on) (?:the )?(?:path|index"
        r"|system path))"
        r"|(?<!\bwith )\bCUDA ?[:=] ?False\b|\b(?:gpu|cuda) (?:is )?unavailable\b"
        r"|\b(?:runs?|running|trains?|training|works?|loads?) (?:\w+ )?(?:only )?on (?:the )?cpu\b"
        r" ?(?:only|instead)|\b(?:gpu|cuda) (?:is |was )?not (?:being )?used\b|only (?:uses?|using) (?:the |my )?cpu\b"
        r"|no longer (?:sees?|detects?|finds?|works? with) (?:\w+ ){0,2}gpu"
        r"|\b(?:do|does|did)(?:n'?t| not) use (?:the |my |any )?gpu\b"
        rf"|{_UNSEEN_ELSEWHERE}",
        "torch.cuda.is_available() is False",
    ),
    _row(
        r"\b(?:docker|containers?|pod)\b.{0,60}(?:n[o']t|\bnot|\bno|without|unable to)\b (?:\w+ ){0,3}(?:gpus?\b"
        r"|cuda|nvidia)"
        r"|\b(?:gpu|cuda) works? on (?:the |my )?host .{0,12}not (?:inside|in)"
        r"|nvidia-smi\b.{0,10}\b(?:inside|in) (?:the |my |a )?(?:container|docker)\b.{0,30}(?:not found|fail|error)"
        r"|nvidia-smi\b.{0,20}works?\b.{0,40}\b(?:but|and) not .{0,20}(?:container|docker)"
        r"|nvidia-smi\b.{0,40}(?:n[o']t|\bnot|fails) .{0,20}(?:in|inside) .{0,16}(?:container|docker)",
        "torch.cuda.is_available() is False in the container",
    ),
    _row(
        r"nvidia-smi (?:\w+ )?(?:does ?n[o']t|did ?n[o']t|stopped|no longer|not) (?:work|respond)\w*"
        r"|(?:kernel|ubuntu|system|os|debian|driver) (?:update|upgrade)\b.{0,60}(?:nvidia|driver|gpu)\w*\b.{0,40}"
        r"(?:stopped|no longer|n[o']t|not|broke)",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
    ),
    _row(
        r"\b(?:rtx ?)?50[5-9]0(?: ?ti)?\b.{0,60}(?:not|n't) (?:yet )?(?:be )?(?:supported|compatible|work)"
        r"|\b(?:not|n't|no) (?:yet )?(?:support\w*|compatib\w+)\b.{0,40}\b(?:rtx ?50[5-9]0|blackwell|sm_1[02]0)\b"
        r"|\bsm_1[02]\d (?:is )?not (?:compatible|supported)|blackwell .{0,40}(?:not|n't) (?:yet )?(?:supported|work)",
        "CUDA error: no kernel image is available for execution on the device",
    ),
    _row(
        r"(?<!slurm )\bOOM\b.{0,60}(?:\d ?GB|gpu|batch|\b[345]0[5-9]0\b|train|cuda)"
        r"|(?<!after )(?<!after a )(?<!after an )(?:gpu|cuda|vram|batch|training)"
        r"(?:(?!after an? |slurm|cgroup).){0,60}\bOOM\b"
        r"|(?:out of|run(?:s|ning)? out of|ran out of|not enough|insufficient) (?:gpu |cuda |video )(?:ram |memory)"
        r"|(?:out of|not enough|insufficient) vram"
        r"|\bOutOfMemory\b|爆显存|显存(?:爆|不足|不够|溢出)|VRAM ?不足|GPU.{0,6}メモリ ?不足|GPU ?메모리 ?부족"
        r"|(?:не ?хватает|нехватка|недостаточно) (?:видео|памяти (?:на )?(?:GPU|видеокарт))",
        "CUDA out of memory",
    ),
    _row(
        r"\b(?:system |cpu |host )?ram\b.{0,20}(?:fills|is full|runs out)"
        r"|\b(?:using|used) all available ram|kernel (?:appears to have )?died|kernel (?:crashed|restarting)",
        "the process gets Killed",
    ),
    _row(
        r"(?:ca(?:n'?t|n ?not)|unable to|fail\w*|error|trouble|problem|stuck|hang\w*|impossible)\b.{0,30}(?:install"
        r"|build|compil)\w*"
        r".{0,20}\b(flash[-_ ]?att\w{1,8}|xformers|deepspeed|mamba[-_]ssm|apex|causal[-_]conv1d|detectron2"
        r"|sageattention|vllm)\b",
        r"Failed building wheel for \1",
    ),
    _row(
        r"(?<!after )(?<!when )(?:install|build|building|compiling|compile)\w*\b.{0,12}\b(flash[-_ ]?att\w{1,8}"
        r"|xformers|deepspeed|mamba[-_]ssm|apex"
        r"|causal[-_]conv1d|detectron2|sageattention|vllm)\b.{0,60}\b(?:fail|error|stuck|hang|(?:takes?"
        r"|took) (?:hours|forever))",
        r"Failed building wheel for \1",
    ),
    _row(
        r"(?:pip|uv|conda) (?:ca(?:n'?t|n ?not)|(?:could|does|did) ?n[o']t|(?:could|does|did) not) find (?:\w+ ){0,2}"
        r"(torch|torchvision|torchaudio) ?v?([\d.]*\d)",
        r"ERROR: No matching distribution found for \1==\2",
    ),
    _row(
        r"(?:access denied|denied access|\b40[13]\b|unauthori[sz]ed|forbidden|no access|(?<!private or )gated\b).{0,60}"
        r"(?:llama|gemma|mistral|flux|hugging ?face|\bhub\b|\brepo)",
        "GatedRepoError: 403 Client Error",
    ),
    _row(
        r"\b(?:bf16|bfloat16)\b (?:is |was )?not supported (?:on|by|for)|(?:n't|not) support (?:bf16|bfloat16)\b",
        "bf16 precision was requested but not available on this GPU",
    ),
    _row(
        r"flash[ -_]?att\w{1,8} (?:2 )?(?:is )?not supported (?:on|by|for) .{0,20}\b(?:T4|V100|P100|20[678]0|turing"
        r"|volta)\b",
        "FlashAttention only supports Ampere GPUs or newer",
    ),
    _row(
        r"\bfp8 (?:is )?not supported (?:on|by|for)\b|(?:n't|not) support fp8\b",
        "type fp8e4nv not supported in this architecture",
    ),
    _row(
        r"\b(?:wants?|needs?|requires?|asks? for|looks? for|misse?s?|lacks?)\b.{0,16}?"
        r"(?P<version>(?:GLIBCXX|GLIBC|CXXABI)_\d[\d.]{0,8}\d)",
        r"version \g<version> not found",
    ),
)
"""What people say where no program's own words are there: too loose to stand beside them."""

TOOLS_WORDS = tuple(words for _, words in (*_ROWS, *_ALONE) if "\\" not in words)
"""The sentences of tools that are given for what people say."""


_OTHERS = Pattern(
    r"tensorflow|\btf\b|\bjax|\bflax\b|onnx ?runtime|\bpaddle|\bcupy\b|\bnumba\b|\bollama\b|llama[. ]?cpp|openvino"
    r"|tensorrt|xgboost|lightgbm|\bmxnet\b|\bopenmm\b",
    re.IGNORECASE,
)
"""Who may see no GPU in place of torch."""


def in_the_tools_words(line: str, *, alone: bool) -> Iterator[str]:
    """What a tool would have said, for each thing that the line says in its own way.

    ``alone``: no program says anything in this report.
    """
    for rows, told in ((_ROWS, IN_OTHER_WORDS), (_ALONE if alone else (), AS_TOLD)):
        for pattern, words in rows:
            if words.startswith("torch.") and _OTHERS.search(line) and "torch" not in line.lower():
                continue
            if found := pattern.search(line):
                said = re.sub(r"flash[-_ ]?att\w*$", "flash-attn", found.expand(words), flags=re.IGNORECASE)
                if said.lower() not in line.lower():
                    yield f"{said} [{told}{line}]"
