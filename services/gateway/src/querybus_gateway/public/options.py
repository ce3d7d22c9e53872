"""The options of a question as callers read them: kind, range, and what holds where a request is silent."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from pydantic_core import to_jsonable_python

from querybus.core.credential import Credential
from querybus.core.options import OptionCaps, Options, RepairPolicy
from querybus.core.stored.preferences import OPTIONS, Preferences
from querybus_gateway.admit import RequestOptions, capped_options
from querybus_gateway.public.answer import View
from querybus_gateway.public.redaction import Json

Kind = Literal["boolean", "integer", "number", "choice", "text", "date"]
_NOBODY: Final = Preferences()


class RequestOptionView(View):
    """One option of a question."""

    name: str
    kind: Kind
    description: str
    choices: list[str]
    minimum: float | None
    maximum: float | None
    is_fixed: bool
    default: Any
    defaults: dict[str, Any]


class RequestOptionsView(View):
    """Every option. `default` holds where a request is silent, `defaults` says who set it: product, system, tenant, person."""

    options: list[RequestOptionView]


class OptionDefaults(NamedTuple):
    """What holds where a request is silent, by who said it; `tenant_policy` is who repairs for the caller's tenant."""

    system: RequestOptions = RequestOptions()
    tenant_policy: RepairPolicy | None = None
    person: Preferences = _NOBODY


def options_view(credential: Credential, caps: OptionCaps, said: OptionDefaults) -> Json:
    """Return every option with the range that the caller has; a value above it is lowered, not refused.

    A choice that the server or the credential never grants is left out; `is_fixed` says that only one value is granted.
    """
    held = _values(capped_options(RequestOptions(), credential, caps, said.person, said.system))
    person = {name: value for name in OPTIONS if (value := getattr(said.person, name)) is not None}
    system = said.system.model_dump(mode="json", exclude_unset=True)
    policy = said.tenant_policy.value if said.tenant_policy else None
    if held["repair_policy"] is None:
        held["repair_policy"] = policy
    listed: list[Json] = []
    for name, facts in _facts().items():
        granted = [_granted(name, value, credential, caps) for value in facts["tried"]]
        numbers = facts["kind"] in ("integer", "number") and granted
        set_by = {"product": facts["product"], "system": system.get(name), "person": person.get(name)}
        set_by["tenant"] = policy if name == "repair_policy" else None
        view = RequestOptionView(
            name=name,
            kind=facts["kind"],
            description=facts["description"],
            choices=list(dict.fromkeys(granted)) if facts["kind"] == "choice" else [],
            minimum=facts["minimum"],
            maximum=granted[0] if numbers else None,
            is_fixed=len(facts["tried"]) > 1 and len(set(granted)) == 1,
            default=held[name],
            defaults={by: value for by, value in set_by.items() if value is not None},
        )
        listed.append(view.model_dump(mode="json"))
    return {"options": listed}


def _granted(name: str, value: Any, credential: Credential, caps: OptionCaps) -> Any:
    asked = RequestOptions.model_validate({name: value})
    return _values(capped_options(asked, credential, caps, _NOBODY, RequestOptions()))[name]


def _values(options: Options) -> Json:
    """Return every option as JSON has it, also those that an event leaves out by default."""
    values: Json = to_jsonable_python(dict(options))
    return values


@cache
def _facts() -> Mapping[str, Json]:
    """Return kind, lowest value, product default and the values to try against the caps, by option."""
    schema = Options.model_json_schema()
    product = _values(Options())
    result: dict[str, Json] = {}
    for name, field in schema["properties"].items():
        form = next((item for item in field.get("anyOf", [field]) if item.get("type") != "null"), field)
        form = schema["$defs"][form["$ref"].rpartition("/")[2]] if "$ref" in form else form
        choices = form.get("enum", [])
        kind: Kind = "choice" if choices else _KINDS[form["type"], form.get("format")]
        highest = [form["maximum"]] if "maximum" in form else []
        result[name] = {
            "kind": kind,
            "description": field.get("description", ""),
            "minimum": form.get("minimum", form.get("exclusiveMinimum")),
            "product": product[name],
            "tried": choices or ([False, True] if kind == "boolean" else highest),
        }
    return result


_KINDS: Final[Mapping[tuple[str, str | None], Kind]] = {
    ("boolean", None): "boolean",
    ("integer", None): "integer",
    ("number", None): "number",
    ("string", None): "text",
    ("string", "date"): "date",
}
