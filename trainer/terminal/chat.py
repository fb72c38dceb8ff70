"""`chat MODEL`: try a trained model, its turns as they are written. On a pipe, one answer for each line.

Exit codes: 0 at the end of the input, 1 with a message, 2 not understood, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer.data.fasttokenizer import Tokenizer
from trainer.errors import TrainerError
from trainer.terminal.closing import program, say

TITLE = "Try a model: a folder, an adapter's folder, or a Hub name"


def parser() -> argparse.ArgumentParser:
    """Of the words behind `chat`."""
    made = argparse.ArgumentParser(
        prog=f"{program()} chat", description=TITLE, allow_abbrev=False,
        epilog="In the chat, /new begins anew, and /end or Ctrl-D ends it.",
    )  # fmt: skip
    made.add_argument("model", metavar="MODEL")
    made.add_argument("--prompt", metavar="TEXT", help="answer this, and end")
    made.add_argument("--system", metavar="TEXT", help="a system turn before the others")
    made.add_argument("--max_new_tokens", "--max-new-tokens", type=int, default=256, metavar="N")
    made.add_argument("--temperature", type=float, default=0.0, metavar="N", help="0: the likeliest token always")
    made.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    return made


def run(words: Sequence[str]) -> int:
    """Chat; returns the exit code."""
    given = parser().parse_args(list(words))
    try:
        model, tokenizer = load(given.model, given.device)
        if given.prompt is not None:
            answer(model, tokenizer, opening(given), given.prompt, given)
            return 0
        _talk(model, tokenizer, given)
    except TrainerError as error:
        say(f"error: {error.message}\n       {error.remedy}")
        return 1
    except KeyboardInterrupt:
        say("")
        return 130
    return 0


def load(name: str, device: str) -> tuple[Any, Any]:
    """(model ready to answer, tokenizer). TrainerError says what is not there."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    from trainer.compute.hardware import DTYPES, choose_device, choose_precision
    from trainer.data.located import folder_of
    from trainer.model.build import in_precision

    disable_progress_bar()
    chosen, _ = choose_device(device)
    dtype = DTYPES[choose_precision("auto", chosen).value]
    folder = folder_of(name, None, say).path
    adapter = folder / "adapter_config.json"
    try:
        base = folder
        if adapter.is_file():
            base = _base_of(folder, adapter)
        model = AutoModelForCausalLM.from_pretrained(base, **in_precision(dtype))
        if adapter.is_file():
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, folder)
        own = folder if (folder / "tokenizer.json").is_file() else base
        tokenizer = AutoTokenizer.from_pretrained(own)
    except (OSError, ValueError, KeyError, ImportError) as error:
        first, _, _ = str(error).partition("\n")
        raise TrainerError("bad-model", f"{folder}: {first}", "Give a folder written by save_pretrained.") from None
    return model.to(chosen).eval(), tokenizer


def _base_of(folder: Path, config: Path) -> Path:
    from trainer.data.located import folder_of

    base = json.loads(config.read_text(encoding="utf-8")).get("base_model_name_or_path")
    if not base:
        raise TrainerError(
            "no-model", f"{folder} is an adapter, and does not say of which model",
            "Train it with --merge_lora, or write base_model_name_or_path into its adapter_config.json.",
        )  # fmt: skip
    return folder_of(base, None, say).path


def opening(given: argparse.Namespace) -> list[dict[str, str]]:
    """The turns before the first of the user."""
    return [{"role": "system", "content": given.system}] if given.system else []


def answer(model: Any, tokenizer: Tokenizer, turns: list[dict[str, str]], text: str, given: argparse.Namespace) -> None:
    """Write the answer to `text` as it comes, and add both to `turns`."""
    from transformers import TextStreamer

    if tokenizer.chat_template:
        turns.append({"role": "user", "content": text})
        asked = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    else:
        asked = (tokenizer.bos_token or "") + text
    inputs = tokenizer(asked, return_tensors="pt", add_special_tokens=False).to(model.device)
    inputs.pop("token_type_ids", None)
    sampled = {"do_sample": True, "temperature": given.temperature} if given.temperature > 0 else {"do_sample": False}
    found = model.generate(
        **inputs, max_new_tokens=given.max_new_tokens, pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        streamer=TextStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True),
        **sampled,
    )  # fmt: skip
    said = tokenizer.decode(found[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    if tokenizer.chat_template:
        turns.append({"role": "assistant", "content": said})


def _talk(model: Any, tokenizer: Tokenizer, given: argparse.Namespace) -> None:
    people = sys.stdin.isatty()
    turns = opening(given)
    if people:
        say("/new begins anew, /end or Ctrl-D ends")
    while True:
        if people:
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line or line.strip() == "/end":
            return
        if line.strip() == "/new":
            turns = opening(given)
        elif line.strip():
            if not people:
                turns = opening(given)  # lines of a pipe are questions of their own
            answer(model, tokenizer, turns, line.strip(), given)
