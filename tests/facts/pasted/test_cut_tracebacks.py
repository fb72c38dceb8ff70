"""Whose code an error is, of which a heading tells, where the traceback below it is cut off."""

from __future__ import annotations

import pytest

from envdoctor.facts.pasted import read

FRAME = '  File "/opt/e/lib/python3.10/site-packages/shelf/vads/x.py", line 7, in <module>\n'
ERROR = "module 'torchaudio' has no attribute 'AudioMetaData'"


@pytest.mark.parametrize(
    ("error", "rest", "whose"),
    [
        (ERROR, "    x = torchaudio.AudioMetaData()\n", "shelf"),
        (ERROR, "    import torchaudio\n", "shelf"),
        (ERROR, "    from shelf.audio import Model\n", ""),  # its own part, of which the frames are cut
        (ERROR, "    from pyannote.audio import Model\n", "pyannote"),  # whose own frames are cut
        (ERROR, "", ""),
        (ERROR, "```\n", ""),
        ("ImportError: cannot import name 'quux' from 'peft.utils'", "    from peft.utils import quux\n", "shelf"),
        ("ImportError: cannot import name 'quux' from 'peft.utils'", "    import diffusers\n", "diffusers"),
    ],
)
def test_of_the_last_frame_or_of_what_it_imports(error: str, rest: str, whose: str) -> None:
    facts = read(f"# {error}\nTraceback (most recent call last):\n{FRAME}{rest}")
    told = {whom for each in facts.messages if error in each for whom in each.split(" [raised in ")[1:]}
    assert told == ({f"{whose}]"} if whose else set())


def test_a_last_line_that_lost_the_name_of_its_error_is_an_end_all_the_same() -> None:
    said = "data did not match any variant of untagged enum PyPreTokenizerTypeWrapper at line 960 column 3"
    facts = read(f"Traceback (most recent call last):\n{FRAME}    x = Tokenizer.from_file(path)\n{said}\n")
    assert said in facts.messages
    assert not any("its last line is not in the report" in message for message in facts.messages)


def test_a_warning_in_a_persons_sentence_is_what_the_program_said() -> None:
    said = (
        "My PC has a 3060. When I use it it gives me the error:  UserWarning: FP16 is not supported on CPU; using FP32"
    )
    facts = read(f"{said} instead\n")
    assert any("FP16 is not supported on CPU" in line for line in facts.messages)


def test_a_line_that_is_commented_out_sets_nothing() -> None:
    facts = read("export NCCL_DEBUG=INFO\n#export NCCL_SHM_DISABLE=1\n#NCCL_P2P_DISABLE=1\n# NCCL_IB_DISABLE=1\n")
    assert facts.variables == {"NCCL_DEBUG": "INFO", "NCCL_IB_DISABLE": "1"}  # "# " may be root's prompt
