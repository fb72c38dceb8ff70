from envdoctor.rules.rule import NOTE, Facts, Findings, finding, known, need, rule

_UNDO: dict[bool | None, str] = {
    True: " `envdoctor undo` takes back the whole last change, packages included.",
    False: " There is no earlier state to undo to.",
}


@rule(NOTE, kind="no-effect", subject="startup hook", expected="known to you")
def startup_hook(facts: Facts) -> Findings:
    """envdoctor's startup hook is in force in this environment.

    Why: flags and variables are set right after `import torch`, in every program that runs here. Whoever wonders where
    a setting comes from should know.
    Fix: nothing to do. Deleting `envdoctor-startup.pth` among the packages takes it out alone; `envdoctor undo` takes
    back the whole change that brought it, packages included, where there was an environment before.
    Source: `envdoctor fix` put it there.
    """
    torch, interpreter = need(facts.torch), known(facts.interpreter)
    if not torch.hook:
        return
    folder = f"{interpreter.site_packages[0]}/" if interpreter and interpreter.site_packages else ""
    back = _UNDO.get(interpreter.can_go_back, "") if interpreter else ""
    message = "envdoctor's startup hook sets flags and variables here, whenever Python starts or torch is imported."
    fix = f"Nothing to do. To take it out alone, delete {folder}envdoctor-startup.pth.{back}"
    yield finding(actual=f"in force (version {torch.hook})", message=message, fix=fix)
