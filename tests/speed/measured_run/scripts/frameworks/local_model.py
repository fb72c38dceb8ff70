"""A small Llama and a word tokenizer made on the spot, and chats to train on: no file is fetched from anywhere."""
# mypy: ignore-errors

from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

WORDS = "what is the sum of one two three four five six seven eight nine ten it makes".split()
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|> {{ m.content }} <eos> {% endfor %}"


def tokenizer() -> Any:
    names = ["<pad>", "<unk>", "<eos>", "<|user|>", "<|assistant|>", *WORDS]
    words = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>")
    made.chat_template = TEMPLATE
    return made


def model() -> Any:
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128, "vocab_size": 32}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4}
    ends = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 2}
    return AutoModelForCausalLM.from_config(AutoConfig.for_model("llama", **sizes, **heads, **ends))


def chats(count: int) -> list[dict[str, Any]]:
    rows = []
    for number in range(count):
        question = " ".join(["what", "is", "the", "sum", "of", *WORDS[5 : 7 + number % 8]])
        messages = [{"role": "user", "content": question}, {"role": "assistant", "content": "it makes ten " * 4}]
        rows.append({"messages": messages})
    return rows
