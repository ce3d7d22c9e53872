"""Who may say and receive what on the bus: the permission part of a nats-server's configuration, generated, never typed.

Default deny: every user has allow lists only. Services share the account BUS, each as its own user with its own inbox
prefix. Outsiders live in an account per tenant without JetStream that takes exactly that tenant's answers, progress and
replies from BUS and gives it `call` and `submit`. Who an outsider is, the server asks the gateway (an authorization
callout): its password is its key, its rights are made for it, and when its key is revoked its connection ends.

Whoever may send a request names its reply subject. A call reaches the gateway with the subject that the caller wrote,
and the gateway answers into the caller's own inbox or not at all. What is submitted is acknowledged by the server, which
maps the reply across the import, so that it reaches no stream. For the same reason services are not proof against each
other (approvals are signed). One user of the system account, who can list connections and end them; no `no_auth_user`,
no `allow_responses`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from querybus.core.envelope import Audience
from querybus.core.ids import is_id
from querybus.core.subjects import (
    MODEL_SET_UP_INBOX,
    ROOT,
    SET_UP_INBOX,
    WRITES,
    StageName,
    answer_filter,
    audit_subject,
    durables_of,
    event_filter,
    every_model_set_up_filter,
    every_set_up_filter,
    is_token,
    siem_subject,
)
from querybus.core.topology import (
    ADVISORIES,
    ASSERTED_STREAMS,
    AUDIT,
    BACKED_UP,
    DEAD,
    EVENTS,
    FOLLOWED_BUCKETS,
    LIMITS,
    MODELS,
    MODELS_KEY,
    QUERY_THREADS,
    READ_BUCKETS,
    RESULTS,
    SUBMIT,
    SWEEPER,
    WRITTEN_BUCKETS,
    Topology,
    submit_durable,
    topology,
)

MIGRATE: Final = "migrate"
OPERATOR: Final = "operator"
"""Who reads logs and dead letters, drops a letter, and puts a question into the queue again: a person's tool."""
PURGE_USER: Final = "purge"
"""Who purges a person's thread; the gateway is this user for as long as one deletion takes, and holds no such right."""
BACKUP_USER: Final = "backup"
"""Who copies what a backup holds and makes it anew where it is missing: a person's tool. It can delete nothing."""
DISCONNECT_USER: Final = "disconnect"
"""Who lists connections and ends those of revoked keys; the gateway is this user for as long as one look takes."""
AUDIT_USER: Final = "audit"
"""As whom a SIEM listens: it receives each record of the audit with its words, and reads the stored ones without."""
BUS_ACCOUNT: Final = "BUS"
SYSTEM_ACCOUNT: Final = "SYS"
SIGN_IN_SUBJECT: Final = "$SYS.REQ.USER.AUTH"
"""Where a server asks who somebody is that no file names."""
ISSUER_VARIABLE: Final = "QUERYBUS_BUS_ISSUER"
PAYLOAD_BYTES_MAX: Final = 8 * 1_024 * 1_024
OUTSIDE_PAYLOAD_BYTES_MAX: Final = 256 * 1_024
OUTSIDE_CONNECTIONS_MAX: Final = 1_000
OUTSIDE_SUBSCRIPTIONS_MAX: Final = 10_000
SIGN_IN_SECONDS_MAX: Final = 1.5
"""How long a server waits for whoever comes in; the gateway's answer is part of it.

After two seconds it sends a first PING, which nats-py takes for the end of its sign-in.
"""

_TOOLS: Final = (MIGRATE, OPERATOR, PURGE_USER, BACKUP_USER, AUDIT_USER)
_SYSTEM: Final = "$SYS.REQ.SERVER"
_API: Final = "$JS.API"
OUTSIDE_INBOX: Final = "_INBOX.out"


@dataclass(frozen=True, slots=True)
class Outsider:
    """A credential of the bus API, all parts subject tokens; its name there is `<tenant>.<credential>`."""

    tenant: str
    credential: str
    user: str
    audience: Audience
    is_narrowed: bool = False
    """Whether it may read less than its user's answers: they are published by user, so it receives none of them."""

    def __post_init__(self) -> None:
        for item in (self.tenant, self.credential, self.user, self.audience):
            if not is_token(item):
                raise ValueError(f"{item[:80]!r} is not a subject token: pass outside names through token() first")
        if is_id(self.credential):
            raise ValueError(f"{self.credential!r} looks like a query's id: name the credential otherwise")

    @property
    def name(self) -> str:
        return f"{self.tenant}.{self.credential}"

    @property
    def inbox(self) -> str:
        return f"{OUTSIDE_INBOX}.{self.tenant}.{self.credential}"


@dataclass(frozen=True, slots=True)
class Variable:
    """A password that nats-server reads from this environment variable when it starts."""

    name: str


Password = str | Variable


@dataclass(frozen=True, slots=True)
class Rights:
    """Subjects that a user may publish to and subscribe to; everything else is denied."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def service_rights(stage: StageName, tenants: Sequence[str] = ()) -> Rights:
    """Return the rights of a service; the gateway's depend on the tenants whose submitted questions it takes."""
    publish = [
        *(right for durable in durables_of(stage) for right in _pull(EVENTS, durable)),
        f"{_API}.STREAM.MSG.GET.{EVENTS}",
        f"{ROOT}.dead.{stage}",
        f"{ROOT}.progress.*.*.*.*",
        *(event_filter(event) for event in WRITES[stage]),
        *(f"{_API}.STREAM.INFO.{name}" for name in ASSERTED_STREAMS[stage]),
    ]
    subscribe = [f"_INBOX.{stage}.>", f"{ROOT}.ctl.cancel.*.*"]
    for bucket in READ_BUCKETS[stage]:
        # Both forms of direct get: the one without subject reads many keys at once, of a bucket that is open anyway.
        get = f"{_API}.DIRECT.GET.KV_{bucket}"
        publish += [f"{_API}.STREAM.INFO.KV_{bucket}", get, f"{get}.$KV.{bucket}.>"]
    publish += [f"$KV.{bucket}.>" for bucket in WRITTEN_BUCKETS.get(stage, ())]
    # A bucket's changes are followed by hearing them, which needs no consumer.
    subscribe += [f"$KV.{bucket}.>" for bucket in FOLLOWED_BUCKETS.get(stage, ())]
    more = _MORE[stage]
    publish += more.publish
    subscribe += more.subscribe
    if stage is StageName.GATEWAY:
        for tenant in tenants:
            publish += _pull(SUBMIT, submit_durable(tenant))
    return Rights(tuple(dict.fromkeys(publish)), tuple(dict.fromkeys(subscribe)))


def migrate_rights(table: Topology) -> Rights:
    """Return the rights of `querybus operate migrate`: look, create, update; never delete, never purge, never a message."""
    streams = [stream.name for stream in table.streams] + [bucket.stream for bucket in table.buckets]
    consumed = dict.fromkeys(consumer.stream for consumer in table.consumers)
    publish = [f"{_API}.STREAM.{verb}.{name}" for name in streams for verb in ("INFO", "CREATE", "UPDATE")]
    publish += [f"{_API}.CONSUMER.{verb}.{name}.>" for name in consumed for verb in ("INFO", "CREATE")]
    return Rights(tuple(publish), (f"_INBOX.{MIGRATE}.>",))


def operator_rights() -> Rights:
    """Return the rights of `querybus operate dead`, `history`, `replay` and `models`: no event, no consumer, one bucket."""
    return Rights(
        (
            _LOG,
            f"{_API}.DIRECT.GET.KV_{QUERY_THREADS}.$KV.{QUERY_THREADS}.>",
            f"{_API}.DIRECT.GET.{DEAD}",
            f"{_API}.DIRECT.GET.{AUDIT}",
            f"{_API}.STREAM.MSG.DELETE.{DEAD}",
            # What is asked again passes the gateway's admission and cap like any submitted question.
            f"{ROOT}.submit.*.*",
            # Which models there are is set here; keys of models are secrets, and secrets are in no bucket.
            f"{_API}.DIRECT.GET.KV_{MODELS}",
            f"{_API}.DIRECT.GET.KV_{MODELS}.$KV.{MODELS}.>",
            f"$KV.{MODELS}.>",
        ),
        (f"_INBOX.{OPERATOR}.>",),
    )


def purge_rights() -> Rights:
    """Return the rights that delete a thread: to purge where a person's words are kept, and nothing else."""
    streams = (EVENTS, RESULTS, f"KV_{QUERY_THREADS}")
    return Rights(tuple(f"{_API}.STREAM.PURGE.{stream}" for stream in streams), (f"_INBOX.{PURGE_USER}.>",))


def backup_rights() -> Rights:
    """Return the rights of `querybus operate backup` and `restore`: whole streams, out, and in where there is none of the name."""
    publish = [f"{_API}.STREAM.{verb}.{name}" for name in BACKED_UP for verb in ("INFO", "SNAPSHOT", "RESTORE")]
    publish += [f"$JS.SNAPSHOT.{verb}.{name}.>" for name in BACKED_UP for verb in ("ACK", "RESTORE")]
    return Rights(tuple(publish), (f"_INBOX.{BACKUP_USER}.>",))


def audit_rights() -> Rights:
    """Return the rights of a SIEM: to receive the audit's records, and to read those that it missed."""
    return Rights((f"{_API}.DIRECT.GET.{AUDIT}",), (siem_subject("*"), f"_INBOX.{AUDIT_USER}.>"))


def outside_rights(outsider: Outsider) -> Rights:
    """Return the rights of one outside credential, within its tenant's account: its calls, and its own audience's answers."""
    of_user = (
        answer_filter(outsider.tenant, outsider.user, outsider.audience),
        f"{ROOT}.progress.{outsider.tenant}.{outsider.user}.{outsider.audience}.*",
    )
    return Rights(
        (
            f"{ROOT}.call.{outsider.tenant}.{outsider.credential}.*",
            f"{ROOT}.submit.{outsider.tenant}.{outsider.credential}",
        ),
        (f"{outsider.inbox}.>", *(() if outsider.is_narrowed else of_user)),
    )


def disconnect_rights() -> Rights:
    """Return the rights that end connections: to list them and to cut one, of any account, and nothing else."""
    return Rights(
        (f"{_SYSTEM}.PING.CONNZ", f"{_SYSTEM}.*.CONNZ", f"{_SYSTEM}.*.KICK"),
        (f"_INBOX.{DISCONNECT_USER}.>",),
    )


def service_users() -> tuple[str, ...]:
    """Return the users that the file names: the services, and people's and the gateway's tools."""
    return (*(stage.value for stage in StageName), *_TOOLS, DISCONNECT_USER)


def permission_file(passwords: Mapping[str, Password], issuer: Password, tenants: Sequence[str] = ()) -> str:
    """Return the accounts of these users and tenants; KeyError names a user without a password.

    `passwords` has one entry per service user; `issuer` is the public key by which the gateway lets outsiders in, as an
    account's nkey. Check the file with `nats-server -t` before use.
    """
    tools = {
        MIGRATE: migrate_rights(topology(tenants=tuple(tenants))),
        OPERATOR: operator_rights(),
        PURGE_USER: purge_rights(),
        BACKUP_USER: backup_rights(),
        AUDIT_USER: audit_rights(),
    }
    users = [_user(name, passwords[name], tools[name]) for name in _TOOLS]
    users += [_user(stage.value, passwords[stage.value], service_rights(stage, tenants)) for stage in StageName]
    exports = [line for tenant in tenants for line in _exports(tenant)]
    system = _user(DISCONNECT_USER, passwords[DISCONNECT_USER], disconnect_rights())
    lines = [
        f"system_account: {SYSTEM_ACCOUNT}",
        "authorization {",
        f"  timeout: {SIGN_IN_SECONDS_MAX}",
        f"  auth_callout {{ issuer: {_secret(issuer)}, account: {BUS_ACCOUNT}, auth_users: [{', '.join(service_users())}] }}",
        "}",
        "accounts {",
        f"  {SYSTEM_ACCOUNT} {{ users: [{system}] }}",
        f"  {BUS_ACCOUNT} {{",
        "    jetstream: enabled",
        *_list("users", users),
        *_list("exports", exports),
        *_list(
            "imports", [f"{{ stream: {{ account: {account_of(tenant)}, {_calls(tenant)} }} }}" for tenant in tenants]
        ),
        "  }",
    ]
    for tenant in tenants:
        lines += [
            f"  {account_of(tenant)} {{",
            f"    limits {{ max_connections: {OUTSIDE_CONNECTIONS_MAX}, "
            f"max_subscriptions: {OUTSIDE_SUBSCRIPTIONS_MAX}, max_payload: {OUTSIDE_PAYLOAD_BYTES_MAX} }}",
            *_list("exports", [f'{{ stream: "{ROOT}.call.{tenant}.*.*", accounts: [{BUS_ACCOUNT}] }}']),
            *_list("imports", _imports(tenant)),
            "  }",
        ]
    return "\n".join([*lines, "}", ""])


def variables() -> dict[str, Password]:
    """Return, for a file that operators keep, an environment variable per user in place of its password.

    >>> variables()["gateway"]
    Variable(name='QUERYBUS_PASSWORD_GATEWAY')
    """
    return {name: Variable(f"QUERYBUS_PASSWORD_{name.upper()}") for name in service_users()}


def _pull(stream: str, durable: str) -> list[str]:
    return [
        f"{_API}.CONSUMER.MSG.NEXT.{stream}.{durable}",
        f"$JS.ACK.{stream}.{durable}.>",
        f"{_API}.STREAM.INFO.{stream}",
        f"{_API}.CONSUMER.INFO.{stream}.{durable}",
    ]


def _follow(stream: str) -> list[str]:
    # The unnamed form of CONSUMER.CREATE makes ephemeral consumers only, under names of the server's choice: it can
    # neither touch a durable nor steal its messages, and what it delivers goes to the follower's own inbox.
    return [f"{_API}.CONSUMER.CREATE.{stream}", f"{_API}.CONSUMER.INFO.{stream}.*", f"$JS.FC.{stream}.>"]


_LOG: Final = f"{_API}.DIRECT.GET.{EVENTS}"
_PAGES: Final = f"{_API}.DIRECT.GET.{RESULTS}.{ROOT}.page.>"

_MORE: Final[dict[StageName, Rights]] = {
    StageName.GATEWAY: Rights(
        (
            *_pull(ADVISORIES, SWEEPER),
            # The sweeper follows the log by an ordered consumer of headers, pushed to its own inbox.
            *_follow(EVENTS),
            _LOG,
            _PAGES,
            f"{ROOT}.answer.*.*.*.*",
            audit_subject("*"),
            siem_subject("*"),
            f"{_API}.DIRECT.GET.{AUDIT}.{audit_subject('*')}",
            f"{ROOT}.submit.*.*",
            # A query that waits for its tenant's turn has no log yet: it is read, and cancelled, in its queue.
            f"{_API}.DIRECT.GET.{SUBMIT}.{ROOT}.submit.>",
            f"{ROOT}.ctl.cancel.*.*",
            f"{ROOT}.ctl.refresh.*.*",
            # What an owner asks of the executor, which refuses it where its settings do not allow it.
            f"{ROOT}.rpc.set-up.*",
            # And of the generator, which calls the models and refuses it in the same way.
            f"{ROOT}.rpc.model.*",
            f"{ROOT}.dead.*",
            # Replies to a `call`, into the inbox of the credential that its subject names.
            f"{OUTSIDE_INBOX}.*.*.>",
            # What a server that asks who somebody is waits at.
            "$SYS._INBOX.>",
        ),
        (
            SIGN_IN_SUBJECT,
            f"{ROOT}.call.*.*.*",
            f"{ROOT}.progress.*.*.*.*",
        ),
    ),
    # Of the shared limits whoever asks a model counts what models are asked, and nothing else.
    # It writes the models at an owner's request only: whoever calls them may name them, the gateway may not.
    StageName.GENERATOR: Rights(
        (_LOG, f"$KV.{LIMITS}.model.>", f"$KV.{MODELS}.{MODELS_KEY}", f"{MODEL_SET_UP_INBOX}.*"),
        (every_model_set_up_filter(),),
    ),
    StageName.VALIDATOR: Rights(
        (_LOG, f"{ROOT}.rpc.database.*.*.explain", f"{ROOT}.rpc.database.*.*.probe"),
        (),
    ),
    StageName.EXECUTOR: Rights(
        (f"{ROOT}.page.*.*.*.*", f"_INBOX.{StageName.VALIDATOR}.>", f"{SET_UP_INBOX}.*"),
        (f"{ROOT}.rpc.database.*.*.*", every_set_up_filter(), f"{ROOT}.ctl.refresh.*.*"),
    ),
    StageName.RECOVERY: Rights((), ()),
    StageName.PRESENTER: Rights((_PAGES, f"$KV.{LIMITS}.model.>"), ()),
}


def account_of(tenant: str) -> str:
    """Return the name of a tenant's account, where its outsiders live."""
    return f"TENANT-{tenant}"


def _calls(tenant: str) -> str:
    return f'subject: "{ROOT}.call.{tenant}.*.*"'


def _exports(tenant: str) -> list[str]:
    to = f"accounts: [{account_of(tenant)}]"
    return [
        f'{{ service: "{ROOT}.submit.{tenant}.*", {to} }}',
        *(f'{{ stream: "{subject}", {to} }}' for subject in _given_to(tenant)),
    ]


def _imports(tenant: str) -> list[str]:
    return [
        f'{{ service: {{ account: {BUS_ACCOUNT}, subject: "{ROOT}.submit.{tenant}.*" }} }}',
        *(f'{{ stream: {{ account: {BUS_ACCOUNT}, subject: "{subject}" }} }}' for subject in _given_to(tenant)),
    ]


def _given_to(tenant: str) -> tuple[str, ...]:
    return (f"{ROOT}.answer.{tenant}.*.*.*", f"{ROOT}.progress.{tenant}.*.*.*", f"{OUTSIDE_INBOX}.{tenant}.*.>")


def _user(name: str, password: Password, rights: Rights) -> str:
    publish = ", ".join(_quoted(subject) for subject in rights.publish)
    subscribe = ", ".join(_quoted(subject) for subject in rights.subscribe)
    return (
        f"{{ user: {_quoted(name)}, password: {_secret(password)}, permissions: {{\n"
        f"        publish: {{ allow: [{publish}] }}\n"
        f"        subscribe: {{ allow: [{subscribe}] }} }} }}"
    )


def _secret(password: Password) -> str:
    return f"${password.name}" if isinstance(password, Variable) else _quoted(password)


def _quoted(text: str) -> str:
    if any(character in text for character in '"\\\n\r\0'):
        raise ValueError("a password or subject with a quote, backslash or line end cannot stand in this file")
    return f'"{text}"'


def _list(name: str, items: Sequence[str]) -> list[str]:
    return [f"    {name}: [", *(f"      {item}" for item in items), "    ]"] if items else []
