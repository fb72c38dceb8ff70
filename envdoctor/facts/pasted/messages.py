"""Error and warning lines, out of everything that no reader took; the rest with a key is a remark.

A person's own prose is left out unless it reads like a message, so that rules only see what a program may have said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from envdoctor.facts.model import AS_TOLD
from envdoctor.facts.pasted import carried, complaints, slips, slowness, surroundings, two_pythons, weights
from envdoctor.facts.pasted import shown as shown_modules
from envdoctor.facts.pasted.capitals import as_written
from envdoctor.facts.pasted.completed import Beside, whole_of
from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.frames import code_of_last_frame, raised_in, raised_where_cut
from envdoctor.facts.pasted.known_lines import KnownLines
from envdoctor.facts.pasted.page import Page, pair
from envdoctor.facts.pasted.program_files import ProgramFiles
from envdoctor.facts.pasted.wording import in_the_tools_words
from envdoctor.facts.pasted.words import is_unknown
from envdoctor.knowledge.messages import CUT_TRACEBACK
from envdoctor.values.pattern import Pattern

_MESSAGE = Pattern(
    r"^(?:[a-z_]\w{0,40}\.){1,8}[A-Z]\w{2,60}(?: ?:|$)"  # an exception whose class is not called one
    r"|\b(?:hip|cuda|cudnn|cublas|cusolver|cusparse|nccl|miopen)_?(?:error|status)_?[a-z]\w"
    r"|exits with return code|return code ?[=:]? ?-\d|times as long|takes .{0,20}longer|error\b|errors?:|exception"
    r"|warning|\[warn|\bwarn\b|fail(?:ed|s|ure|ing)?\b|\bcan ?not\b|\bcan't\b"
    r"|\bcould ?n[o']t\b|\bcould not\b|\bunable to\b|undefined symbol|no such|not found|\bfound no\b|\bmissing\b"
    r"|\bincompatible\b|not compatible|mismatch|unsupported|not supported|n[o']t support\b|no longer|does not"
    r"|do not match|don't match|doesn't match|\brequires?\b|\brequired\b|\bneeds\b"
    r"|\btoo (?:old|new|many|small|few|low)\b|\bkilled\b|bus error|out of (?:shared )?memory|\brefus|\babort"
    r"|segmentation fault|core dumped|\bassert|\binvalid\b|not defined|\bundefined\b|no execution plan|deprecat"
    r"|may crash|\bhas no\b"
    r"|\bno (?:module|attribute|name|kernel|gpu|cuda|devices?|nvidia|library|binary|version)\b|not imported"
    r"|exited (?:unexpectedly|when)"
    r"|\bunexpected\b|not available|unavailable|not (?:yet )?initiali[sz]ed|size changed|\bexceed|\bdisabled\b"
    r"|\bhang|timed? ?out"
    r"|forward compatibility|built (?:for|with|against)|compiled (?:for|with|against|using)|\bnot usable\b"
    r"|\bskipp?ing\b|falling back|\bfalls back\b|\bslow|insufficient|\bconflict|different versions?"
    r"|\bdiffers?\b|instead of"
    r"|\bignored\b|but (?:you have|got|found|is|detected)|\bexpected\b|unknown error|\blost\b|oversubscri|throttl"
    r"|\blimit(?:ed)?\b|outside of what|supported by this|XID|NVRM: |rejected|\bcorrupt|\bnan\b|not enough"
    r"|which is of (?:cuda|compute) capability|\bstuck\b|\bdeadlock|ancdata|\bmixed\b"
    r"|\bduplicate\b|\bWinError\b|\bErrno\b|EADDR|Traceback \(most recent"
    r"|\bused: False\b|\b(?:wasn|isn|doesn|couldn|won)'?t\b|\breset\b|\bstuck\b|oom\b|detect_anomaly"
    r"|\bMIG\b|\bold and new\b|\bdepends on \S|\bThe user requested\b|\bWatchdog caught\b|bootstrapping phase"
    r"|excessive nesting|(?:up|down)grading \S"
    r"|but _scale is None|loss\W{1,3}-?inf\b|SIGKILL|op requires |session crashed"
    r"|machine only has|not able to\b|32 bit \(|but you have|no such option|\bApex\b|_AVAILABLE\b"
    r"|freeze_support|dispatched on the CPU|low on memory|\bWorker exit\b|device ?=|NCCL WARN|is not recogni[sz]ed as"
    r"|\bHSA_STATUS|Memory access fault|\bbad (?:return )?status\b|illegal (?:hardware )?instruction|RESOURCE_EXHAUSTED"
    r"|\bapt-get\b.{0,60}install|\bsignal: |\bdenied\b|bash\\r|\bOOM|nouveau|NotFound|No solution found"
    r"|\bfatal\b|ambiguous symbol|not expanded|exit ?code {0,3}:? ?-?[1-9]|terminate called|TIME LIMIT|than permitted"
    r"|代码为 ?-?[1-9]|exited with (?:code|status) -?[1-9]"
    r"|项识别为|不是内部或外部命令|\binstall flash attention\b|Tensile|did not run successfully"
    r"|\bonly supports? (?:sm|compute|cuda|gpus?\b|ampere|hopper|turing)"
    r"|must be a|\bsupported only\b|\bsegfault|died due to|no space left|compatible (?:GPU|graphics)"
    r"|^hint: |\bonly has wheels\b|could be found\b|must be non-empty|identification is unknown|newer than PyO3"
    r"|not up to date|changed significantly|Unrecognized |feature has been|torch-0\.1\.2"
    r"|\] :/\S{1,120}/nvcc |^' is not def|^: \w|'nvalid |does not implement"
    r"|\b(?:fixed|solved|resolved) (?:that|it|this) (?:by|with|via)\b"
    r"|\bValue not in list\b|\bkey not loaded\b|^Press any key to continue|请按任意键继续|^Drücken Sie eine beliebige"
    r"|but no NVIDIA|bare_metal_version\(|arch_list\[-1\]|[Nn]o rule to make|wheel_stub|placeholder"
    r"|^\W{0,4}(?:[\w.]{1,80}: )?Command '\[|no 'device' argument|Symbol not found|detected 0 |not a recogni[sz]ed"
    r"|panicked at|client_loop: send|closed by remote host|hit config\.recompile_limit|SubprocException"
    r"|^Killed[a-z]{0,6} \d{1,6} files"  # over a progress bar's "Fetching 9 files"
    r"|\bStopIteration:|\bno data found\b|GGML_ASSERT|attempt to run as root|file not recognized: "
    r"|\bcudaError[A-Z]\w|CUDA_ERROR_[A-Z]|\bCU[A-Z]{2,6}_STATUS_[A-Z]|is not a symbolic link|Ignoring (?:visible )?gpu"
    r"|is not present|does not exist|was not detected|not implemented for ['\"]|jaxlib is not inst|input types 'tensor<"
    r"|\bSIG(?:KILL|SEGV|ABRT|BUS|FPE|ILL|TERM|HUP)\b|Insufficient \w|FailedScheduling|\b(?:un)?tolerated taint"
    r"|^(?:StopIteration|KeyboardInterrupt)$|^\^C(?:Traceback|$)|G?PUs? requested \(\d|\b0xC0000\w{3}\b"
    r"|exit status -?\d{3}|stack smashing|\bunmet dependenc|dpkg was interrupted|No match for argument"
    r"|disagrees about version|Unknown symbol|blocked for more than \d|unknown flag|configured multiple times"
    r"|stored in legacy|\bnot correctly installed|not up-to-date|No suitable Python|not agreed to|No targets specified"
    r"|no matching manifest|E_ACCESSDENIED|CrashLoopBackOff|installation of the driver found|page fault"
    r"|PENDING \((?:QOS|Assoc)|buffer overflow detected|multiple definition|environment is inconsistent"
    r"|[Pp]lease install|Gradient overflow|\bstruct\.error|(?:^|\.)_?queue\.Empty$|^zsh: |\bAbort trap",
    re.IGNORECASE,
)
_OWN_WORDS = Pattern(
    r"(?:i|i'm|i've|we|my|hi|hello|thanks|thank|please|can (?:you|someone|anyone)|could (?:you|someone)|does anyone"
    r"|how (?:do|can|to)|what (?:is|should)|is there|is it|when i|after i|if you|you (?:can|could|should|may)"
    r"|expected behavior|describe the|steps to)\b.*",
    re.IGNORECASE,
)
_RAISE = Pattern(r"^raise [\w.]{1,80}\( ?(?=[\w.]{1,120}(?:Error|Exception): )")
_FRAME = Pattern(
    r'(?:File "[^"]*", line \d+.*|Traceback \(most recent call last\):?|~*\^+~*|(?:warnings\.)?warn\(.*\)?'
    r"|.*submit your error trace to.*|\.\.\.|During handling of the above.*"
    r"|The above exception was the direct cause.*)"
)
_CODE = Pattern(
    r"raise (?:[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit)\b|\w[\w.]*\().*"
    r"|(?:logger|log|logging|warnings)\.\w+\(.*|(?:TORCH|AT|CHECK|THC?)_\w{2,40}\(.*\);"
    r"|(?!.(?:Your session crashed|hipErrorNoBinaryForGpu))[furbFURB]{0,2}(?P<quote>['\"])"
    r"(?:(?!(?P=quote)).){0,1500}(?P=quote)(?: ?[,)+\\]){0,4}"
    r"|\d{1,5} {2,}\S.*|except [A-Za-z_(][\w.,() ]{0,200}:|class \w+\b[^:]{0,200}:|(?:async )?def \w+\(.*"
    r"|elif [\w(].*:|if (?:not |isinstance|[\w.()]+ (?:is|in|==|!=|<|>|and|or|not)\b).*:"
    r"|[A-Za-z_][\w.]{0,80} = [furb]{0,2}['\"].*|from \.{0,3}[\w.]{0,120} import .*|(?:return|if) [furb]{0,2}['\"].*"
    r"|.*[(\[]#\d{1,6}[)\]]\S{0,120}"
)
"""Source, or a changelog: what a program would say. A frame's own line was run; the lines around it, and quoted code,
need not be."""
_IN = Pattern(
    r'File "(?:[^"]*[/\\])?(?P<file>[^"/\\]{1,60}[/\\][^"/\\]{1,60})", line \d+, in (?P<function>[\w<>]{1,80})'
)
_NEAR_END = 4
"""Lines between a traceback's last frame and the end of a text that breaks off in it."""
_ENDED = Pattern(r"(?:[a-z_]\w{0,40}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Iteration|Exit):?")
"""The last line of a traceback whose exception was raised without a word."""
_SHOWN = Pattern(r'^File "[^"]*", line \d|[\w-]\.py(?::| in |\(| line )\d')
_REFUSED = Pattern(r"[\w@.+-]{2,60} is not supported because: ?.*")
_REASON = Pattern(
    r"(?:min|max|query|key|value|attn_bias|requires device|requires A100|dtype|device)\b.{0,20}[ =.(!<>\[].*"
    r"|operator wasn'?t built\b.*|xFormers wasn'?t build? .*|triton is not available.*|(?:only )?head-?dim .*"
    r"|unsupported embed .*|HINT: .*|bf16 is only supported .*|has custom scale.*|.* attention bias .*",
    re.IGNORECASE,
)
"""xFormers tells of every operator why it was not that one: reasons, of which most are not the cause."""
_KEY = Pattern(r"[\w`(][\w ./()\[\]#+,'-]{0,79}")
_SENTENCE = Pattern(
    r"[a-z].*|PyTorch \(.*|NumPy \d.*|The current PyTorch install.*|Please .*|If you .*|.*\bsm_\d+ sm_\d+.*"
    r"|[Mm]inimum and [Mm]aximum .*|\(\d{1,2}\.\d\) - \(\d{1,2}\.\d\).*"
)
_EXCEPTION = Pattern(r"(?:E {1,3})?(?:[A-Za-z_][\w.]{0,80})?(?:Error(?:_[A-Z]\w{1,40})?|Exception)\b ?:")


_USED = Pattern(
    r"(?<![\w-])(?P<name>flash_attn(?!ention)|xformers|bitsandbytes|vllm|sageattention|causal_conv1d|selective_scan"
    r"|mamba_ssm|deepspeed|apex"
    r"|mmcv|torch_scatter|exllama\w{0,10}|gptq\w{0,10}|natten|transformer_engine)\w{0,30}[./\\(]\w"
    r"|in _(?P<own>flash_attn)\w+"
)
_SOURCE_OF = Pattern(
    r"[/\\](?P<name>flash-attention|xformers|vllm|sageattention|causal-conv1d|mamba|gsplat|spconv|mmcv|natten)"
    r"[/\\]\S{0,200}\.(?:cu|cuh|h|hpp|cpp)\b"
)
"""The file of an extension that a CUDA error names."""
_MODEL = Pattern(
    r"\b(?:wan ?2\.\d|hunyuan\w{0,20}|qwen[\d.]{0,4}-?(?:vl|omni)\w{0,20}|cosmos\w{0,20}|conv3d|vae|video)\b",
    re.IGNORECASE,
)
"""What tells that a run has layers of a kind that some releases are slow at."""
_COMPLAINT = Pattern(
    r"\b(?:stuck|hangs?|hung|freez(?:es|ing)|frozen|deadlock\w{0,3}|crash(?:es|ed|ing)?|segfaults?)\b", re.IGNORECASE
)
"""A person's own word for a failure without a message."""
_PROGRAM = Pattern(
    r"(?:Error|Exception|error|fatal|ERROR|failed) ?:|^(?:[\w.]+(?:Error|Exception))$|No module named"
    r"|Traceback \(most|\berror\b \w*\d|\bassert|^Failed to \w|(?i:failed to initialize nvml)|NVIDIA-SMI (?:has "
    r"failed|couldn)"
)
"""A program's own error."""
_TROUBLE = Pattern(
    r"\b(?:errors?|fail(?:s|ed|ing|ure)?|can'?t|can ?not|could ?n[o']t|won'?t|not work\w{0,3}|does ?n[o']t"
    r"|did ?n[o']t|broken?"
    r"|unable|bugs?|issues?|problems?|wrong|killed|aborts?|not (?:found|match)|mismatch)\b",
    re.IGNORECASE,
)
"""A person's word for a failure, in a heading or a first line, where nothing else is said."""
_TEMPLATE = Pattern(
    r"\W{0,8}(?:describe|description|steps|expected|actual|bug report|your issue|checklist|search)\b", re.IGNORECASE
)
_FORM = Pattern(
    r"(?:full )?(?:errors?|traceback|failure) ?(?:messages?|logs?|outputs?)?(?: (?:and|or|/) logs?)?:?", re.IGNORECASE
)
"""A form's own heading."""
_RETOLD = Pattern(
    r"\b(?:(?:get|got|getting|see|seeing|have|having|gives?|throws?|with|this|the|following) (?:me )?"
    r"(?:an?|the|this|following)? ?(?:following )?(?:error|exception|message|warning)s?|it says|which says|saying)\b"
    r" ?[:,]? ?(?P<said>['\"\w(].{15,400})",
    re.IGNORECASE,
)
"""A person's own sentence that retells what the program said."""
_PROSE = Pattern(r"[#>*\s]{0,8}[A-Za-z/'][\w'./()-]{0,40}(?:,? [\w'./()-]{1,40}){4}")
_QUOTED = Pattern(r"\b[A-Z]\w{0,60}(?:Error|Exception): \S.{8,400}")
"""A program's exception within a person's own sentence."""
_WORDS = 24
"""Characters of a program's words that a sentence must hold to be taken for a report of them."""
_ASKS = Pattern(r"\W{0,4}(?:why|is|are|does|do|has|have|where|which|should|any)\b", re.IGNORECASE)
_FOREIGN = Pattern(r"报错|出错|错误|エラー|에러|오류")
"""That there is an error, in languages in which many ask."""
_NO_KERNEL = Pattern(r"no kernel image is available|device kernel image is invalid|invalid device function")

_APART = Pattern(r"(?<=[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef])(?=[A-Za-z_'\"`])")
"""Where a language without blanks meets a program's words, which no expression would see as the start of a word."""
_QUOTED_SENTENCE = Pattern(
    r"[\"“](?P<said>[A-Z][a-z]*(?: [\w,.()'/<>=-]{1,40}){5,60}"
    r"|(?=.{0,300}\b(?:[Ee]rror|[Ff]ailed)\b)\w[^\"“”]{20,900}?)\.?[\"”]\.?"
)
"""A message in quotes, where no traceback shows source."""
_QUOTED_FILE = Pattern(r"[\"“'] ?(?P<said>/\S{1,300}\.so[\w.]{0,20}: .{8,900}?) ?[\"”'][.,]?")
_QUOTE = Pattern(
    r"[\"“„'] ?(?P<said>(?:[a-z][\w.]{0,60}\.)?(?:[A-Z]\w{2,60}(?:Error|Exception)"
    r"|ERROR(?=: (?:Could|No|Cannot|Failed))): .{10,1900}?) ?[\"”“'][.,]?"
)


def _without_quotes(text: str) -> str:
    """A person's whole line in quotes that is a program's error, and no source."""
    found = _QUOTE.fullmatch(text) or _QUOTED_FILE.fullmatch(text)
    return found["said"] if found else text


def _is_heading(text: str, number: int) -> bool:
    """Is it a heading, or a first line in a person's own words, rather than a form's own?"""
    return (number == 0 or text.startswith("#")) and len(text.split()) > 2 and not _TEMPLATE.match(text)


def read(page: Page, draft: Draft) -> None:
    """Fill ``messages`` and ``remarks`` with what is left; must run last."""
    previous = -2
    joined = ""
    raised = ""
    kernel_of, since = "", 0
    beside = Beside(page)
    stopped = ended = False
    mentions: list[str] = []
    trouble = ""
    shown = listing = -2
    last = None
    told_of = heading = ""
    operators: list[str] = []
    files = ProgramFiles()
    known_lines = KnownLines()
    whole: set[str] = set()  # errors below a traceback of their own
    end = max((number for number, line in enumerate(page.lines) if line.strip()), default=-1)
    for number, line in page.left():
        if number == end > 0 and _EXCEPTION.match(line.strip()) and (completed := whole_of(line)):
            draft.message(f"{completed} [{AS_TOLD}{line.strip()}]")
        if number == end > 0:
            line = beside.with_whole_name(line)
        text = as_written(line if line.isascii() else _APART.sub(" ", line))
        if number == 0:  # a heading that begins with the source line of its traceback
            text = _RAISE.sub("", text)
        if refused := _REFUSED.search(text):
            operators.append(refused[0])
            listing, text = number, text[: refused.start()].rstrip()
        elif listing == number - 1 and _REASON.fullmatch(text):
            operators.append(text)
            listing, text = number, ""
        if not text:
            continue
        if not heading and _is_heading(text, number) and "?" not in text and not _OWN_WORDS.match(text):
            heading = text
        raised = raised_in(text, raised)
        files.see(text, draft)
        mentions += [found[0] for found in _MODEL.finditer(text)] if len(mentions) < 20 else []
        if (used := _USED.search(text)) and not _OWN_WORDS.match(text):
            kernel_of, since = used["name"] or used["own"], number
        stopped = stopped or text.startswith("Traceback (most recent call last)")
        if _FRAME.fullmatch(text):
            shown = number if _SHOWN.search(text) else shown
            last = _IN.search(text) or last
            continue
        near = stopped and 0 < number - shown <= _NEAR_END
        ended = ended or (near and bool(_ENDED.fullmatch(text) or (line[0] > " " and known_lines.says(text))))
        text = _without_quotes(text)
        if not stopped and (told := _QUOTED_SENTENCE.fullmatch(text)):
            text = told["said"]
        if shown != number - 1 and _CODE.fullmatch(text):
            continue
        if (own := _OWN_WORDS.match(text)) and (retold := _RETOLD.search(text)):
            draft.message(retold["said"])
        elif own and (quoted := _QUOTED.search(text)):
            draft.message(quoted[0])
        elif own and len(words := known_lines.says(text)) >= _WORDS:
            draft.message(f"{words} [{AS_TOLD}{text}]")
        if (own or _is_heading(text, number)) and _COMPLAINT.search(text):
            draft.remark("complaint", text)
        elif (own or _is_heading(text, number)) and _TROUBLE.search(text) and not _TEMPLATE.match(text):
            if "?" in text:
                draft.remark("question", text)
            else:
                trouble = trouble or text
        text = beside.complete(number, text)
        if _NO_KERNEL.search(text) and (source := _SOURCE_OF.search(text)):
            told_of = source["name"].replace("flash-attention", "flash_attn").replace("-", "_")
            text = f"{text} [raised in {told_of}]"
        elif _NO_KERNEL.search(text) and kernel_of and number - since <= 8:
            text = f"{text} [raised in {kernel_of}]"
        elif stopped and not raised and _EXCEPTION.match(text):
            whole.add(text)
        elif raised and _EXCEPTION.match(text):
            text = f"{text} [raised in {raised}]"
            raised = ""
        if _FOREIGN.search(text):
            draft.remark("complaint", text)
        if slowness.is_complaint(text):
            draft.remark("slowness", text)
        found = pair(text)
        named = found is not None and bool(_KEY.fullmatch(found[0])) and len(found[0].split()) <= 6
        goes_on = not found and not re.match(r"\S*:\d", text) and _SENTENCE.fullmatch(text)
        follows = previous == number - 1 and joined and goes_on and len(joined) < 1_500
        if "'available': " in text:  # a list of what a program can use is no error, whatever reasons it gives
            draft.remark("available", text)
        elif found and not {" ", "/"} & {*found[0]} and is_unknown(found[1]) and not _EXCEPTION.match(text):
            draft.remark(*found)
        elif (
            (_MESSAGE.is_in(text) or known_lines.says(text))
            and not _OWN_WORDS.match(text)
            and not _FORM.fullmatch(text)
        ):
            draft.message(text)
            joined = f"{joined} {text}" if follows else text
            if follows:
                draft.message(joined)
            previous = number
        elif follows:
            joined = f"{joined} {text}"
            draft.message(joined)
            previous = number
        elif found and named and found[1]:
            draft.remark(*found)
    known = bool(draft.said("torch.version")) or "torch" in draft.packages or draft.whole_list
    if draft.said("torch.cuda_available") is False and not known:
        draft.message("torch.cuda.is_available() is False")  # all that is known, so that a rule may speak of it
    alone = not any(_PROGRAM.search(text) for text in draft.messages)
    sees = any(map(_SEES.search, page.lines)) and not any(map(_BLIND.search, page.lines))
    for sentence in _sentences(page):
        for said in in_the_tools_words(sentence, alone=alone):
            if not (sees and said.startswith("torch.cuda.is_available() is False [as told")):
                draft.message(said)
    if trouble and alone:
        draft.remark("complaint", trouble)
    if files.framed:
        draft.remark("program", files.framed)
    if operators:
        draft.remark("attention operators", "; ".join(operators))
    slowness.read_situations(page, draft)
    complaints.read(page, draft)
    if mentions:
        draft.remark("mentions", ", ".join(dict.fromkeys(mentions)))
    if told_of or (kernel_of and len(page.lines) - since <= 8):
        _attribute(draft, told_of or kernel_of)
    if raised and (stopped or any(_HEADED.fullmatch(message) for message in draft.messages)):
        _attribute_title(draft, code_of_last_frame(page.lines), raised, whole)
    if stopped and not ended and not any(_EXCEPTION.search(message) for message in draft.messages):
        if last and end - shown <= _NEAR_END:
            draft.message(f"traceback ends in {last['file']}, {last['function']}")
        if heading:  # which tells the line that the traceback lacks, where anything does
            draft.message(heading)
        draft.message(CUT_TRACEBACK)
    slips.read(draft)
    carried.read(page, draft)
    shown_modules.read(page, draft)
    two_pythons.read(page, draft)
    surroundings.read(page, draft)
    weights.read(page, draft)


def _sentences(page: Page) -> Iterator[str]:
    """What may retell a message: lines that nobody took, sentences that a reader took for its own, and of a person's
    own words all but what is asked."""
    left = {number for number, _ in page.left()}
    for number, line in enumerate(page.lines):
        text = line.strip()
        if (number not in left and not _PROSE.match(text)) or _CODE.fullmatch(text):
            continue
        if "?" in text and (_OWN_WORDS.match(text) or text.startswith("#") or _ASKS.match(text)):
            yield from (part for part in re.split(r"(?<=[.!?]) ", text) if not part.endswith("?"))
        else:
            yield text


def _attribute(draft: Draft, module: str) -> None:
    """A traceback that ends in an extension, cut off before its error, which a heading told: it is the extension's."""
    for text in [text for text in draft.messages if _NO_KERNEL.search(text) and "[raised in" not in text]:
        del draft.messages[text]
        draft.message(f"{text} [raised in {module}]")


_SEES = Pattern(
    r"\bis_available\b(?:\(\))?\W{0,8}(?:(?:is|returns?|returned|gives?|prints?|shows?|also|says) ){0,3}\W{0,4}True\b"
    r"|\bCUDA available\W{1,4}True\b|GPU available: True",
    re.IGNORECASE,
)
"""A person's word, or a program's, that torch does see the GPU: then it is not used for another reason."""
_BLIND = Pattern(r"^\W*False\W*$|is_available.{0,40}\bfalse\b|CUDA available\W{1,4}False|not available", re.IGNORECASE)
_NAMED = Pattern(
    r"\b(?:ImportError|AttributeError|TypeError)\b ?:|cannot import name|has no attribute|got an unexpected"
)
_HEADED = Pattern(r"(?P<error>[A-Za-z_]\w{0,60})\s+Traceback \(most recent call last\):?")


def _attribute_title(draft: Draft, code: str | None, last: str, whole: Collection[str]) -> None:
    """A traceback that is cut off before its error: what a heading told of it, or the class that stands above it, was
    raised by its last frame; not what stands below a ``whole`` traceback."""
    for text in [text for text in draft.messages if "[raised in" not in text and text not in whole]:
        headed, module = _HEADED.fullmatch(text), raised_where_cut(code, text, last)
        if not module:
            continue
        if headed:
            draft.message(f"{headed['error']} [raised in {module}]")
        elif _NAMED.search(text) and len(text) < 400:
            del draft.messages[text]
            draft.message(f"{text} [raised in {module}]")
