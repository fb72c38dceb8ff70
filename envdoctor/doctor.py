"""The story: collect, choose, diagnose, plan, change, hand off, measure, judge. Every command is a part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envdoctor import bundle, collect, library
from envdoctor.choice import choose_stack, choose_target
from envdoctor.diagnose import diagnose, load_rules
from envdoctor.environment import Environment
from envdoctor.examination import Examination, Question
from envdoctor.facts import Facts
from envdoctor.frozen import dataclass
from envdoctor.plan import plan
from envdoctor.rule import Rule
from envdoctor.target import Target, no_target


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What judging needs besides facts; loaded while the environment's Python still imports torch."""

    rules: tuple[Rule, ...]
    targets: Mapping[str, Target]


def prepare(question: Question) -> Prepared:
    return Prepared(rules=chosen_rules(question), targets=library.load_targets())


def examine(environment: Environment, question: Question) -> Examination:
    """Collect the facts of an environment and judge them."""
    collection = collect.begin(
        environment,
        torch=question.torch,
        deep=question.deep,
        flags_table=bundle.flags_table(),
        scripts=question.scripts,
        torch_deadline=question.torch_deadline,
    )
    prepared = prepare(question)
    return judge(collection.finish(), question, prepared=prepared)


def judge(facts: Facts, question: Question, *, prepared: Prepared | None = None) -> Examination:
    """Judge facts that are already there: collected, recorded in a file, or read from a pasted report."""
    prepared = prepared or prepare(question)
    if question.target == "none":
        wanted, reason = no_target(), "judged by general knowledge alone"
    else:
        wanted, reason = choose_target(question.target, facts, prepared.targets)
    target = choose_stack(wanted, library.load_stacks(wanted, question.stack), facts, question.stack)
    diagnosis = diagnose(facts, target, prepared.rules)
    return Examination(
        facts=facts,
        target=target,
        target_reason=reason,
        diagnosis=diagnosis,
        plan=plan(facts, target, diagnosis),
    )


def chosen_rules(question: Question) -> tuple[Rule, ...]:
    """The rules, less those that were deselected by name or family."""

    def named(rule: Rule, names: Sequence[str]) -> bool:
        return any(name in (rule.name, rule.family, f"{rule.family}/") for name in names)

    # Rules about scripts have nothing to say without one, and reading them takes a tenth of a second.
    rules = load_rules(() if question.with_scripts else ("script",))
    if question.select:
        rules = tuple(rule for rule in rules if named(rule, question.select))
    return tuple(rule for rule in rules if not named(rule, question.ignore))
