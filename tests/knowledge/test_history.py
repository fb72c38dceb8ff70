"""When names came and went: the table itself, and each question asked of it."""

from __future__ import annotations

import re

import pytest

from envdoctor.knowledge import history, versions

BOOKS = history.packages()
_BOUNDS = re.compile(r"(?P<added>[\d.]*)\.\.(?P<removed>[\d.]*)")


@pytest.mark.parametrize("package", BOOKS)
def test_every_line_of_a_library(package: str) -> None:
    head, *lines = (history._FOLDER / f"{package}.txt").read_text("utf-8").splitlines()
    mark, name, *read = head.split()
    assert (mark, name) == ("=", package)
    assert read == sorted(read, key=lambda each: versions.parse(each) or versions.Version("0"))
    for line in lines:
        if line.startswith(("n ", "c ", "a ")):
            assert re.fullmatch(r"[nca] [\w.]+(?: \w+)*", line), line
            continue
        bounds = line[1:].split()[0] if line.startswith(" ") else line.split()[1]
        assert line.startswith((" ", "m ")), line
        found = _BOUNDS.fullmatch(bounds)
        assert found is not None, line
        assert found["added"] or found["removed"] or line.startswith(" .. "), line
        assert found["added"] in {"", *read}, line
        assert found["removed"] in {"", *read, *(f"{each.rpartition('.')[0]}.0" for each in read)}, line
        if found["added"] and found["removed"]:
            assert versions.below(found["added"], found["removed"]), line


def test_a_name_that_went_with_what_went_before() -> None:
    span = history.of_name("pytorch_lightning.utilities.seed", "seed_everything")
    assert span is not None
    assert (span.package, span.added, span.removed) == ("pytorch-lightning", "", "2.0.0")
    assert span.requirement == "pytorch-lightning<2.0.0"
    assert span.source == "sources of pytorch-lightning 1.9.5, 2.0.0"


def test_a_module_of_which_a_name_is_asked() -> None:
    for asked in (
        history.of_module("pytorch_lightning.metrics.functional"),
        history.of_name("pytorch_lightning", "metrics"),
    ):
        assert asked is not None
        assert (asked.added, asked.removed) == ("0.8.0", "1.5.0")
        assert asked.requirement == "pytorch-lightning>=0.8.0,<1.5.0"


def test_a_module_that_a_patch_release_brought() -> None:
    span = history.of_module("timm.models.layers.patch_embed")
    assert span is not None
    assert span.requirement == "timm>=0.4.9,<0.9.0"
    assert span.source == "sources of timm 0.4.5, 0.4.9, 0.6.13, 0.9.0"


def test_a_name_that_a_yanked_release_brought() -> None:
    for module, release in (("transformers.loss", "4.46.0"), ("torchvision.transforms.v2", "0.15.0")):
        span = history.of_module(module)
        assert span is not None
        assert span.added == release


def test_a_name_that_a_lazy_module_still_has_is_not_gone() -> None:
    assert history.of_name("librosa.util", "valid_audio") is None
    span = history.of_name("pytorch_lightning.plugins", "PrecisionPlugin")
    assert span is not None
    assert (span.added, span.removed) == ("1.2.0", "")


def test_the_other_name_of_a_library() -> None:
    assert history.of_module("lightning.pytorch.cli") == history.of_module("pytorch_lightning.cli")


def test_members_and_arguments() -> None:
    (member,) = [span for span in history.of_member("Trainer", "num_devices") if span.package == "pytorch-lightning"]
    assert (member.added, member.removed) == ("1.6.0", "")
    spans = history.of_argument("Trainer.__init__", "gpus")
    assert [span.removed for span in spans if span.package == "pytorch-lightning"] == ["2.0.0"]


def test_what_never_changed_or_is_not_known() -> None:
    assert history.of_name("pytorch_lightning", "Trainer") is None
    assert history.of_name("no_such_library.part", "Thing") is None
    assert history.of_name("../../etc", "passwd") is None
    assert list(history.of_member("NoSuchClass", "thing")) == []


def test_a_name_of_thousands_of_parts_is_looked_up_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part was a search through the whole file: two thousand letters took three seconds."""
    asked: list[str] = []
    monkeypatch.setattr(history._Book, "module", lambda _, name: asked.append(name))
    assert history.of_module("transformers" + ".a" * 5_000) is None
    assert 0 < len(asked) <= 16


@pytest.mark.parametrize("package", history.packages())
def test_no_module_came_twice(package: str) -> None:
    book = history._book(package)
    assert book is not None
    named = [name for line in book.text.split("\n") if line.startswith("m ") for name in line.split()[2:]]
    assert len(named) == len(set(named))
    assert max((name.count(".") for name in named), default=0) < 16


def test_a_function_outlives_the_module_of_its_name() -> None:
    assert history.of_name("scipy.optimize", "nnls") is None
    assert history.of_module("scipy.optimize.nnls") is not None
    span = history.of_name("scipy.integrate", "quadrature")
    assert span is not None
    assert span.removed == "1.15.0"


@pytest.mark.parametrize(
    ("module", "name", "removed", "home"),
    [
        ("scipy.signal", "kaiser", "1.13.0", "scipy.signal.windows.kaiser"),
        ("scipy.signal", "hanning", "1.9.0", "scipy.signal.windows.hann"),
        ("scipy.integrate", "simps", "1.14.0", "scipy.integrate.simpson"),
        ("scipy", "interp", "1.12.0", "numpy.interp"),
        ("scipy.linalg", "pinv2", "1.9.0", "scipy.linalg.pinv"),
    ],
)
def test_names_that_a_module_made_while_it_ran(module: str, name: str, removed: str, home: str) -> None:
    span = history.of_name(module, name)
    assert span is not None
    assert (span.removed, span.moved_to) == (removed, home)


@pytest.mark.parametrize("module", ["scipy", "scipy.linalg", "scipy.signal"])
def test_of_a_module_that_made_names_while_it_ran_not_all_are_told(module: str) -> None:
    assert history.reads(module) == ()
