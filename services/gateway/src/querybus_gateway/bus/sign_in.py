"""Who may come in over the bus: a key that fits is let into its tenant's account with its own rights.

While no gateway runs, nobody new comes in; who is in stays.
"""

from __future__ import annotations

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential, key_name
from querybus.core.stored.audit import AuditKind
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus_gateway.access.bus_tokens import BusTokens, SignInRequest, outsider_of, read_request
from querybus_gateway.access.callers import Callers
from querybus_gateway.ports import Audit
from querybus_gateway.problems import Problem, ProblemCode

_log = get_log(__name__)


class BusSignIn:
    """Answers a server's question about one caller."""

    def __init__(
        self, callers: Callers, tokens: BusTokens, *, tenants: tuple[str, ...], clock: Clock, audit: Audit
    ) -> None:
        """`tenants` are the tokens of those that the server's file gives an account."""
        self._callers = callers
        self._tokens = tokens
        self._tenants = frozenset(tenants)
        self._clock = clock
        self._audit = audit

    async def admit(self, data: bytes) -> bytes | None:
        """Return the signed answer to a server's question, None for what is no question."""
        request = read_request(data)
        if request is None:
            return None
        admitted = await self._admitted(request)
        now_seconds = self._clock() // 1_000
        if isinstance(admitted, Credential):
            return self._tokens.admission(request, admitted, now_seconds)
        _log.info("bus_sign_in.refused", user=request.user[:80], reason=admitted)
        return self._tokens.refusal(request, admitted, now_seconds)

    async def _admitted(self, request: SignInRequest) -> Credential | str:
        """Return whose key it is, or why it lets nobody in."""
        # A token of a person's session or of the issuer names no record that a call could be answered by.
        if key_name(request.key) is None:
            self._audit.note_stranger(request.host, "bus", ProblemCode.UNAUTHENTICATED)
            return "the password is no key"
        try:
            result = await self._callers.identify(request.key, request.host)
        except BusTrouble:
            return "the registry cannot be read"
        if not isinstance(result, Credential):
            return str(result.code)
        outsider = outsider_of(result)
        why = ""
        if request.user not in ("", outsider.name):
            why = "the key is another user's"
        elif outsider.tenant not in self._tenants:
            why = "the tenant has no account on the bus"
        if why:
            self._audit.note_refusal(result, Problem(ProblemCode.SCOPE), "bus")
            return why
        try:
            await self._audit.record(AuditKind.SIGN_IN, result, about="bus")
        except BusTrouble:
            return "the audit cannot be written"
        return result
