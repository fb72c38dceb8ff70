"""README.md of a trained model: what it is, from what, on what, how, and how fast; written from what the run knows."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from trainer.options.settings import Settings
from trainer.report import RunReport


def write(folder: Path, report: RunReport, settings: Settings, base: str | None, adapter: bool) -> None:
    """The card of the model in `folder`. settings: as decided; base: path or Hub name of the model it began from."""
    (folder / "README.md").write_text(text(report, settings, base, adapter), encoding="utf-8")


def text(report: RunReport, settings: Settings, base: str | None, adapter: bool) -> str:
    """The card, with the header that Hubs read."""
    named = (report.hub or {}).get("model", {})
    sets = [entry["name"].partition("@")[0].partition(":")[0] for entry in (report.hub or {}).get("data", [])]
    header = ["---", f"library_name: {'peft' if adapter else 'transformers'}", "pipeline_tag: text-generation"]
    header += [f"base_model: {json.dumps(named['name'])}"] if named else []
    header += ["datasets:", *(f"- {name}" for name in sets)] if sets else []
    header += ["tags:", f"- {report.task}", *(["- lora"] if adapter else []), "---", ""]
    data, model = report.data or {}, report.model
    lines = [f"# {Path(settings.output).name}", ""]
    kind = "A LoRA adapter" if adapter else "A language model"
    origin = f"{base}" + (f" at {named['revision']}" if named.get("revision") else "") if base else "random weights"
    lines += [f"{kind} trained by {report.task} from {origin}.", "", "| | |", "|---|---|"]
    rows: list[tuple[str, str]] = []
    if model:
        rows.append(("parameters", f"{model.parameters:,}, of which {model.trained_parameters:,} trained"))
    rows += [("data", ", ".join(Path(str(name)).name for name in report.settings.data) or str(report.workload))]
    rows += [(name, f"{data[name]:,}") for name in ("examples", "tokens", "eval_examples") if name in data]
    if "formats" in data:
        rows.append(("rows", "; ".join(data["formats"])))
    rows.append(("data fingerprint", str(data.get("fingerprint", ""))[:16]))
    rows.append(("steps", str(report.steps)))
    if report.first_loss is not None and report.last_loss is not None:
        rows.append(("loss", f"{report.first_loss:.4g} → {report.last_loss:.4g}"))
    if report.validation:
        found = report.validation
        rows.append(("validation", f"{found['told']} at step {found['best_step']}"))
    if report.seconds and report.tokens_per_step:
        pace = report.steps * report.tokens_per_step["real"] / report.seconds
        rows.append(("speed", f"{pace:,.0f} tokens/s, {report.seconds:.0f} s in all"))
    if report.device:
        count = report.processes.world if report.processes else 1
        rows.append(("device", f"{count} x {report.device.name}"))
    rows.append(("environment", ", ".join(f"{name} {found}" for name, found in report.versions.items() if found)))
    lines += [f"| {name} | {value} |" for name, value in rows]
    lines += ["", "## Settings that differ from the defaults", ""]
    for item in dataclasses.fields(settings):
        value = getattr(settings, item.name)
        if item.metadata["result"] and value != item.default:
            lines.append(f"- {item.name}: {json.dumps(value)}")
    lines += ["", "## What the trainer decided", ""]
    lines += [f"- {choice.what}: {choice.value} ({choice.reason})" for choice in report.choices]
    return "\n".join(header + lines) + "\n"
