"""Writes chat.jsonl: worked answers in conversation form, with the long-tailed lengths real instruction data has.

    python -m tests.trainer.bundled.generate_chat

Text is drawn from small grammars with a fixed seed, so that the file is nobody's property and can be written again to
the byte. Measured with the bundled tokenizer: 998 conversations, median 121 tokens, 95 % below 491, longest 1,375;
4.6 characters per token
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

from trainer.data.workloads import DATA

PEOPLE = (
    "Amira Bruno Chen Dalia Emeka Farida Goran Hana Ivan Jun Kofi Leila Mateo Noor Olga Priya Quentin Rosa Sven Tomas"
).split()
THINGS = (
    "apples bricks candles drums envelopes flowers glasses hammers inks jars kites lamps maps nails oranges pens ropes "
    "stamps tiles"
).split()
PLACES = (
    "harbour library workshop bakery station orchard museum school garden mill clinic theatre market tower kitchen"
).split()
TOPICS = (
    "memory allocation, matrix products, packing of short rows, gradient clipping, learning rates, file formats, "
    "caches, locks, "
    "network retries, hash tables, sorting, floating point, scheduling, checkpoints, sampling, tokenisers"
).split(", ")
VERBS = "explains measures compares limits improves replaces protects splits orders records".split()
REASONS = [
    "because the {a} of {t} grows with every step",
    "although {t} rarely decides the {a} alone",
    "so that {t} stays within the {a} we planned",
    "unless the {a} was already fixed by {t}",
    "which is why {p} keeps a note about the {a} next to {t}",
]
QUALITIES = "cost order size speed accuracy latency risk length balance share depth".split()


def _sum(draw: random.Random) -> list[str]:
    who, other = draw.sample(PEOPLE, 2)
    thing, place = draw.choice(THINGS), draw.choice(PLACES)
    first, second, boxes = draw.randint(12, 480), draw.randint(3, 90), draw.randint(2, 12)
    total, rest = first + second * boxes, (first + second * boxes) % 7
    return [
        (
            f"{who} has {first} {thing} at the {place}. {other} brings {boxes} boxes with {second} {thing} each. "
            "How many are there, and what is left over when they are shared among 7 people?"
        ),
        f"The boxes hold {boxes} x {second} = {boxes * second} {thing}.",
        f"With the {first} that were there, that makes {first} + {boxes * second} = {total}.",
        f"Shared among 7, everyone gets {total // 7}, since 7 x {total // 7} = {total // 7 * 7}.",
        f"So {rest} {thing} are left over.",
    ]


def _code(draw: random.Random) -> list[str]:
    name, quality = draw.choice(THINGS), draw.choice(QUALITIES)
    limit, factor = draw.randint(2, 64), draw.randint(2, 9)
    return [
        f"Write a function that returns the {quality} of {name} above {limit}, and explain it.",
        (
            f"```python\ndef {quality}_of_{name}({name}):\n    total = 0\n    for item in {name}:\n"
            f"        if item > {limit}:\n            total += item * {factor}\n    return total\n```"
        ),
        f"The loop visits every item once, so the time grows with the number of {name}.",
        f"For [{limit}, {limit + 1}, {limit + 5}] it returns {(2 * limit + 6) * factor}.",
        f"An empty list gives 0, which is a sensible answer for {quality}.",
    ]


def _essay(draw: random.Random) -> list[str]:
    topic = draw.choice(TOPICS)
    lines = [f"{draw.choice(PEOPLE)} asks: what should I know about {topic} before I visit the {draw.choice(PLACES)}?"]
    for number in range(draw.randint(4, 9)):
        reason = draw.choice(REASONS).format(a=draw.choice(QUALITIES), t=draw.choice(TOPICS), p=draw.choice(PEOPLE))
        start = draw.choice(["First", "In practice", "Note that", "Often", f"Step {number + 1}", "By contrast"])
        lines.append(f"{start}, {topic} {draw.choice(VERBS)} {draw.choice(TOPICS)}, {reason}.")
    return lines


def conversation(draw: random.Random) -> dict[str, list[dict[str, str]]]:
    """One conversation; its length is drawn from a lognormal (turns are whole, so it comes out a little longer)."""
    wanted = min(1400.0, max(12.0, draw.lognormvariate(math.log(80), 1.15))) * 4.6
    messages: list[dict[str, str]] = []
    if draw.random() < 0.25:
        messages.append(
            {
                "role": "system",
                "content": f"Answer {draw.choice(['briefly', 'step by step', 'with an example'])}, in plain words.",
            }
        )
    size = 0
    while size < wanted or len(messages) < 2:
        question, *answer = draw.choice([_sum, _code, _essay])(draw)
        room = max(1, round((wanted - size - len(question)) / (sum(map(len, answer)) / len(answer))))
        text = "\n".join(answer[:room]) if room <= len(answer) else "\n".join(answer)
        while len(text) + size + len(question) < wanted and draw.random() < 0.6:
            text += "\n" + "\n".join(_essay(draw)[1:])
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": text}]
        size += len(question) + len(text)
    return {"messages": messages}


def write(folder: Path) -> None:
    """Write the file into `folder`."""
    draw = random.Random(20)
    target = folder / "chat.jsonl"
    lines, size = [], 0
    while size < 950_000:
        lines.append(json.dumps(conversation(draw), ensure_ascii=False, separators=(",", ":")))
        size += len(lines[-1]) + 1
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{target.name}: {len(lines)} conversations, {size} bytes")


if __name__ == "__main__":
    write(DATA)
