"""How a turn came about, as fields of a graph's state: each is a copy of what its answer and its events hold.

What a reader may not see of those is missing here too: business readers get words, analysts also tables and statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Json = dict[str, Any]
STATE_FIELDS: Final = (
    "query_analysis",
    "schema_info",
    "validation_result",
    "retry_count",
    "current_stage",
    "error_history",
)
_STAGES: Final = {
    "asked": "schema_analysis",
    "drafted": "sql_validation",
    "confirmed": "sql_validation",
    "approved": "sql_execution",
    "failed": "error_recovery",
    "returned": "sql_generation",
    "concluded": "completed",
    "finished": "completed",
}
"""What is done next after each event."""
_ATTEMPT: Final = ("stage", "code", "duration_ms", "executed", "sql", "detail")


def state_fields(turn: Mapping[str, Any]) -> Json:
    """Return the STATE_FIELDS of a turn; those that its end decides are None while it runs."""
    answer = turn.get("answer")
    if answer is None:
        begun: Json = {"retry_count": 0, "error_history": []}
        stage = _STAGES.get(str(turn.get("last_event")), "schema_analysis")
        return dict.fromkeys(STATE_FIELDS) | begun | {"current_stage": stage}
    analysis: Mapping[str, Any] = turn.get("analysis") or {}
    return {
        "query_analysis": _query_analysis(answer, analysis),
        "schema_info": _schema_info(answer, analysis),
        "validation_result": _validation_result(answer),
        "retry_count": answer["retries"]["generation"],
        "current_stage": _STAGES["finished"],
        "error_history": [{name: one[name] for name in _ATTEMPT if name in one} for one in _failures(answer)],
    }


def _query_analysis(answer: Mapping[str, Any], analysis: Mapping[str, Any]) -> Json:
    own = ("classification", "reading", "confidence", "language")
    drafted = ("links", "assumptions", "model")
    return {
        "question": answer["enriched_question"] or answer["question"],
        **{name: answer[name] for name in own if name in answer},
        **{name: analysis[name] for name in drafted if name in analysis},
    }


def _schema_info(answer: Mapping[str, Any], analysis: Mapping[str, Any]) -> Json | None:
    reading = answer.get("reading")
    if reading is None and not analysis.get("tables"):
        return None
    info: Json = {"connection": answer["connection"], "entities": reading["entities"] if reading else []}
    return info | ({"tables": analysis["tables"]} if "tables" in analysis else {})


def _validation_result(answer: Mapping[str, Any]) -> Json | None:
    """Return the validator's last verdict, None where no statement came to it."""
    verdicts = [step["event"] for step in answer["path"] if step["stage"] == "validator"]
    if not verdicts:
        return None
    if verdicts[-1] != "failed":
        return {"is_valid": answer["outcome"] != "refused", "code": None}
    refused = next((one for one in reversed(answer["attempts"]) if one["stage"] == "validator"), None)
    found: Json = {"is_valid": False, "code": answer["code"]}
    return found | ({name: refused[name] for name in ("code", "sql", "detail") if name in refused} if refused else {})


def _failures(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tried = [one for one in answer["attempts"] if one["code"] is not None]
    if answer["code"] is None or any(one["code"] == answer["code"] for one in tried):
        return tried
    # It ended without a statement, or for another reason than the last statement's.
    return [*tried, {"stage": None, "executed": False, "duration_ms": None, **answer}]
