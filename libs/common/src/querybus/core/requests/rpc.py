"""What the validator asks the executor by request and reply: the wire types of `explain` and `probe`.

A request carries only SQL that the validator has rendered after guard and resolution; the executor guards it again.
"""

from __future__ import annotations

from pydantic import Field

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure
from querybus.core.messages import Result
from querybus.core.value import Value

PROBE_ROWS_MAX = 10


class ExplainRequest(Value):
    """`tenant` and `user` are the credential's: for whom rows are filtered."""

    query_id: str
    tenant: str = ""
    user: str = ""
    sql: str
    dialect: Dialect
    deadline_at: int = Field(description="milliseconds since the epoch")
    checks_size: bool = Field(default=True, description="False: the forbidden check was switched off")


class ExplainReply(Value):
    """`failure` is None where the engine accepts the statement."""

    failure: Failure | None = None
    rows_estimate: int | None = Field(default=None, description="the planner's guess, where it gives one")
    rows_read_estimate: int | None = Field(default=None, description="of the plan's largest step, where it gives one")
    cost_estimate: float | None = None


class ProbeRequest(ExplainRequest):
    rows_max: int = Field(default=PROBE_ROWS_MAX, ge=1, le=PROBE_ROWS_MAX)


class ProbeReply(Value):
    failure: Failure | None = None
    result: Result | None = None
