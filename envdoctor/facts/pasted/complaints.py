"""A person's complaint without an error line (it stands still, uses one GPU of four, ends without a word), and what
stands beside it."""

from __future__ import annotations

import re

from envdoctor.facts.model import TRIED, TROUBLE
from envdoctor.facts.pasted import sentences, started, trials
from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.facts.pasted.slowness import beginning
from envdoctor.knowledge import tools, wordings
from envdoctor.knowledge.slowness import SPEED, situations_of
from envdoctor.values.pattern import Pattern

_PACKAGES = (
    r"(?:py)?torch(?:vision|audio|metrics|[-_ ]geometric)?|(?:sentence[-_ ])?transformers|diffusers|accelerate|peft|trl"
    r"|(?:pytorch[-_ ])?lightning|PL|numpy|pandas|scipy|pydantic|gradio|jax|jaxlib|flax|optax|tensorflow|keras"
    r"|hugging ?face[-_ ]hub|datasets|tokenizers|xformers|bitsandbytes|vllm|sglang|deepspeed|timm|einops|mmcv|mmdet"
    r"|mmengine|detectron2|scikit-learn|sklearn|opencv|protobuf|setuptools|triton|flash[-_ ]attn|ultralytics|monai"
    r"|omegaconf|hydra|networkx|dgl|spacy|ray|wandb|albumentations|pillow|matplotlib|librosa|numba"
)
"""Whose releases people blame."""
_RELEASE = rf"(?:{_PACKAGES})(?:[ =-]?(?:version |release |v)?\(? ?v?\d[\d.x]{{0,8}})?"
_ENDS = r"(?:exit|close|quit|die|crashe|stop|terminate|end)s?(?:d|ed)?"
_CARDS = r"(?:gpus?|graphics cards?|cards?)"
_ADAPTER = (
    r"(?<![a-z\d_])(?:adapter_model(?:\.\w{2,11})?|adapter (?:files?|weights|checkpoint)"
    r"|(?:saved|lora|trained) (?:adapter|lora|weights)|loras? (?:files?|weights)|lora.{0,3}权重)(?![a-z\d_])"
)
_BYTES = (
    r"(?<![\d.,])(?:\d{1,3} ?(?:bytes?(?![a-z])|字节|바이트|バイト|байт)"
    r"|(?:only|just|只有|仅|僅か) ?(?:about |around )?\d{1,3}(?:\.\d)? ?(?:kb|b|k)(?![a-z]))"
)
"""Less than the smallest adapter has: that of one matrix of a small model has some hundred kilobytes."""

_NUMBERS = r"(?:loss(?:es)?|results?|outputs?|predictions?|values?|gradients?|logits|numbers|accuracy|scores?)"
_OTHER = (
    r"(?:wrong|incorrect|different|differs?|differ|mismatch\w{0,3}|diverges?|not (?:match|agree)|n't (?:match|agree))"
)
_DEVICE = r"['\"`]?\b(?:mps|cuda|gpus?|xpu|rocm)\b"

_OF = {
    "one GPU of several": Pattern(
        rf"(?<!lists )(?<!shows )(?<!finds )(?<!have )(?<!has )(?<!had )(?<!with )(?<!got )(?<!need )(?<!\bI )"
        rf"(?<!we )(?<!I'm )(?<!\bam )(?<!you )(?<!using )\b(?:only|just) "
        rf"(?!(?:have|has|had|got|need|own|requires?)\b)"
        rf"(?:(?!(?:only|when|if|than)\b)[\w-]{{1,12}} ){{0,6}}(?:one|1|single|first) (?:of (?:the|my|\d|two|four"
        rf"|eight) )?(?:\w{{1,12}} )?{_CARDS}\b"
        r"|(?<!have )\b(?:only|just) (?:gpu|cuda)[ :#]?0\b"
        rf"|\b(?:other|remaining|rest of the|second|two|three|seven|all) (?:\w{{1,10}} ){{0,2}}{_CARDS}\b.{{0,20}}"
        r"\b(?:idle|unused|not (?:be(?:ing)? )?used|doing nothing|do(?:es)? nothing|(?:at )?0 ?%)"
        r"|\bthe others? (?:ones? )?(?:are|is|stays?|remains?|sits?) (?:\w{1,12} )?"
        r"(?:idle|unused|not used|doing nothing|at 0)"
        r"|\bdevice_count\b(?:\(\))?.{0,20}(?<![\d.])1\b(?![\d.]).{0,40}"
        r"\b(?:slurm|instead|although|but|even|while|despite|of [2-8])\b"
        rf"|(?:\bnot|n't|\bnever) (?:\w{{1,10}} ){{0,2}}(?:use|using|utili[sz]e) (?:all|both|multiple|more than one"
        rf"|the other|the second|my second|several) (?:\w{{1,10}} ){{0,3}}{_CARDS}\b"
        r"|只(?:能|会)?(?:使用|占用|用|跑|有)(?:到|了|在)?.{0,6}(?:一|1|单|0号?)[张块个]?.{0,4}(?:卡|GPU|显卡)"
        r"|其[他它余]的?.{0,3}卡.{0,14}(?:为|是)? ?(?:0|空闲|没)",
        re.IGNORECASE,
    ),
    "another GPU than meant": Pattern(
        r"\bCUDA_VISIBLE_DEVICES\b.{0,60}(?:no effect|not work|n't work|ignored|not respected|does nothing|useless)"
        r"|\b(?:always|still) (?:\w{1,12} ){0,4}(?:gpu|cuda|device)[ :#_-]?(?:id )?0\b"
        r"|\bwrong (?:gpu|card|graphics card)\b"
        r"|(?:choose|select|specify|specified|want(?:ed)?|set|pass) .{0,40}(?:gpu|cuda"
        r"|device)[ :=_-]{0,2}[0-7]\b.{0,40}"
        r"\b(?:but|still|yet|instead)\b.{0,40}(?:(?:gpu|cuda|device)[ :]?\d|other (?:gpu|card|one))"
        r"|\b(?:can ?not|can't|unable to) use (?:the |my )?(?:second|other|external|e)[ -]?gpu\b"
        r"|\b(?:always|still) (?:picks?|us(?:es|ing)|takes?|selects?|chooses?|runs? on) (?:the |my )?(?:\w{1,10} )?"
        r"(?:10[3-8]0|integrated|igpu|intel|internal|slower|older|weaker)\b"
        r"|指定.{0,8}(?:卡|GPU|显卡).{0,12}(?:无效|没用|还是|不起作用)",
        re.IGNORECASE,
    ),
    "the first GPU's load": Pattern(
        r"\b(?:every|each|all|other|multiple|several|\d|eight|four) (?:python |of the )?(?:process(?:es)?|ranks?"
        r"|workers?)"
        r"\b.{0,60}\b(?:gpu|cuda)[ :#]?0\b"
        r"|\b(?:extra|additional|more) (?:gpu |cuda )?(?:memory|processes)\b.{0,30}\b(?:gpu|cuda)[ :#]?0\b"
        r"|\b(?:unbalanced|imbalanced?|uneven)\b.{0,20}\b(?:gpu|memory|vram)\b"
        r"|\b(?:gpu|cuda)[ :#]?0\b.{0,40}\b(?:more memory|(?:while|and|but) the others?)\b",
        re.IGNORECASE,
    ),
    "a GPU that is seen and not used": Pattern(
        r"\bgpus?\b.{0,20}(?:\bnot|n't|\bnever) (?:be(?:ing)? )?(?:really )?(?:used|utili[sz]ed)\b"
        r"|(?:\bnot|n't|\bnever) (?:use|using) (?:the |my |any )?gpu\b"
        r"|\b(?:arc(?: a\d{3})?|a[357]\d0|radeon|rx ?\d{4}(?: xtx?)?|[rg]tx ?\d{4}) (?:is |was )?not (?:being )?used\b"
        r"|\bbut\b.{0,40}\b(?:runs?|running) on (?:the |my )?cpu\b"
        r"|\b(?:us(?:es?|ing|ed)|on|takes?) (?:the |my |only )?cpu (?:instead|rather|and not)\b"
        r"|\bonly (?:the |my )?cpu (?:is|was|gets?) (?:being )?used|\b(?:my|the) gpus? (?:stays?|is|remains?"
        r"|sits?) idle"
        r"|\b(?:runs?|running|trains?|training) (?:\w{1,12} )?on (?:the |my )?cpu\b.{0,30}(?:instead|although"
        r"|though|even)",
        re.IGNORECASE,
    ),
    "worse results on several GPUs": Pattern(
        r"\b(?:lower|worse|poor(?:er)?|bad|drops?|decreas\w{1,4}|degrad\w{2,6}|reduced?|less) (?:\w{1,14} ){0,3}"
        r"(?:accuracy|m?ap|acc|results?|scores?|metrics?|psnr|m?iou|fid|bleu|convergence)\b.{0,60}"
        r"\b(?:multi(?:ple)?[- ]?gpus?|[2-8] ?gpus?|ddp|distributed|dataparallel)\b"
        r"|\b(?:multi(?:ple)?[- ]?gpus?|[2-8] ?gpus?|ddp|distributed)\b.{0,80}\b(?:lower|worse|poor(?:er)?|drops?"
        r"|degrad)"
        r"\w{0,6}\b.{0,30}(?:accuracy|m?ap|acc|results?|scores?|metrics?|psnr|m?iou|fid|bleu|convergence)\b"
        r"|\b(?:multi(?:ple)?[- ]?gpus?|[2-8] ?gpus?|ddp|distributed)\b.{0,60}\b(?:accuracy|m?ap|acc|results?|scores?"
        r"|metrics?|psnr|m?iou|fid|bleu|performance)\b.{0,30}\b(?:lower|worse|poor(?:er)?|drops?|degrad)"
        r"|\breproduce (?:the |your |these |reported )?(?:\w{1,12} ){0,2}(?:results?|accuracy|performance|numbers"
        r"|scores?)"
        r"|(?:多卡|双卡|分布式).{0,20}(?:精度|准确率|指标|效果).{0,10}(?:低|差|下降|不如)",
        re.IGNORECASE,
    ),
    "a machine that goes down": Pattern(
        r"\b(?:pc|computer|machine|workstation|server|desktop|laptop|windows|system)\b.{0,24}"
        r"\b(?:reboots?|restart(?:s|ed)|shut(?:s|ting)? ?(?:down|off)|power(?:s|ed)? off|turn(?:s|ed)? off"
        r"|black screen)\b(?! (?:the|my|it|and|to|did|does)\b)"
        r"|\b(?:reboots?|restarts?|shuts? down) (?:suddenly|by itself|spontaneously|randomly)"
        r"|\b(?:pc|computer|machine|workstation|laptop|windows|system)\b.{0,10}\bfreez(?:es|e|ing)\b|\bhard reset\b"
        r"|\bgpus?\b.{0,24}\b(?:disappear(?:s|ed)?|is gone|vanish(?:es|ed)|(?:falls?|fell|dropped|drops) off)\b"
        r"|\b(?:bsod|blue ?screen(?: of death)?)\b|电脑.{0,6}(?:重启|关机|黑屏)|掉卡",
        re.IGNORECASE,
    ),
    "a crash without a word": Pattern(
        r"\bexit(?:ed|s|ing)?(?: with)? ?(?:code|status)?:? ?(?:139|-11)\b|\bseg(?:mentation)?[ -]?faults?\b|\bsegfault"
        rf"|\b{_ENDS} .{{0,30}}(?:\bsilently\b|\bwithout (?:any |an |a )?(?:\w{{1,10}} )?(?:error|message|traceback"
        r"|output|warning|log)|with no (?:error|message|traceback|output))"
        rf"|\bsilent(?:ly)? (?:crash|exit|fail|clos|quit|die|stop|terminat)\w{{0,4}}"
        r"|\bno (?:error|traceback|message)s?\b.{0,60}\b(?:returns? to the (?:prompt|shell)|closes|exits)\b"
        r"|\bkernel (?:dies|died|restart(?:s|ed)|crash(?:es|ed)?|keeps dying)\b|(?:闪退|无报错退出|直接退出)",
        re.IGNORECASE,
    ),
    "an empty adapter": Pattern(
        rf"{_ADAPTER}.{{0,50}}(?:{_BYTES}|\b(?:is|are|was|were|comes? out|saved|turns? out) (?:\w{{1,10}} )?empty\b"
        r"|(?:为|是|都是)空|空(?:的|文件)|が空|비어|пуст)"
        rf"|(?:{_BYTES}|\bempty\b|空的?).{{0,24}}{_ADAPTER}",
        re.IGNORECASE,
    ),
    "nodes apart": Pattern(
        r"\beach (?:node|machine)\b.{0,30}\b(?:independent\w{0,2}|separate\w{0,2}|alone|by itself|on its own)\b"
        r"|\bworld_?size\b.{0,40}\b(?:both|each|every|per) (?:nodes?|machines?)\b"
        r"|\b(?:nodes?|machines?) (?:train|run)s? (?:\w{1,10} )?(?:independently|separately|on their own)",
        re.IGNORECASE,
    ),
    "a release that broke it": Pattern(
        rf"\b(?:not|in) ?-?compatib\w{{2,4}} with (?:the )?(?:latest |newest |new(?:er)? |recent "
        rf"|current )?{_RELEASE}\b(?! (?:installation|PyTorch install))"
        rf"|\b(?:{_PACKAGES}) ?v?(?:==)?\d[\d.]{{0,12}} (?:has )?(?:breaks|broke|broken)\b"
        r"|\bfailing with [\w-]{2,30}==\d|\b(?:any ?more|no longer)\b.{0,24} with [\w-]{2,30} v?\d+\.\d"
        rf"|\b(?:broken|breaks?|broke) (?:by|with|after|since) (?:\w{{1,12}} ){{0,3}}"
        rf"(?:updat|upgrad|switch|mov)\w{{1,3}} to {_RELEASE}"
        rf"|\b(?:broken|breaks?|broke|fails?|not work\w{{0,3}}|n't work|crash\w{{0,3}}) "
        rf"(?:\w{{1,12}} )?(?:with|by|on|since|after|under|in) (?:the )?(?:latest|newest|new|newer|recent|{_RELEASE})\b"
        rf"|\b(?:after|since) (?:I |we |the |an? )?(?:upgrad|updat)\w{{1,3}} (?:of |to "
        rf"|from )?(?:the )?(?:latest )?{_RELEASE}\b"
        rf"|\bsince (?:the )?(?:new |latest )?(?:{_PACKAGES}) ?v?\d"
        rf"|\b(?:latest|newest|newer|new|recent)\b (?:versions? of |releases? of )?(?:{_PACKAGES})\b.{{0,80}}"
        r"\b(?:chang|remov|renam|break|broke|not work|deprecat|conflict|incompatib|drop)\w{0,7}\b"
        rf"|\b(?:{_PACKAGES})\b(?: \S{{1,8}})? (?:has |have )?(?:changed|removed|renamed|dropped|moved) (?:the "
        rf"|its )?\w"
        rf"|\b(?:please|should|must|need to) pin (?:the )?(?:version of )?(?:{_PACKAGES})\b"
        rf"|\b(?:requirements?(?:\.txt)?|setup\.py|pyproject\S{{0,5}})\b.{{0,80}}\b(?:{_PACKAGES}) ?>=? ?\d"
        r"|\bchanged the default of|\bpip (?:will )?(?:\w{1,14} )?(?:installs?|takes|pulls"
        r"|picks) .{0,40}(?:automatically|>=)|\bunpinned (?:dependenc|requirement|version)",
        re.IGNORECASE,
    ),
    "stall": Pattern(
        r"\b(?<!\bam )(?<!'m )(?:stuck(?:ed|s|ing)?|hangs?|hung|hanging|deadlock\w{0,4}|freez(?:es|ed)|froze)\b"
        r"(?! support)(?! (?:with|on) this (?:error|issue))"
        r"|\bnothing (?:else )?(?:happens|moves)|\band then nothing\b|\bno (?:response|progress)\b|never (?:starts"
        r"|finishes|ends|returns|stops)"
        r"|(?:just|suddenly) stops\b"
        r"|stops? (?:responding|making progress|without (?:any )?error|with no error)|卡住|卡死|一直不动",
        re.IGNORECASE,
    ),
    "memory": Pattern(
        r"\bram (?:issue|problem|crash\w{0,3}|consumption)|\bram\b.{0,20}\bcrash|\bout of (?:system )?ram\b|\bmax ram\b"
        r"|memory[- ]leak\w{0,3}|leak(?:s|ing)? (?:gpu |cpu )?memory|内存泄[漏露]|显存泄[漏露]"
        r"|\b(?:memory|v?ram)\b.{0,60}"
        r"\b(?:grow(?:s|ing)?|increas(?:es|ing|ed)|climb(?:s|ing)|ris(?:es|ing)|go(?:es|ing) up)\b"
        r"|(?:grow(?:s|ing)|increas(?:es|ing)) (?:\w{1,20} ){0,2}(?:memory|v?ram)\b"
        r"|\bmemory\b.{0,40}\b(?:not|never|\w{2,5}n't)(?: be(?:ing)?)? (?:released?|freed)",
        re.IGNORECASE,
    ),
    "nonsense": Pattern(
        r"\bblack (?:images?|pictures?|squares?|frames?|videos?|outputs?)\b|全黑|黑图|乱码|!{8,}"
        r"|\b(?:images?|outputs?|frames?|videos?|pictures?|results?)\b.{0,40}"
        r"\b(?:black|nois[ey]|garbled|gibberish|garbage|nonsense)\b"
        r"|\brepeat(?:s|ed|ing)?\b.{0,40}"
        r"(?:all the time|itself|over and over|endless|forever|same (?:word|token|sentence|text))"
        r"|\bkeeps repeating|(?:endless|infinite) (?:loop of|repetition)"
        r"|\bgibberish\b|\bgarbage (?:outputs?|text|characters|results?)"
        r"|\bloss(?:es)?\b.{0,30}\b(?:not|\w{2,5}n't|never|hardly|doesnt|stops?) (?:be )?"
        r"(?:decreas|converg|drop|fall|go(?:ing|es)? down|chang|improv)\w{0,4}"
        r"|\bloss(?:es)? (?:stays?|remains?|is stuck|keeps?|stuck)\b|\b(?:not|\w{2,5}n't) converge\b"
        r"|\b(?:wrong|different|incorrect|inconsistent) (?:\w{1,20} )?(?:results?|outputs?|predictions?|values?) "
        r"(?:on|with|between|when|from|in)\b"
        rf"|\b{_NUMBERS}\b.{{0,60}}{_DEVICE}.{{0,40}}\bcpu\b.{{0,40}}\b{_OTHER}\b"
        rf"|\b{_NUMBERS}\b.{{0,40}}\bcpu\b.{{0,40}}{_DEVICE}.{{0,40}}\b{_OTHER}\b"
        rf"|\b{_OTHER}\b.{{0,20}}\b{_NUMBERS}\b.{{0,60}}(?:{_DEVICE}.{{0,40}}\bcpu\b|\bcpu\b.{{0,40}}{_DEVICE})"
        rf"|{_DEVICE}.{{0,40}}\b{_OTHER}\b.{{0,20}}\b{_NUMBERS}\b.{{0,40}}\bcpu\b"
        rf"|\bcpu\b.{{0,30}}\b(?:right|correct|fine)\b.{{0,40}}{_DEVICE}.{{0,30}}\b{_OTHER}\b"
        rf"|{_DEVICE}.{{0,30}}\b{_OTHER}\b.{{0,40}}\bcpu\b.{{0,30}}\b(?:right|correct|fine)\b"
        rf"|\b(?:right|correct|fine)\b.{{0,12}}\bcpu\b.{{0,40}}\b{_OTHER}\b.{{0,12}}{_DEVICE}"
        r"|\b(?:results?|outputs?|predictions?)\b.{0,30}"
        r"\b(?:differ|inconsistent|not (?:stable|consistent|deterministic))\b"
        r"|\b(?:accuracy|predictions?|outputs?|results?)\b.{0,60}\b(?:after|when|once) (?:I |we "
        r"|it is )?(?:re-?)?load(?:ing|ed)?\b"
        r"|\bload(?:ed)? .{0,60}\bevaluat\w{1,3} .{0,30}\bonly\b"
        r"|\boutputs?\b.{0,20}\b(?:all )?(?:zeros?|0s)\b|\bdifferent (?:images?|pictures?|outputs?) .{0,20}same seed"
        r"|\bresults? changes?\b|got different results"
        r"|\bdifferent (?:\w{1,20} )?(?:results?|outputs?) (?:every|each|at)\b"
        r"|结果.{0,12}(?:不一致|不同|差异)|\bnan\b.{0,20}(?:loss|output|after)"
        r"|(?:loss|outputs?|gradients?|caus\w{2,3}|becomes?|gets?) (?:\w{1,12} ){0,2}nan\b",
        re.IGNORECASE,
    ),
}
"""A person's own words for each."""
_SAID = Pattern(
    r"Warning|avoid deadlock|may hang|might hang|can (?:hang|deadlock)|\bW\d{4}|^File |\d{4}-\d\d-\d\d|watchdog"
    r"|DataLoader running slow|potential slowness|^ALSA lib |CalledProcessError|ChildFailedError"
    r"|^\[(?!(?:bug|issue|question|help|usage|performance)\b)",
    re.IGNORECASE,
)
"""A program's line, which tells of itself."""
_DIRECTIVE = Pattern(r"^\s*#(?:SBATCH|PBS|BSUB|\$)\s")
"""What a job's script asks a scheduler for."""


_TRIED = Pattern(
    r"\b(?:I|we|I've|already|have|tried|by|after|even|also|still|then|so) (?:\w{1,12} ){0,3}(?:re-?)?(?:tried"
    r"|trying|install\w{2,3}"
    r"|boot(?:ed|ing)|start(?:ed|ing)|set(?:ting)?|export\w{2,3}|add(?:ed|ing)|upgrad\w{2,3}|updat\w{2,3}"
    r"|downgrad\w{2,3}|enabl\w{2,3}|switched|built|r[au]n)\b"
    r"|\b(?:tried|re-?boot(?:ed|ing)?|did ?n[o']t help|does ?n[o']t help|no luck|with (?:that|this|the) "
    r"(?:flag|option|variable|setting|fallback))\b|试过|已经(?:安装|设置|重启)|重启(?:了|后|过)",
    re.IGNORECASE,
)
"""A person's word of what was done already."""
_KEPT = 6
_COMPARES = Pattern(
    r"\b(?:compared|than|vs|versus|slower|faster|speed)\b|\bgpu (?:type|model|kind|hours?|name)\b"
    r"|\b(?:did|do|have|could) you\b.{0,80}\?|\bis (?:it|the|there|this)\b.{0,80}\?",
    re.IGNORECASE,
)
"""One GPU that is compared or asked about, and no complaint."""


def read(page: Page, draft: Draft) -> None:
    """What the report complains of, what it tells beside it, and what was done already."""
    told = beginning(page)
    lines = [line.strip() for line in told.split("\n") if not (_DIRECTIVE.match(line) or sentences.is_command(line))]
    tried = [text[:300] for text in lines if len(text) < 600 and _TRIED.search(text) and not _SAID.search(text)]
    if tried and draft.messages:
        draft.remark(TRIED, "; ".join(map(trials.without_arguments, tried[:_KEPT])))
    if named := "; ".join(tools.tools_in(told)):
        draft.remark(tools.TOLD, named)
    trials.read(page, draft)
    told = "\n".join((told, trials.outcome_lines(draft), *started.lines(page)))
    for complaint, words in _OF.items():
        said = next((text for text in lines if len(text) < 600 and words.search(text) and not _SAID.search(text)), None)
        if said is not None and not (complaint == "one GPU of several" and _COMPARES.search(said)):
            _note(draft, complaint, said, told)
    if not any(draft.remarks.get(f"{complaint} with") for complaint in _OF) and not draft.remarks.get("slow with"):
        _read_sentences(draft, [line for line in lines if not _SAID.search(line)], told)


def _note(draft: Draft, complaint: str, said: str, told: str) -> None:
    of, beside = (f"complaint of {complaint}", f"{complaint} with") if complaint != SPEED else ("slowness", "slow with")
    draft.remark(of, said)
    draft.remark(beside, "; ".join(situations_of(complaint, told)))


def _read_sentences(draft: Draft, lines: list[str], told: str) -> None:
    """What the first of a person's sentences says that complains in none of the words above; else a heading that tells
    of a trouble, whichever it is."""
    for sentence in sentences.own(lines):
        if complaint := wordings.complaint_in(sentence):
            _note(draft, complaint, sentence, told)
            return
    if heading := next(filter(wordings.tells_of_trouble, sentences.headings(lines)), None):
        draft.remark(TROUBLE, heading)
