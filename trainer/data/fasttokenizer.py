"""What is asked of a tokenizer: the part of transformers' fast ones that is used here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Protocol


class Tokenizer(Protocol):
    """Its special tokens are None where it has none; a template is a text, or several by name."""

    bos_token: str | None
    eos_token: str | None
    bos_token_id: int | None
    eos_token_id: int | None
    pad_token_id: int | None
    chat_template: str | dict[str, str] | None
    is_fast: bool
    backend_tokenizer: Any

    def __len__(self) -> int: ...

    def __call__(self, text: str | Sequence[str], **options: Any) -> Any: ...

    def decode(self, ids: Sequence[int], **options: Any) -> str: ...

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]: ...

    def apply_chat_template(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Any: ...

    def save_pretrained(self, folder: str | PathLike[str]) -> Any: ...
