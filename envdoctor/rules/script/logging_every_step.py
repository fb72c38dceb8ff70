import ast

from envdoctor.rules.rule import NOTE, Facts, Finding, Findings, rule
from envdoctor.rules.script._reading import Tree, finding_at, keyword_literal, trees
from envdoctor.rules.script._steps import each_step

_LOGGERS = (".add_scalar", "wandb.log", "mlflow.log_metric", "mlflow.log_metrics", ".log_metrics")


@rule(NOTE, kind="script-slow", expected="a log line every 10 steps or more")
def logging_every_step(facts: Facts) -> Findings:
    """Every single step is logged.

    Why: what is logged must be read from the GPU, so each step ends with a wait; the log itself costs a little more.
    Fix: log every 10th step or more rarely.
    Source: https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.logging_steps
    """
    for tree in trees(facts):
        for node in tree.nodes:
            if isinstance(node, ast.Call) and (name := _every_step(node)):
                yield _finding(tree, node, f"{name}=1 reads the loss from the GPU in every step.", f"{name}=10")
        for node in each_step(tree):
            if isinstance(node, ast.Call) and tree.is_call(node, *_LOGGERS):
                yield _finding(tree, node, "every step is logged.", f"if step % 10 == 0: {tree.line(node)}"[:160])


def _every_step(call: ast.Call) -> str:
    return next((name for name in ("logging_steps", "log_every_n_steps") if keyword_literal(call, name) == 1), "")


def _finding(tree: Tree, node: ast.AST, message: str, line: str) -> Finding:
    return finding_at(tree, node, message=message, fix="Log every 10th step or more rarely.", run=line)
