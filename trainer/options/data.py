"""Options that say what is trained, on what, and how its rows are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from trainer.options.option import option

PAIRS, SHARDS, CHATS = ("gritlm",), ("pretrain", "prepare"), ("sft", "gritlm", "rft")
STREAMED = ("sft", "pretrain")


@dataclass(frozen=True)
class SourceOptions:
    """model and data"""

    workload: Optional[str] = option(None, "a bundled fixed workload (model, data and shapes), see --help", rare=True)
    model: Optional[str] = option(
        None, "folder or Hub name of the model to start from (safetensors only)", result=False
    )
    revision: Optional[str] = option(
        None, "branch, tag or commit of a model on the Hub; the report names the commit", rare=True, result=False
    )
    model_config: Optional[str] = option(
        None, "JSON file of a model configuration, trained from random weights", result=False
    )
    tokenizer: Optional[str] = option(
        None, "folder with tokenizer.json, or Hub name; default: the model's", rare=True, result=False
    )
    data: tuple[str, ...] = option(
        (),
        "files (JSON, JSON lines, CSV, parquet, Arrow; .gz too), folders, patterns, or data sets of the Hub as "
        "NAME[:CONFIGURATION][@SPLIT[[:ROWS]]]",
        result=False,
    )
    data_weights: tuple[str, ...] = option(
        (), "for each of --data, how often an epoch passes over it: 1, 0.5, 2 ...", tasks=("sft",)
    )
    streaming: bool = option(
        False, "read and tokenise the data while training on it, max_steps long: for what is too large to keep",
        tasks=STREAMED,
    )  # fmt: skip
    shuffle_buffer: int = option(
        4096, "examples of streamed data that are shuffled and packed together", least=1, tasks=STREAMED, rare=True
    )
    data_revision: Optional[str] = option(
        None, "branch, tag or commit of data sets on the Hub; the report names the commit", rare=True, result=False
    )
    output: str = option(
        "", "run folder: metrics, checkpoints and the trained model", result=False, shown="a new runs/TASK-DATE-N"
    )
    cache: Optional[str] = option(
        None, "folder of tokenised data, shared by runs; default: the user's cache folder", rare=True, result=False
    )
    resume: str = option(
        "auto", "auto continues from the newest whole checkpoint in the run folder", ("auto", "never"), result=False
    )
    save_model: bool = option(
        True, "write the trained model at the end (a measured run does not)", rare=True, result=False
    )


@dataclass(frozen=True)
class RowOptions:
    """what a row looks like"""

    data_format: str = option(
        "auto", "of the rows; auto goes by their columns, and says what it found",
        ("auto", "messages", "sharegpt", "alpaca", "prompt", "question", "text"), tasks=CHATS,
    )  # fmt: skip

    prompt_field: str = option("prompt", "column with the prompt (not trained)", tasks=CHATS, rare=True)
    completion_field: str = option("completion", "column with the answer (trained)", tasks=CHATS, rare=True)
    messages_field: str = option(
        "messages", "column with a list of {role, content}; only assistant turns are trained", tasks=CHATS, rare=True
    )
    chat_template: Optional[str] = option(
        None,
        "file with a chat template, or chatml or plain, instead of the tokenizer's own",
        tasks=CHATS,
        rare=True,
        result=False,
    )
    over_long: str = option(
        "error", "an example longer than tokens_per_row: stop, or leave it out (nothing is ever cut)",
        ("error", "skip"), tasks=CHATS,
    )  # fmt: skip


@dataclass(frozen=True)
class PairOptions:
    """query/passage pairs"""

    query_field: str = option("query", "column with a text or an [instruction, text] pair", tasks=PAIRS)
    positives_field: str = option(
        "positives", "column with the passages that answer: texts or [instruction, text]", tasks=PAIRS
    )
    negatives_field: str = option("negatives", "column with passages that nearly do; it may be absent", tasks=PAIRS)
    instruction_format: str = option(
        "<|user|>\n{}\n", "GritLM's form of an instruction, put before the embed mark", tasks=PAIRS, rare=True
    )
    embed_mark: str = option("<|embed|>\n", "GritLM's mark before the text that is embedded", tasks=PAIRS, rare=True)
    pairs_per_batch: int = option(32, "queries whose passages are each other's negatives", least=1, tasks=PAIRS)
    negatives_per_query: int = option(
        1, "hard negatives of each query in a batch, drawn anew in each epoch", least=0, tasks=PAIRS
    )
    one_file_per_batch: bool = option(
        True, "in-batch negatives of one file: those of another are too easy", tasks=PAIRS, rare=True
    )
    temperature: float = option(0.02, "of InfoNCE over cosines; GritLM's", least=1e-4, tasks=PAIRS)
    contrastive_weight: float = option(1.0, "of the mean InfoNCE per query in the sum", least=0.0, tasks=PAIRS)
    generative_weight: float = option(
        1.0, "of the mean cross-entropy per trained token in the sum", least=0.0, tasks=PAIRS
    )
    generative_first: bool = option(
        True, "the generative rows of a step go first; as fast as last, and GritLM's order", tasks=PAIRS, rare=True
    )
    gradcache_chunk: int = option(
        0, "GradCache: embed this many tokens at a time and compute them again for the gradient; 0: all at once",
        least=0, tasks=PAIRS,
    )  # fmt: skip


@dataclass(frozen=True)
class TextOptions:
    """plain text and token shards"""

    text_field: str = option("text", "column with the text of a document", tasks=("sft", *SHARDS))
    shard_tokens: int = option(
        1 << 27, "tokens of one shard file; 256 MiB each in uint16", least=2, tasks=("prepare",), rare=True
    )
    separate_documents: bool = option(
        True, "no attention and no target across documents; off: rows are one text", tasks=("pretrain",)
    )
    verify_shards: bool = option(
        True, "compare the sha256 of every shard at the start (sizes are always compared)", tasks=("pretrain",),
        rare=True, result=False,
    )  # fmt: skip
