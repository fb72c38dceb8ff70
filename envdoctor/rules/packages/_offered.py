"""The releases that pip says an index offers for this Python and system, where the one that was asked for is not."""

from packaging.version import Version

from envdoctor.knowledge.questions import normal, release_of
from envdoctor.rules.rule import Facts, Match, Pattern, messages, versions
from envdoctor.values.frozen import frozen

_OFFERED = Pattern(
    r"(?:Could not find a version that satisfies the requirement|No matching distribution found for) "
    r"(?P<name>[A-Za-z][\w.-]{0,80}?)(?:\[[\w, -]{1,80}\])? ?={2,3} ?(?P<wanted>\d[\w.!+-]{0,40})(?=[ (;,]|$).{0,300}?"
    r"\(from versions?: (?P<offered>(?!none)[^)]{1,4000})(?P<end>\)?)",
)
_OFFERED_TO_A_RANGE = Pattern(
    r"Could not find a version that satisfies the requirement (?P<name>[A-Za-z][\w.-]{0,80}?)(?:\[[\w, -]{1,80}\])?"
    r"(?P<asked> ?(?:(?:[<>!=~]{1,2}[\w.*]{1,30},){0,4}<=?(?P<end_of_range>\d[\w.]{0,30})"
    r"(?:,[<>!=~]{1,2}[\w.*]{1,30}){0,4}|~=(?P<compatible>\d{1,4}(?:\.\d{1,4}){1,3})(?![\w.*,])))"
    r".{0,300}?\(from versions?: (?P<offered>(?!none)[^)]{1,4000})\)",
)
_WHEELS_ONLY = frozenset({"torch", "torchvision", "torchaudio", "triton"})
_SHELL = "pytorch"  # by that name an index has a shell, which says so when it is built: packages/known-errors
_NVIDIA = Pattern(r"nvidia-[a-z-]{3,24}-cu1[1-3]")  # of which packages/known-errors knows more


@frozen
class OnOffer:
    """``asked``: the release that is not there; ``releases``: those that are, oldest first; ``whole``: none are cut
    off."""

    name: str
    wanted: str
    asked: Version
    releases: list[Version]
    whole: bool
    said: str

    @property
    def kin(self) -> list[Version]:
        """The same number with a further part."""
        return [one for one in self.releases if str(one).startswith(f"{self.asked}.")]

    @property
    def older(self) -> list[Version]:
        return [one for one in self.releases if one < self.asked]

    @property
    def newer(self) -> list[Version]:
        return [one for one in self.releases if one > self.asked]

    @property
    def first_python(self) -> str:
        """The oldest Python that the release of torch has wheels for; "" where that is not known."""
        release = release_of(self.wanted.rstrip(".-")) if self.name == "torch" else None
        return release.python[0] if release else ""

    @property
    def nearest(self) -> Version:
        older, newer = self.older[-1], next((one for one in self.newer if not one.is_prerelease), self.newer[0])
        return older if older.release == self.asked.release else newer

    @property
    def is_of_wheels_alone(self) -> bool:
        return self.name in _WHEELS_ONLY


def in_place_of_one(facts: Facts) -> OnOffer | None:
    found = messages.in_report(facts, _OFFERED)
    if found is None:
        return None
    name, wanted = normal(found["name"]), found["wanted"].rstrip(".-")
    offered, asked = _releases(found, without_shells=name in _WHEELS_ONLY), versions.parse(wanted)
    if asked is None or not offered or asked in offered or "+" in wanted or _NVIDIA.fullmatch(name) or name == _SHELL:
        return None
    said, whole = messages.own_words(found.string)[:500], bool(found["end"])
    return OnOffer(name=name, wanted=found["wanted"], asked=asked, releases=offered, whole=whole, said=said)


def in_place_of_a_range(facts: Facts) -> OnOffer | None:
    """A range of which no release is offered, and later ones are: what is in it was made for older Pythons."""
    found = None if messages.in_report(facts, _OFFERED) else messages.in_report(facts, _OFFERED_TO_A_RANGE)
    if found is None:
        return None
    name, end = normal(found["name"]), versions.parse(found["end_of_range"] or _end_of(found["compatible"]))
    offered = _releases(found, without_shells=name in _WHEELS_ONLY)
    asked = versions.specifiers(found["asked"].strip())
    if end is None or asked is None or not any(one >= end for one in offered) or any(asked.filter(offered)):
        return None
    said = messages.own_words(found.string)[:500]
    return OnOffer(name=name, wanted=f"{name}{found['asked']}", asked=end, releases=offered, whole=True, said=said)


def _end_of(compatible: str) -> str:
    """Where "~=2.1.0" ends: at 2.2."""
    *whole, last = map(int, compatible.split(".")[:-1])
    return ".".join(map(str, (*whole, last + 1)))


def _releases(found: Match[str], *, without_shells: bool) -> list[Version]:
    listed = sorted(one for text in found["offered"].split(",") if (one := versions.parse(text.strip())))
    return [one for one in listed if one.release > (0, 1, 2)] if without_shells else listed
