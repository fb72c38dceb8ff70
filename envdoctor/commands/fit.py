"""``envdoctor fit``: will this training fit a GPU, how long will it take, and where is that cheapest?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from envdoctor.commands import _options
from envdoctor.commands._output import print_json

TASKS = ("sft", "pretrain", "rft")
PRECISIONS = ("float32", "bfloat16", "float16")
MOMENTS = ("float32", "8bit", "adafactor")


@click.command("fit")
@click.option("--model", required=True, metavar="MODEL", help="A folder, a config.json, or a name on the Hub.")
@click.option("--target", "-t", "target_name", metavar="NAME", help="A GPU (h100, ...) or a target file. Default: all.")
@click.option("--task", type=click.Choice(TASKS), default="sft", show_default=True, help="The trainer's task.")
@click.option(
    "--lora-rank", type=click.IntRange(0, 1024), help="Train adapters of this rank. Default: all weights; rft has 16."
)
@click.option("--moments", type=click.Choice(MOMENTS), default="float32", show_default=True, help="As the trainer's.")
@click.option(
    "--tokens", type=click.IntRange(2, 1 << 24), default=2048, show_default=True, help="Tokens of a micro-batch."
)
@click.option(
    "--accumulate", type=click.IntRange(1, 100_000), default=1, show_default=True, help="Micro-batches a step."
)
@click.option("--precision", type=click.Choice(PRECISIONS), help="Default: each target's own.")
@click.option(
    "--trained", type=click.FloatRange(0.0, 1.0), default=1.0, show_default=True, help="Share of tokens predicted."
)
@click.option("--document", type=click.IntRange(1), metavar="TOKENS", help="Length of a typical document, on a CPU.")
@_options.cost
@click.option("--prices", type=click.Path(path_type=Path), metavar="FILE", help='TOML, a line each: h100 = "2.49/h".')
@_options.text_or_json
def command(**given: Any) -> int:
    """Will training this model fit a GPU, how long will it take, and where is that cheapest?

    The memory of a step of the bundled trainer, by part; the largest micro-batch at each rung of recomputation; the
    time that the modelled speed gives, with its spread; and one table over all targets. Nothing is downloaded but a
    config.json, where --model is a name on the Hub, and torch is not needed.

    \b
    Examples:
      envdoctor fit --model ./llama --target h100
      envdoctor fit --model Qwen/Qwen2.5-0.5B --tokens 16384
      envdoctor fit --model config.json -t rtx4090 --lora-rank 16 --tokens 8192
      envdoctor fit --model ./llama --steps 1000 --prices prices.toml

    Exit codes: 0 it fits the target (without one: any); 1 it does not; 2 wrong usage or a broken file; 3 it
    cannot be known: a family whose layers are not known, or no way to the Hub.
    """
    from envdoctor.models.memory import Job
    from envdoctor.models.question import answer, rank_of
    from envdoctor.render import fit as shown

    job = Job(
        task=given["task"],
        tokens=given["tokens"],
        rank=rank_of(given["task"], given["lora_rank"]),
        accumulate=given["accumulate"],
        trained=given["trained"],
        documents=given["document"],
        moments=given["moments"],
    )
    found = answer(
        given["model"],
        job,
        target=given["target_name"],
        precision=given["precision"],
        steps=given["steps_"],
        price=given["price"],
        price_list=given["prices"],
    )
    document = shown.document(found)
    if given["format_"] == "json":
        print_json(document)
    else:
        click.echo(shown.text(document), nl=False)
    return {"fits": 0, "does-not-fit": 1, "unknown": 3}[found.outcome]
