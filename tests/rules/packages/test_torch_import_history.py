"""What torch's releases have and lack, from a pasted error to its remedy."""

from __future__ import annotations

import pytest

from envdoctor.facts.model import Facts
from envdoctor.facts.pasted import read
from envdoctor.locks.target import no_target
from envdoctor.rules.catalog import load_rules
from envdoctor.rules.diagnose import diagnose
from envdoctor.rules.finding import Finding
from envdoctor.rules.packages.changed_calls import changed_calls
from envdoctor.rules.packages.import_mismatch import import_mismatch
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed

MODULE = """Traceback (most recent call last):
  File "/home/ana/restore/run.py", line 7, in <module>
    from torch.nn.attention import SDPBackend, sdpa_kernel
ModuleNotFoundError: No module named 'torch.nn.attention'
"""
IMPORT = """Traceback (most recent call last):
  File "/home/ana/restore/train.py", line 3, in <module>
    from torch.amp import GradScaler, autocast
ImportError: cannot import name 'GradScaler' from 'torch.amp' (/env/lib/python3.9/site-packages/torch/amp/__init__.py)
"""
ATTRIBUTE = """Traceback (most recent call last):
  File "/home/ana/restore/serve.py", line 41, in main
    torch.compiler.set_stance("eager_on_recompile")
AttributeError: module 'torch.compiler' has no attribute 'set_stance'
"""
DYNAMO = "AttributeError: module 'torch' has no attribute '_dynamo'"


def _root(text: str, version: str) -> Finding | None:
    stated = f"\ntorch=={version}\n" if version else ""
    return diagnose(read(text + stated), no_target(), load_rules()).root_cause


@pytest.mark.parametrize(
    ("text", "what", "since", "older"),
    [
        (MODULE, "torch.nn.attention", "2.3.0", "2.1.2"),
        (IMPORT, "torch.amp.GradScaler", "2.3.0", "2.1.0+cu121"),
        (ATTRIBUTE, "torch.compiler.set_stance", "2.6.0", "2.4.1"),
    ],
)
@pytest.mark.parametrize("stated", [True, False])
def test_from_which_release_on(text: str, what: str, since: str, older: str, stated: bool) -> None:
    root = _root(text, older if stated else "")
    assert root is not None
    assert (root.rule, root.subject, root.severity) == ("packages/import-mismatch", "torch", Severity.ERROR)
    assert f"torch has {what} from {since} on" in root.message
    assert root.remedy.commands == (f"uv pip install --torch-backend=auto 'torch>={since}' 'torchvision' 'torchaudio'",)


@pytest.mark.parametrize(("text", "newer"), [(MODULE, "2.5.1+cu124"), (IMPORT, "2.6.0"), (ATTRIBUTE, "2.7.0")])
def test_what_is_listed_has_it(text: str, newer: str) -> None:
    root = _root(text, newer)
    assert root is not None
    assert (root.severity, root.certain) == (Severity.WARNING, False)
    assert "another copy" in root.message
    backend = newer.partition("+")[2] or "auto"
    wanted = f"uv pip install --torch-backend={backend} --reinstall-package torch --no-deps"
    assert root.remedy.commands[-1].startswith(wanted)


def test_a_module_that_nobody_imported() -> None:
    (found,) = findings(import_mismatch, Facts(messages=(DYNAMO,), packages=installed(torch="2.4.0")))
    assert "another copy" not in found.message
    assert "Write import torch._dynamo" in found.remedy.text
    (found,) = findings(import_mismatch, Facts(messages=(DYNAMO,), packages=installed(torch="1.13.1")))
    assert found.expected == "torch>=2.0.0"
    assert "write import torch._dynamo as well" in found.remedy.text


def test_a_private_part_that_others_ask_of_torch() -> None:
    (found,) = findings(import_mismatch, Facts(messages=(DYNAMO,)))
    assert (found.kind, found.expected) == ("package-conflict", "torch>=2.0.0")


def test_a_part_of_a_module_that_is_there() -> None:
    line = "ModuleNotFoundError: No module named 'torch.nn.attention.no_such_part'"
    (found,) = findings(import_mismatch, Facts(messages=(line,), packages=installed(torch="2.5.1")))
    assert "another copy" not in found.message
    assert "2.3.0" not in found.message


def test_an_argument_goes_the_way_of_torch_too() -> None:
    line = "TypeError: scaled_dot_product_attention() got an unexpected keyword argument 'enable_gqa'"
    (found,) = findings(changed_calls, Facts(messages=(line,), packages=installed(torch="2.4.1")))
    assert found.remedy.commands == ("uv pip install --torch-backend=auto 'torch>=2.5.0'",)
