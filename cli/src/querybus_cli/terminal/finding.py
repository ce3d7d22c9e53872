"""A test of a connection in lines for a terminal, and as JSON for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from querybus.text.labels import has_few_readable_names
from querybus.text.words import count_of
from querybus_executor.connections.diagnose import Finding, StepState

_MARKS: Final = {StepState.OK: "ok", StepState.WARNING: "!", StepState.FAILED: "failed", StepState.NOT_REACHED: "-"}


def finding_as_json(finding: Finding) -> dict[str, Any]:
    """Return all of a finding by its fields, and `ok`."""
    return {"ok": finding.trouble is None, **asdict(finding)}


def finding_lines(finding: Finding) -> list[str]:
    """Return what was found: the outcome first, then the steps, then what to do."""
    if finding.trouble is None:
        lines = [f"{finding.name}: works, {finding.dialect}, {count_of(finding.tables, 'table')}"]
    else:
        lines = [f"{finding.name}: {finding.trouble.value}: {finding.detail}"]
    if finding.trouble is not None and finding.setting:
        lines.append(f"  setting: {finding.setting}")
    lines += [f"  {_MARKS[step.state]:<7}{step.name.value:<10}{step.detail}".rstrip() for step in finding.steps]
    lines += [f"  warning: {text}" for text in finding.warnings]
    lines += [f"  note: {text}" for text in finding.notes]
    if finding.missing:
        lines.append("missing for this user, to be run by an administrator of the database:")
        lines += [f"  {statement}" for statement in finding.missing]
    if finding.reader:
        lines.append("a user that only reads, to be made by an administrator of the database:")
        lines += [f"  {statement}" for statement in finding.reader]
    if finding.trouble is not None and finding.next_command:
        lines.append(f"next: {finding.next_command}")
    return lines


def names_line(name: str, readable: int, names: int) -> str | None:
    """Return what to do where fewer than three of five names of a database can be read; None where they can."""
    if not has_few_readable_names(readable, names):
        return None
    return (
        f"{name}: {readable} of {names} names can be read as words. Name them once:"
        f" `querybus connections describe --connection {name}` drafts names for people, better with a model"
        " (`querybus models`); the entry's `described` names that file"
    )
