"""What a text tells of a run that found the GPU's memory full: what it trains, how far it came, whose server it is."""

from __future__ import annotations

import re

from envdoctor.knowledge.circumstance import Circumstance
from envdoctor.values.pattern import Pattern

_FULL = Pattern(r"out of memory|OutOfMemory|CUDA_ERROR_OUT_OF_MEMORY", re.IGNORECASE)
_TRAINING = (
    r"\btrain(?:ing|er|s|ed)?\b|\bfine-?tun\w{0,4}\b|\bfinetun|\bepochs?\b|\bLoRA (?:train|adapt)|\.backward\("
    r"|optimizer|\bSFT\b|\bDPO\b|\bGRPO\b|训练|微调|学習|обуч"
)

FROZEN = Circumstance(
    of=_FULL,
    said=Pattern(
        r"\b(?:q?lora|dora)\b|trainable param|requires_grad|\b(?:frozen|freez(?:e|es|ing))\b|\bpeft\b"
        r"|\bonly (?:train|fine-?tun)\w{0,4} (?:the )?(?:last|head|classifier|adapter|decoder|few)",
        re.IGNORECASE,
    ),
    unless=Pattern(
        r"lora_(?:path|weights|scale)|load_lora|LoraLoader|\bLoRAs?:|\btxt2img\b|comfyui|requires_grad_\(\)",
        re.IGNORECASE,
    ),
)
"""Most of the weights are not trained."""

FORWARD_FITS = Circumstance(
    of=_FULL,
    said=Pattern(
        r"\b(?:forward(?: pass(?:es)?)?|inference|infer|predictions?|evaluation|test(?:ing)?)\b.{0,60}"
        r"\b(?:no (?:issues?|problems?|OOM|errors?)|works?|fine|success\w{0,5}|fits|ok|okay)\b"
        r"|\b(?:successfully|can|able to) .{0,20}\b(?:forward pass|infer\w{0,4})|\bno OOM with (?:the )?forward"
        r"|\b(?:in|during|on|at|by|calling|call) (?:the )?(?:\w{1,10}\.)?backward\b|\bloss\.backward\(",
        re.IGNORECASE,
    ),
)
"""The forward pass goes through, the backward pass does not."""

ANSWERING = Circumstance(
    of=_FULL,
    said=Pattern(
        r"\binference\b|\binfer(?:ring)?\b|\bgenerat(?:e|es|ed|ing|ion)\b|\bcomfyui\b|\btxt2img\b|\bimg2img\b"
        r"|\bKSampler\b"
        r"|\bvllm\b|\bsglang\b|\bpipe(?:line)?\(|\bno_grad\b|\bgradio\b|\bwebui\b|推理|生成|推論",
        re.IGNORECASE,
    ),
    unless=Pattern(_TRAINING, re.IGNORECASE),
)
"""Nothing is trained."""

_NO_TRAINER = Pattern(r"\b(?:trl|verl|openrlhf|unsloth)\b|\bGRPO\b|\bPPO\b", re.IGNORECASE)
"""An engine that shares the GPU with a training has other limits than a server's."""
SGLANG = Circumstance(
    of=_FULL,
    said=Pattern(r"\bsglang[/.\\]srt\b|\bsglang\.launch_server\b|--mem-fraction-static\b|\bsglang serve\b"),
    unless=_NO_TRAINER,
)
VLLM = Circumstance(
    of=_FULL,
    said=Pattern(
        r"\bvllm[/\\](?:v1|worker|engine|executor|model_executor|entrypoints)\b|\bvllm serve\b|\bvllm\.entrypoints\b"
        r"|\bvllm/vllm-openai\b"
    ),
    unless=_NO_TRAINER,
)
TENSORRT_LLM = Circumstance(
    of=_FULL, said=Pattern(r"\btensorrt_llm\b|\btrtllm-(?:serve|bench|build)\b"), unless=_NO_TRAINER
)
"""Frames, commands or images of an inference server, which has options of its own for memory."""

ONE_OF_SEVERAL = Circumstance(
    of=_FULL,
    said=Pattern(
        r"(?<!using )(?<!with )(?<!\bon )(?<!\bif )(?<!when )(?<!\buse )"
        r"\b(?:only|just) (?:the |my )?(?:1st|first|one|1|0th)? ?(?:of (?:the|my|\d|two|four|eight) )?"
        r"(?:gpus?|cards?)(?: ?:?0)?\b.{0,30}\b(?:works?|working|used|in use|utili[sz]ed|loaded|trains|runs|full)\b"
        r"|\b(?:other|remain(?:ing)?|rest of the) (?:\w{1,8} )?(?:gpus?|cards?)\b.{0,40}"
        r"(?:\bnot\b|n't|\b(?:empty|idle|unused|nothing)\b|\b0 ?(?:%|MiB))"
        r"|\b(?:all|everything|whole batch|entire batch) .{0,30}\b(?:on|onto|to) (?:the first|one|a single|only one)"
        r" (?:gpu|card)\b",
        re.IGNORECASE,
    ),
    unless=Pattern(r"\bI (?:only )?have (?:only )?(?:one|1|a single) (?:gpu|card)", re.IGNORECASE),
)
"""Of several GPUs one is used."""

FULL_LATER = Circumstance(
    of=_FULL,
    said=Pattern(
        r"\b(?:memory|v?ram)\b.{0,60}\b(?:grow\w*|increas\w+|leak\w*|creep\w*|climb\w*|rising|builds? up)\b"
        r"|\bafter (?:about |around |roughly |only |the )?(?:\d[\d.,k]*|an?|one|two|three|some|a few|several|many"
        r"|first)"
        r" ?(?:\w{1,12} ){0,2}(?:hours?|h\b|epochs?|steps?|iterations?|iters?|images?|batch(?:es)?|minutes?|mins?"
        r"|samples?|frames?|days?)"
        r"|\b(?:hours?|epochs?|minutes?|iterations?|steps?|days?) (?:later|in)\b"
        r"|\b(?:in|at|on) the (?:second|2nd|third) epoch"
        r"|\b(?:halfway|half way|midway|in the middle of|at the end of)\b.{0,20}\b(?:training|epoch|run)"
        r"|\b(?:during|in|at|when|while) (?:the )?(?:validat|evaluat|eval\b|saving)"
        r"|\bfirst epoch .{0,30}(?:fine|works|ok)"
        r"|\bmemory leak|\bleakage\b|\bfor \d+ epochs|\btoo long\b"
        r"|训练(?:到|了|一段|中途|几)|跑了.{0,12}(?:小时|轮|个epoch|步)",
        re.IGNORECASE,
    ),
    unless=Pattern(r"without (?:the )?(?:validat|evaluat)", re.IGNORECASE),
)
"""The run went well for a while."""

SAVING = Circumstance(
    of=_FULL,
    said=Pattern(
        r"\b(?:sav(?:e|es|ing|ed)|checkpoint(?:s|ing)?|state_dict)\b.{0,60}\b(?:oom|out of memory|fail|crash|error)"
        r"|\b(?:oom|out of memory)\b.{0,80}\b(?:sav(?:e|es|ing)|state_dict)\b"
        r"|\b(?:after|once|when|at the end of)\b.{0,40}\b(?:last epoch"
        r"|training (?:is|was|has|had) (?:done|finished|complete|over)|training finish|finished training"
        r"|end of training)|\btraining (?:is|was|had) (?:finished|done|complete)"
        r"|in (?:_?save_model|save_pretrained|safe_save_model\w*|_?save_checkpoint|get_state_dict"
        r"|_?save_to_state_dict|state_dict|undo_layout)\b"
        r"|Failed to clone\(\) tensor with name",
        re.IGNORECASE,
    ),
)
"""It fits until the weights are saved."""

GAUSSIANS = Circumstance(
    of=_FULL,
    said=Pattern(
        r"\bgaussian[- _]?splat|\bsplatfacto\b|\bgsplat\b|diff[-_]gaussian|\b(?:2|3|4)dgs\b|densif(?:y|ication)"
        r"|gaussian_renderer|scene/gaussian_model",
        re.IGNORECASE,
    ),
)
"""A scene of Gaussians is trained, whose number grows."""

WEIGHTS, TRAINED = "weights of the model", "weights that are trained"
"""Remarks of a text: how many there are, and whether "all", "some" or "none" of them are trained."""

CIRCUMSTANCES = (
    SAVING,
    GAUSSIANS,
    FROZEN,
    FORWARD_FITS,
    ANSWERING,
    FULL_LATER,
    SGLANG,
    VLLM,
    TENSORRT_LLM,
    ONE_OF_SEVERAL,
)
