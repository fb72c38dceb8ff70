from envdoctor.knowledge.variables import UNREAD
from envdoctor.rules.rule import NOTE, Facts, Findings, Remedy, finding, need, rule


@rule(NOTE, kind="no-effect")
def unread(facts: Facts) -> Findings:
    """A variable is set that no library reads.

    Why: names like TORCH_CUDNN_BENCHMARK circulate in launch files and promise a switch that does not exist;
    torch's binaries do not contain them. What they were meant to set is not set.
    Fix: the setting that exists.
    Source: https://docs.pytorch.org/docs/stable/torch_environment_variables.html (strings of torch 2.13 searched:
    none found)
    """
    variables = need(facts.variables)
    for row in sorted(UNREAD.among(variables), key=lambda row: row.name):
        text = f"No library reads {row.name}; what exists is {row.instead}."
        fix = Remedy(text=f"Remove it, and use {row.instead}.", commands=(f"unset {row.name}",))
        yield finding(subject=row.name, actual=variables[row.name], expected=row.instead, message=text, fix=fix)
