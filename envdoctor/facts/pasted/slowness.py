"""A person's complaint that a run is slow, and what stands beside it that makes such runs slow."""

from __future__ import annotations

import re

from envdoctor.facts.pasted.draft import Draft
from envdoctor.facts.pasted.page import Page
from envdoctor.facts.pasted.sentences import is_command
from envdoctor.knowledge.slowness import SPEED, situations_of
from envdoctor.values.pattern import Pattern

_SLOW = Pattern(
    r"\b(?:(?:very|too|so|really|extremely|much|is|gets?|became|way|super|quite|pretty|incredibly|terribly|painfully"
    r"|(?!relatively|possibly|probably|only)[a-z]{4,18}ly|crazy|way too"
    r"|\d+(?:x| times)|train(?:ing)?|inference|speed) slow(?:er)?\b|slow(?:er)? (?:training|inference|speed|than|down)"
    r"|slow(?:s|ed|ing) down\b|slowdowns?\b"
    r"|(?<![\d.])[1-9]\d{2,4}(?:\.\d+)? ?(?:s|sec|seconds) ?(?:/|per) ?(?:it|step)\b"
    r"|tak(?:es?|ing) (?:too|so|very|really|extremely) (?:long|much time)|more time when"
    r"|(?:about|at) the same speed"
    r"|(?:horrible|bad|poor|terrible|awful|abysmal) (?:\w{1,20} )?(?:speeds?|performance|throughput)"
    r"|(?:inference|training|generation) (?:speed|time) (?:problem|issue)s?|underperform\w{0,3}|low fps"
    r"|(?:in|a) longer time|longer time (?:for|than|when|with)"
    r"|(?:time|speed) (?:did|does|is)(?: ?n[o']t| not) (?:reduc|improv|decreas|scal)\w{1,3}|no speed-?up"
    r"|(?:loads?|runs?|trains?|generates?|starts?) (?:very |so |too |really )?slow(?:ly)?"
    r"|(?:half|third) (?:of )?the (?:speed|throughput)|(?:speed|throughput) (?:dropp?ed|drops|halved|decreas)"
    r"|only (?:about |around )?\d{1,2}(?:\.\d)? ?(?:fps|it/s|tokens?/s)"
    r"|(?:utili[sz]ation|usage|gpu-?util)\b.{0,30}\b(?:extremely low|unstable|fluctuat\w{0,4}|is (?:only )?\d ?%|is 0)"
    r"|low (?:gpu |accelerator )?(?:utili[sz]ation|usage|perf\w{0,10})|gpus?\b.{0,30}(?:not|n't|never) be fully (?:used"
    r"|utili[sz]ed|loaded)"
    r"|(?:utili[sz]ation|usage|speeds?) (?:is|are|was|were) (?:very |quite |so |too )?(?:low|not)"
    r"|freez(?:es|ing|e)\b(?! support))"
    r"|\b(?:very|so|too|really|extremely)[, ]{1,2}(?:very|so|too|really|extremely) slow"
    r"|\bslow\b.{0,30}\bon (?:an? |my )?[RG]TX"
    r"|\btak(?:es?|ing) (?:about |around |over |more than |up to |almost |like |me )?"
    r"\d{1,3} ?(?:min(?:ute)?s?|hours?|h)\b"
    r".{0,30}\b(?:image|picture|photo|frame|video|step|prompt|token|sentence|sample|iteration)s?\b"
    r"|\b(?:muy|tan|demasiado|bastante|más|molto|troppo|muito|va|es) lent[ao]s?\b"
    r"|\b(?:très|trop|si|plus|est) lente?s?\b"
    r"|\b(?:sehr|zu|so|extrem|ziemlich|ist|viel) langsam(?:er)?\b|медленн|тормозит"
    r"|遅い|遅く|遅すぎ|느려|느립|느린|너무 오래"
    r"|\bçok yavaş|(?:推理|生成|速度|运行|训练|加载).{0,6}慢|巨慢|特别慢|慢得"
    r"|太久|好久|(?:要|花了?|需要).{0,6}(?:分钟|小时)"
    r"|变慢|很慢|太慢|速度慢|好慢|慢很多|非常慢|(?:占用|利用率|[Uu]til).{0,10}(?:低|不高|上不去)",
    re.IGNORECASE,
)
"""A person's own word for a run that is slow or stands still."""
_SAID = Pattern(
    r"Warning|pure-Python parsing|DataLoader running slow|potential slowness|[A-Za-z](?:Error|Exception)\b ?:"
)
"""A program's word."""
_STEP = Pattern(
    r"\bdata(?:[_ ]time)?\b[:= ]{1,3}(?P<data>\d{1,5}\.\d{1,6}) ?s?\b(?: ?\([\d.]{1,12}s?\))?.{0,12}?"
    r"\b(?:net|compute|forward|model|gpu)(?:[_ ]time)?\b[:= ]{1,3}(?P<rest>\d{1,5}\.\d{1,6})"
    r"|\b(?:batch_?|iter_?|step_?)?time\b[:= ]{1,3}(?P<time>\d{1,5}\.\d{1,6}) ?s?\b"
    r"(?: ?\((?P<mean>\d{1,5}\.\d{1,6})s?\))?.{0,12}?"
    r"\bdata(?:[_ ]?time)?\b[:= ]{1,3}(?P<of_it>\d{1,5}\.\d{1,6})(?: ?s?\b ?\((?P<mean_of_it>\d{1,5}\.\d{1,6})s?\))?"
    r"|\bdata[_ ]time\b[:= ]{1,3}(?P<before>\d{1,5}\.\d{1,6}) ?s?\b(?: ?\([\d.]{1,12}s?\))?.{0,12}?"
    r"(?<!_)\b(?:batch_|iter_|step_)?time\b[:= ]{1,3}(?P<whole>\d{1,5}\.\d{1,6})",
    re.IGNORECASE,
)
"""A step's time for its data beside that for its computing, or beside its whole time, as training loops print them."""
_WAITS = 0.4
"""Share of a step from which on its data are what holds it up; our choice."""
_LASTS = Pattern(
    r"(?i)\b(?:tak(?:es?|ing)|lasts?|needs?|wait\w{0,3}) (?:\w{1,8} ){0,2}(?:forever|ages|too long|so long|hours)\b"
)
"""A person's word for a run that stands still, or is slow: which of both the log tells."""
_LONG = 20_000
"""Characters of a report in which a person still tells of the run; a log comes after them."""


_LOG = Pattern(r"\W?(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S{0,12}:? [IWEF]\d{0,4} |[IWEF]\d{4} \d\d:\d\d)")
"""A program's own line, which a person only shows."""


def is_complaint(text: str) -> bool:
    if _LOG.match(text):
        return False
    told = len(text) < 600 and _SAID.search(text) is None and _SLOW.search(text) is not None
    return told and not is_command(text)


def beginning(page: Page) -> str:
    """What a person tells of the run, and what its own log tells of its steps."""
    told = _first_part(page)
    waits = _wait_for_data(told)
    return f"{told}\n{waits}" if waits else told


def _first_part(page: Page) -> str:
    return "\n".join(page.lines)[:_LONG]


def _wait_for_data(told: str) -> str:
    """The last step's time for its data, where that is a large share of it."""
    steps = list(_STEP.finditer(told))
    if not steps:
        return ""
    last = steps[-1]
    data = float(last["data"] or last["of_it"] or last["before"])
    whole = data + float(last["rest"]) if last["rest"] else float(last["time"] or last["whole"])
    if last["mean"] and last["mean_of_it"]:  # over all steps: the loaders' stock hides the wait of most of them
        data, whole = float(last["mean_of_it"]), float(last["mean"])
    if not 0 < data <= whole * 1.01 or data < _WAITS * whole:
        return ""
    return f"the log shows {data:.3g} s of a step's {whole:.3g} s spent on data"


def read_situations(page: Page, draft: Draft) -> None:
    """What the report tells of, where it complains of speed."""
    if "slowness" not in draft.remarks:
        lasting = next((text for text in page.lines if len(text) < 600 and _LASTS.search(text)), None)
        if lasting is not None and _wait_for_data(_first_part(page)):
            draft.remark("slowness", lasting.strip())
    if "slowness" in draft.remarks and (told := situations_of(SPEED, beginning(page))):
        draft.remark("slow with", "; ".join(told))
