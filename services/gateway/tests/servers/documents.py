"""The documents that the APIs give of themselves, to hold every answer of a test to what they promise."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jsonschema_rs

from querybus.ops.clock import system_random_bits
from querybus.ops.trace import Tracing
from querybus_gateway.bus.asyncapi import asyncapi
from querybus_gateway.http.app import http_api

Json = dict[str, Any]


@cache
def openapi() -> Json:
    """Return the OpenAPI document, made without a gateway: it needs none."""
    none: Any = None
    return http_api(none, tracing=Tracing("test"), random_bits=system_random_bits).openapi()


@cache
def calls() -> Json:
    """Return the document of the bus."""
    return asyncapi()


@cache
def _validator(reference: str, document: str) -> Any:
    whole = openapi() if document == "openapi" else calls()
    schema = {"$ref": reference, "components": {"schemas": whole["components"]["schemas"]}}
    return jsonschema_rs.validator_for(schema, validate_formats=True)


def faults(body: Any, reference: str, document: str) -> list[str]:
    """Return what a body has against its schema: places and messages."""
    return [
        f"{'/'.join(map(str, e.instance_path))}: {e.message}" for e in _validator(reference, document).iter_errors(body)
    ]


def _operation(method: str, path: str) -> Json:
    """Return the operation that a path belongs to; the one with the fewest places wins."""
    result = [
        (template.count("{"), operations[method.lower()])
        for template, operations in openapi()["paths"].items()
        if method.lower() in operations and re.fullmatch(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(template)), path)
    ]
    return min(result, key=lambda item: item[0])[1]


def holds_http(method: str, path: str, status: int, media_type: str, body: Any) -> None:
    """Fail unless the document has this status with this media type, and the body fits its schema."""
    response = _operation(method, path)["responses"][str(status)]
    if body is None:
        assert "content" not in response
        return
    schema = response["content"][media_type.partition(";")[0]]["schema"]
    assert not faults(body, schema["$ref"], "openapi"), (method, path, status, body)


def holds_call(verb: str, reply: Json) -> None:
    """Fail unless the document of the bus has a reply of this verb that looks like this."""
    payload = calls()["components"]["messages"][f"{verb}.reply"]["payload"]
    all_faults = [faults(reply, item["$ref"], "asyncapi") for item in payload["anyOf"]]
    assert not all(all_faults), (verb, reply, all_faults)
