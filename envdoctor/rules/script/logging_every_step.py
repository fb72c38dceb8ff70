from envdoctor.rules.rule import NOTE, Facts, Finding, Findings, rule
from envdoctor.rules.script._reading import Call, Tree, calls_each_step, finding_at, keyword_literal, trees

_INTERVALS = ("logging_steps", "log_every_n_steps")
_LOGGERS = (".add_scalar", "wandb.log", "mlflow.log_metric", "mlflow.log_metrics", ".log_metrics")


@rule(NOTE, kind="script-slow", expected="a log line every 10 steps or more")
def logging_every_step(facts: Facts) -> Findings:
    """Every single step is logged.

    Why: what is logged must be read from the GPU, so each step ends with a wait; the log itself costs a little more.
    Fix: log every 10th step or more rarely.
    Source: https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.logging_steps
    """
    for tree in trees(facts):
        for call in tree.calls():
            if name := next((name for name in _INTERVALS if keyword_literal(call, name) == 1), ""):
                yield _finding(tree, call, f"{name}=1 reads the loss from the GPU in every step.", f"{name}=10")
        for call in calls_each_step(tree, *_LOGGERS):
            yield _finding(tree, call, "every step is logged.", f"if step % 10 == 0: {tree.line(call)}"[:160])


def _finding(tree: Tree, call: Call, message: str, line: str) -> Finding:
    return finding_at(tree, call, message=message, fix="Log every 10th step or more rarely.", run=line)
