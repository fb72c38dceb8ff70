"""envdoctor for programs: the doctor's functions with plain arguments and documented values.

Imported through ``from envdoctor import check, fit, fix, verify``. Nothing is printed, nobody is asked, torch is never
imported here: the environment's own Python is, in a child with a deadline.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from envdoctor.api import notebook
from envdoctor.api.answers import Change, Report, Verdict, value
from envdoctor.api.estimates import Fitting

if TYPE_CHECKING:
    from envdoctor.change.proposal import Proposal
    from envdoctor.facts.environment import Environment
    from envdoctor.rules.checkup import CheckOptions
    from envdoctor.speed.cost import Price

PathLike = str | os.PathLike[str]


def check(
    env: PathLike | None = None,
    *,
    target: str = "auto",
    stack: str | None = None,
    torch: bool = True,
    deep: bool = False,
    scripts: Iterable[PathLike] = (),
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    facts: PathLike | None = None,
) -> Report:
    """Examine an environment and judge it against the lockfile of its GPU.

    Args:
        env: a venv, a conda prefix or a python; None is the active environment, in a notebook the kernel's.
        target: a GPU ("h100", "cpu"), the path of a target file, "auto" for the GPU found, "none" for no lock at all.
        stack: this lock of the target's instead of the first that the machine can run.
        torch: whether the environment's torch is imported (in a child); without, precision and kernels are not judged.
        deep: whether every installed file is hashed.
        scripts: training scripts to read too (as text).
        select, ignore: rules or families ("packages", "torch/import-fails").
        facts: judge this file, written by ``envdoctor facts``, instead of an environment.

    Raises:
        Trouble: there is no such environment, target, stack, rule or file.
    """
    from envdoctor import doctor
    from envdoctor.render.document import document

    options = _options(
        target=target,
        stack=stack,
        torch=torch,
        deep=deep,
        scripts=tuple(map(Path, scripts)),
        select=tuple(select),
        ignore=tuple(ignore),
        recorded=facts is not None,
    )
    if facts is None:
        checkup = doctor.examine(_environment(env), options)
    else:
        from envdoctor.facts import collect

        checkup = doctor.judge(collect.read(Path(facts)), options)
    return notebook.report(document(checkup), None if facts is not None else env)


def fix(
    env: PathLike | None = None,
    *,
    yes: bool = False,
    target: str = "auto",
    stack: str | None = None,
    python: str | None = None,
    exact: bool = False,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Change:
    """Repair an environment in one step that can be undone, or create it. Without ``yes=True`` nothing is changed.

    Args:
        env: as for `check`; one that does not exist is created from the lock.
        yes: make the change. False says what would be changed.
        python: interpreter for an environment that does not exist yet.
        exact: remove packages that are not in the lock.
        force: change it although processes are running from it.
        progress: told in a few words what is being done.

    Raises:
        Trouble: the change was refused, or its result would have been no healthier; nothing has changed then.
    """
    from envdoctor import doctor
    from envdoctor.change.proposal import ChangeOptions
    from envdoctor.render.change import document

    dialogue = _Silent(yes=yes, progress=progress)
    how = ChangeOptions(strict=exact, force=force)
    repaired = doctor.fix(
        _environment(env), _options(target=target, stack=stack), how, dialogue, python=python, agreed=yes
    )
    found = document(repaired.proposal, repaired.applied, repaired.seconds, dry_run=not yes)
    return notebook.change(found, env)


def verify(
    env: PathLike | None = None,
    *,
    target: str = "auto",
    stack: str | None = None,
    workload: str | None = None,
    processes: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verdict:
    """Train a short workload in fresh processes, and judge its speed against the target's baseline; takes a minute.

    Args:
        workload: "chat-5m", "chat-30m", "chat-135m", "chat-1b"; None is the target's own.
        processes: at most so many; a clear case ends after the first.

    Raises:
        Trouble: there is no such environment, target or workload.
    """
    from envdoctor import doctor
    from envdoctor.render.speed import document
    from envdoctor.speed.timing import MOST_PROCESSES, TimingOptions

    timing = TimingOptions(workload=workload, processes=MOST_PROCESSES if processes is None else processes)
    dialogue = _Silent(yes=False, progress=progress)
    told = doctor.verify(_environment(env), _options(target=target, stack=stack), timing, dialogue)
    return value(Verdict, document(told.verdict, told.ablation))


def fit(
    model: PathLike,
    *,
    target: str | None = None,
    task: str = "sft",
    lora_rank: int | None = None,
    tokens: int = 2048,
    accumulate: int = 1,
    precision: str | None = None,
    trained: float = 1.0,
    document: int | None = None,
    moments: Literal["float32", "8bit", "adafactor"] = "float32",
    steps: int | None = None,
    price: str | Price | None = None,
    prices: PathLike | None = None,
) -> Fitting:
    """Will training this model fit a GPU, how long will it take, and where is that cheapest?

    Args:
        model: a folder with a config.json, a config.json, or a name on the Hub.
        target: judge this one ("h100", the path of a target file); None lists all.
        task: "sft", "pretrain", "rft".
        lora_rank: of adapters; 0 trains every weight, None is the task's own (16 for rft, 0 for the others).
        tokens, accumulate: of one micro-batch; micro-batches of a step.
        precision: "float32", "bfloat16", "float16"; None is each target's own.
        trained: the share of tokens that is predicted.
        document: tokens of a typical document; None is the worst case.
        moments: as the trainer's ``--moments``: AdamW's in "float32" or "8bit", or "adafactor".
        steps: of the run; with it times and costs are those of all of it.
        price: of an hour on ``target``, as typed: "2.49/h", "$2.49/h", "2.49 EUR/h".
        prices: a TOML file with a price for each target.

    Raises:
        Trouble: there is no such model, target or file, or (exit code 3) nothing can be known of the model.
    """
    from envdoctor.models.memory import Job
    from envdoctor.models.question import answer, rank_of
    from envdoctor.render.fit import document as as_document

    job = Job(
        task=task, tokens=tokens, rank=rank_of(task, lora_rank), accumulate=accumulate, trained=trained,
        documents=document, moments=moments,
    )  # fmt: skip
    found = answer(
        os.fspath(model), job, target=target, precision=precision, steps=steps, price=price, price_list=prices
    )
    return value(Fitting, as_document(found))


class _Silent:
    """A dialogue with a program: it said yes or no beforehand."""

    def __init__(self, *, yes: bool, progress: Callable[[str], None] | None) -> None:
        self._yes, self._progress = yes, progress

    def step(self, text: str) -> None:
        if self._progress is not None:
            self._progress(text)

    tell = step

    def agree(self, _: Proposal) -> bool:
        return self._yes

    def checked(self, *_: object) -> None: ...

    def stopping(self, _: str) -> AbstractContextManager[None]:
        return contextlib.nullcontext()


def _options(**given: Any) -> CheckOptions:
    from envdoctor.rules.checkup import CheckOptions

    return CheckOptions(**given)


def _environment(env: PathLike | None) -> Environment:
    from envdoctor.facts.environment import locate

    return locate(notebook.kernel() if env is None else Path(env))
