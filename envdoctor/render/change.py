"""A change for the JSON border: what was proposed, and what became of it."""

from __future__ import annotations

from envdoctor.change.proposal import Proposal
from envdoctor.change.values import Applied


def document(
    proposal: Proposal | None, applied: Applied | None, seconds: float, *, dry_run: bool = False
) -> dict[str, object]:
    """``applied`` is None where nothing was to be changed, or was not agreed to; ``seconds`` are of work."""
    if proposal is None:
        return {"changed": False, "strategy": None, "seconds": round(seconds, 3)}
    plan = _plan_document(proposal)
    if applied is None:
        return {"changed": False, "dry_run": dry_run, "strategy": proposal.strategy.kind, **plan}
    return {"changed": True, "strategy": applied.strategy.kind, "seconds": round(seconds, 3), **plan}


def _plan_document(proposal: Proposal) -> dict[str, object]:
    plan, change = proposal.checkup.plan, proposal.change
    if proposal.new:
        packages = [
            {"name": pin.name, "before": None, "after": pin.version, "downgrade": False} for pin in change.wanted
        ]
    else:
        packages = [
            {"name": s.name, "before": s.before, "after": s.after.version, "downgrade": s.downgrade}
            for s in plan.install
        ]
    settings, others = (plan, plan.kept) if not proposal.new else (change, ())
    return {
        "plan": proposal.name,
        "target": proposal.checkup.target.name,
        "packages": packages,
        "flags": dict(settings.flags),
        "variables": dict(settings.variables),
        "kept": list(others),
    }
