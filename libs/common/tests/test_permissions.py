"""The permission file grants from the table and nothing beside it; nats-server itself accepts it."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from querybus.bus.admin.embedded_server import server_binary
from querybus.bus.admin.issuer import generate_issuer
from querybus.bus.admin.permissions import (
    ISSUER_VARIABLE,
    Outsider,
    Rights,
    Variable,
    audit_rights,
    backup_rights,
    disconnect_rights,
    migrate_rights,
    operator_rights,
    outside_rights,
    permission_file,
    purge_rights,
    service_rights,
    service_users,
    variables,
)
from querybus.core.subjects import MODEL_SET_UP_INBOX, SET_UP_INBOX, WRITES, EventName, StageName
from querybus.core.topology import BACKED_UP, topology

OUTSIDERS = (
    Outsider("acme", "app", "alice", "business"),
    Outsider("acme", "app-2", "bob", "analyst"),
    Outsider("other", "app", "alice", "business"),
)
TENANTS = ("acme", "other")
ISSUER = generate_issuer()[1]
SERVICES = {stage: service_rights(stage, ("acme", "other")) for stage in StageName}


def passwords() -> dict[str, str]:
    return {name: f"secret-{name}" for name in service_users()}


def holders(prefix: str) -> set[StageName]:
    return {stage for stage, rights in SERVICES.items() if any(text.startswith(prefix) for text in rights.publish)}


@pytest.mark.requirement("002.10")
def test_each_service_may_publish_exactly_its_events() -> None:
    for stage, rights in SERVICES.items():
        events = {text.rpartition(".")[2] for text in rights.publish if text.startswith("querybus.v1.event.")}
        assert events == {str(event) for event in WRITES[stage]}


@pytest.mark.requirement("000.20")
def test_only_the_validator_approves_and_only_it_asks_the_database() -> None:
    approve = f"querybus.v1.event.*.*.*.{EventName.APPROVED}"
    assert {stage for stage, rights in SERVICES.items() if approve in rights.publish} == {StageName.VALIDATOR}
    assert holders("querybus.v1.rpc.database") == {StageName.VALIDATOR}


def test_only_the_gateway_asks_for_changes_of_connections_and_the_executor_replies_to_nothing_else_of_it() -> None:
    assert holders("querybus.v1.rpc.set-up.") == {StageName.GATEWAY}
    replies = {right for right in SERVICES[StageName.EXECUTOR].publish if right.startswith("_INBOX.gateway")}
    assert replies == {f"{SET_UP_INBOX}.*"}


def test_only_the_gateway_asks_about_models_and_only_the_generator_writes_them_into_one_key() -> None:
    assert holders("querybus.v1.rpc.model.") == {StageName.GATEWAY}
    replies = {right for right in SERVICES[StageName.GENERATOR].publish if right.startswith("_INBOX.")}
    assert replies == {f"{MODEL_SET_UP_INBOX}.*"}
    assert holders("$KV.querybus_models.") == {StageName.GENERATOR}
    written = [right for right in SERVICES[StageName.GENERATOR].publish if right.startswith("$KV.querybus_models")]
    assert written == ["$KV.querybus_models.all"]


def test_only_the_executor_serves_the_database_and_writes_catalog_connections_and_writes() -> None:
    serving = {
        stage for stage, rights in SERVICES.items() if any("rpc.database" in message for message in rights.subscribe)
    }
    assert serving == {StageName.EXECUTOR}
    for bucket in ("catalog", "connections", "writes"):
        assert holders(f"$KV.querybus_{bucket}.") == {StageName.EXECUTOR}


def test_only_the_gateway_reads_credentials() -> None:
    readers = {
        stage
        for stage, rights in SERVICES.items()
        if any("querybus_credentials" in item for item in (*rights.publish, *rights.subscribe))
    }
    assert readers == {StageName.GATEWAY}


def test_only_two_services_answer_a_service_and_only_the_gateway_answers_outsiders() -> None:
    assert holders("_INBOX.") == {StageName.EXECUTOR, StageName.GENERATOR, StageName.GATEWAY}
    into = [subject for subject in SERVICES[StageName.GATEWAY].publish if subject.startswith("_INBOX.")]
    assert into == ["_INBOX.out.*.*.>"]


def test_only_the_gateway_says_who_may_come_in_and_only_its_tool_ends_connections() -> None:
    assert holders("$SYS.") == {StageName.GATEWAY}
    asked = {stage for stage, rights in SERVICES.items() if any(item.startswith("$SYS.") for item in rights.subscribe)}
    assert asked == {StageName.GATEWAY}
    assert all(item.rpartition(".")[2] in ("CONNZ", "KICK") for item in disconnect_rights().publish)
    assert disconnect_rights().subscribe == ("_INBOX.disconnect.>",)


def test_each_user_receives_only_its_own_inbox() -> None:
    for stage, rights in SERVICES.items():
        assert [message for message in rights.subscribe if message.startswith("_INBOX")] == [f"_INBOX.{stage}.>"]
    for outsider in OUTSIDERS:
        inboxes = [message for message in outside_rights(outsider).subscribe if message.startswith("_INBOX")]
        assert inboxes == [f"_INBOX.out.{outsider.tenant}.{outsider.credential}.>"]


def test_nobody_may_delete_purge_or_say_everything() -> None:
    everybody = [*SERVICES.values(), migrate_rights(topology(tenants=("acme",))), *map(outside_rights, OUTSIDERS)]
    for rights in everybody:
        for subject in (*rights.publish, *rights.subscribe):
            assert subject not in (">", "*", "$JS.>", "$JS.API.>", "$KV.>", "_INBOX.>", "querybus.>", "querybus.v1.>")
            assert "DELETE" not in subject
            assert "PURGE" not in subject


def test_only_the_purge_purges_and_only_the_operator_drops_and_only_a_dead_letter() -> None:
    harmful = [
        item for item in (*purge_rights().publish, *operator_rights().publish) if "PURGE" in item or "DELETE" in item
    ]
    assert set(harmful) - {"$JS.API.STREAM.MSG.DELETE.QUERYBUS_DEAD"} == set(purge_rights().publish)
    assert not any(".event." in item for item in (*purge_rights().publish, *operator_rights().publish))


def test_only_the_gateway_writes_the_audit_and_only_a_siem_and_the_operator_read_it() -> None:
    writers = {stage for stage, rights in SERVICES.items() if "querybus.v1.audit.*" in rights.publish}
    assert writers == {StageName.GATEWAY} == holders("querybus.v1.siem.")
    assert audit_rights().publish == ("$JS.API.DIRECT.GET.QUERYBUS_AUDIT",)
    assert audit_rights().subscribe == ("querybus.v1.siem.*", "_INBOX.audit.>")
    assert "$JS.API.DIRECT.GET.QUERYBUS_AUDIT" in operator_rights().publish
    listeners = [*SERVICES.values(), operator_rights(), purge_rights(), *map(outside_rights, OUTSIDERS)]
    assert not any(".siem." in item or ".audit." in item for rights in listeners for item in rights.subscribe)


def test_only_the_backup_copies_and_restores_and_it_can_do_nothing_else() -> None:
    words = ("SNAPSHOT", "RESTORE")
    others = [*SERVICES.values(), migrate_rights(topology()), operator_rights(), purge_rights()]
    assert not any(word in item for rights in others for item in rights.publish for word in words)
    allowed = re.compile(r"\$JS\.API\.STREAM\.(INFO|SNAPSHOT|RESTORE)\.(\w+)|\$JS\.SNAPSHOT\.(ACK|RESTORE)\.(\w+)\.>")
    assert all(allowed.fullmatch(item) for item in backup_rights().publish)
    assert backup_rights().subscribe == ("_INBOX.backup.>",)


def test_what_a_backup_leaves_out_is_made_anew_or_is_work_under_way() -> None:
    table = topology()
    everything = {stream.name for stream in table.streams} | {bucket.stream for bucket in table.buckets}
    made_anew = {"KV_querybus_catalog", "KV_querybus_connections"}
    under_way = {"QUERYBUS_SUBMIT", "QUERYBUS_RESULTS", "QUERYBUS_ADVISORIES"}
    assert set(BACKED_UP) == everything - made_anew - under_way
    # Which write was begun is known of all that is in the log.
    assert BACKED_UP.index("QUERYBUS") < BACKED_UP.index("KV_querybus_writes")


def test_no_service_may_make_or_change_a_durable() -> None:
    for rights in SERVICES.values():
        creating = [item for item in rights.publish if "CONSUMER.CREATE" in item or "DURABLE.CREATE" in item]
        # Without a name in the subject the server makes an ephemeral consumer, under a name of its own.
        assert all(len(text.split(".")) == 5 for text in creating)


def test_an_outsider_has_nothing_of_the_bus_api() -> None:
    for outsider in OUTSIDERS:
        rights = outside_rights(outsider)
        assert not any(text.startswith("$") for text in (*rights.publish, *rights.subscribe))
        assert all(f".{outsider.tenant}." in item for item in (*rights.publish, *rights.subscribe))


def test_an_outsiders_rights_are_exactly_its_calls_its_submit_and_its_users_answers() -> None:
    assert outside_rights(OUTSIDERS[1]) == Rights(
        ("querybus.v1.call.acme.app-2.*", "querybus.v1.submit.acme.app-2"),
        (
            "_INBOX.out.acme.app-2.>",
            "querybus.v1.answer.acme.bob.analyst.*",
            "querybus.v1.progress.acme.bob.analyst.*",
        ),
    )


def test_a_narrowed_outsider_receives_no_answers_of_its_user() -> None:
    narrowed = replace(OUTSIDERS[1], is_narrowed=True)
    assert outside_rights(narrowed).subscribe == ("_INBOX.out.acme.app-2.>",)
    assert outside_rights(narrowed).publish == outside_rights(OUTSIDERS[1]).publish


@pytest.mark.parametrize("name", ["Acme", "a.b", "*", "", "a b", ">"])
def test_an_outsider_whose_names_are_no_tokens_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a subject token"):
        Outsider(name, "app", "alice", "business")


def test_a_user_without_a_password_is_named() -> None:
    incomplete = passwords()
    del incomplete["recovery"]
    with pytest.raises(KeyError, match="recovery"):
        permission_file(incomplete, ISSUER, TENANTS)


def test_a_password_cannot_break_out_of_its_quotes() -> None:
    with pytest.raises(ValueError, match="cannot stand in this file"):
        permission_file({**passwords(), "gateway": 'x", permissions: {} }'}, ISSUER, TENANTS)


def test_the_file_opens_no_api_for_nobody() -> None:
    text = permission_file(passwords(), ISSUER, TENANTS)
    for word in ("no_auth_user", "allow_responses"):
        assert word not in text
    assert text.count("jetstream") == 1


@pytest.mark.process
def test_the_server_accepts_the_file(tmp_path: Path) -> None:
    assert checked(tmp_path, permission_file(passwords(), ISSUER, TENANTS)) == 0


@pytest.mark.process
def test_the_server_accepts_a_file_without_tenants(tmp_path: Path) -> None:
    assert checked(tmp_path, permission_file(passwords(), ISSUER)) == 0


@pytest.mark.process
def test_an_operators_file_holds_no_password_and_reads_them_from_the_environment(tmp_path: Path) -> None:
    names = variables()
    text = permission_file(names, Variable(ISSUER_VARIABLE), TENANTS)
    assert "secret" not in text
    assert "password: $QUERYBUS_PASSWORD_DISCONNECT," in text
    environment = {name.name: "secret" for name in names.values() if not isinstance(name, str)}
    environment[ISSUER_VARIABLE] = ISSUER
    assert checked(tmp_path, text, environment) == 0
    del environment["QUERYBUS_PASSWORD_GATEWAY"]
    assert checked(tmp_path, text, environment) != 0


def checked(folder: Path, text: str, environment: dict[str, str] | None = None) -> int:
    file = folder / "nats.conf"
    file.write_text(f'listen: "127.0.0.1:-1"\njetstream {{ store_dir: "{folder}" }}\n{text}')
    # Only what is asked for: the environment of whoever runs the tests says nothing here.
    result = subprocess.run(
        [server_binary(), "-t", "-c", str(file)],
        check=False,
        capture_output=True,
        timeout=20,
        env={"PATH": os.defpath, **(environment or {})},
    )
    return result.returncode
