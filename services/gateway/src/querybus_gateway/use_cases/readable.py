"""Who reads a query: whoever asked it, and no business credential what was phrased for an analyst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, Undecodable
from querybus_gateway.ports import Entry
from querybus_gateway.use_cases.resources import first


def is_reader(envelope: Envelope[Any], credential: Credential) -> bool:
    """Return whether the credential may read the query that this event belongs to."""
    is_own = (envelope.tenant, envelope.user, envelope.shadow_of) == (credential.tenant, credential.user, None)
    return is_own and (credential.audience == "analyst" or envelope.audience == "business")


def may_read(log: Sequence[Entry], credential: Credential) -> bool:
    """Return whether the credential may read the query of a log that has begun."""
    try:
        return is_reader(first(log), credential)
    except Undecodable:
        return False
