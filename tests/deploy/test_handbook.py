"""What the operator's handbook says to type does what it says, as far as it can be typed without a cluster."""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from querybus.bus.admin.embedded_server import server_binary
from querybus.bus.admin.issuer import account_nkey
from querybus.bus.admin.permissions import ISSUER_VARIABLE, service_users
from querybus.bus.log.sign import Signer, Verifier
from querybus.core.subjects import StageName
from querybus.core.topology import BACKED_UP, topology
from querybus_cli.app import app
from tests.deploy.rendered import OVERLAYS, ROOT, Resource, of_kind, pod_of, rendered
from tests.deploy.test_manifests import NO_SETTINGS, settings_of

HANDBOOK = ROOT / "docs/operations.md"
PAGES = (HANDBOOK, *(ROOT / "docs" / name for name in ("log.md", "runbook.md")))
NOTES = 'import json, os, sys; open(os.environ["NOTES"], "a").write(json.dumps(sys.argv[1:]) + "\\n")'
"""What stands in for kubectl and helm: it notes what it is reported."""


def blocks(marked: str = "") -> list[str]:
    """Return the handbook's blocks of commands, those with a mark only if one is given."""
    result = re.findall(r"^( *)```(\w*)\n(.*?)^ *```", HANDBOOK.read_text(), re.MULTILINE | re.DOTALL)
    return [re.sub(f"^{indent}", "", text, flags=re.MULTILINE) for indent, mark, text in result if mark == marked]


def wanted_secrets() -> dict[str, set[str]]:
    """Return the Secrets that pods of the overlay prod refer to, with their keys; of databases the names are not known."""
    result: dict[str, set[str]] = {}
    workloads = list(of_kind("prod", "Deployment", "Job").values())
    workloads += [item["spec"]["jobTemplate"] for item in of_kind("prod", "CronJob").values()]
    for pod in map(pod_of, workloads):
        for volume in (volume["secret"] for volume in pod["volumes"] if "secret" in volume):
            result.setdefault(volume["secretName"], set()).update(item["key"] for item in volume["items"])
        for container in pod["containers"]:
            for source in (item["secretRef"] for item in container.get("envFrom", ()) if "secretRef" in item):
                result.setdefault(source["name"], set())
            for variable in container.get("env", ()):
                if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                    result.setdefault(reference["name"], set()).add(reference["key"])
    return result


def test_the_blocks_of_the_installation_make_a_bus_and_every_secret(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("kubectl", "helm"):
        (tools / name).write_text(f"#!{sys.executable}\n{NOTES}\n")
        (tools / name).chmod(0o755)
    (tmp_path / "ca.crt").write_text("an authority")
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    environment = {
        "PATH": os.pathsep.join((str(tools), str(Path(sys.executable).parent), os.environ["PATH"])),
        "NOTES": str(tmp_path / "notes"),
        "MODEL_KEY": "model-key",
        "SHOP_PASSWORD": "shop-password",
    }
    bus, secrets = blocks("sh")
    done = subprocess.run(
        ["sh", "-eu", "-c", bus + secrets], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

    reported: list[list[str]] = [json.loads(line) for line in (tmp_path / "notes").read_text().splitlines()]
    made: dict[str, dict[str, str]] = {}
    for words in reported:
        if words[:5] == ["-n", "querybus", "create", "secret", "generic"]:
            made[words[5]] = dict(word.removeprefix("--from-literal=").split("=", 1) for word in words[6:])
    wanted = wanted_secrets()
    assert set(made) == set(wanted)
    assert all(keys <= set(made[name]) for name, keys in wanted.items()), made
    assert all(value for keys in made.values() for value in keys.values())
    for file in (word for words in reported for word in words if word.endswith(".yaml")):
        assert (ROOT / file).is_file(), file

    # The two halves of the key belong together.
    signature = Signer(made["querybus-validator"]["QUERYBUS_SIGNING_KEY"]).sign("subject", "id", b"body")
    assert Verifier(made["querybus-executor"]["QUERYBUS_VERIFY_KEY"]).verify("subject", "id", b"body", signature)

    issuer_key = base64.b64decode(made["querybus-gateway"]["QUERYBUS_BUS_ISSUER_KEY"])
    issuer = Ed25519PrivateKey.from_private_bytes(issuer_key).public_key().public_bytes_raw()
    assert made["querybus-gateway"]["QUERYBUS_DISCONNECT_PASSWORD"]

    # The server takes the file with these passwords, and each is that of the Secret.
    passwords = dict(line.split("=", 1) for line in (tmp_path / "passwords.env").read_text().splitlines())
    for service in StageName:
        password = made[f"querybus-{service}"]["QUERYBUS_NATS_PASSWORD"]
        assert password == passwords[f"QUERYBUS_PASSWORD_{service.upper()}"]
    assert passwords["QUERYBUS_BUS_ISSUER"] == account_nkey(issuer)
    assert len(set(passwords.values())) == len(passwords)
    (tmp_path / "nats.conf").write_text('jetstream { store_dir: "store" }\ninclude ./permissions.conf\n')
    command = [str(server_binary()), "-t", "-c", "nats.conf"]
    checked = subprocess.run(
        command, cwd=tmp_path, env=environment | passwords, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for name in ("permissions.conf", "passwords.env", "signing.keys", "issuer.keys"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0, name


def test_the_policies_that_an_overlay_must_fill_are_those_that_reach_nothing_yet() -> None:
    (named,) = re.findall(
        r"addresses behind the NetworkPolicies `(\w+)` .*?`(\w+)` \(", HANDBOOK.read_text(), re.DOTALL
    )
    documentation = ("192.0.2.", "198.51.100.", "203.0.113.")
    empty = {
        name for name, value in of_kind("prod", "NetworkPolicy").items() if any(n in str(value) for n in documentation)
    }
    assert set(named) == empty


def selected(overlay: str, selector: str) -> list[Resource]:
    """Return what `kubectl -l` picks, for the two forms that the handbook uses."""
    none_of = re.fullmatch(r"(\S+) notin \((.*)\)", selector)
    key, names = (none_of[1], none_of[2].split(",")) if none_of else tuple(selector.split("="))
    labels = [(item, item["metadata"].get("labels", {}).get(key)) for item in rendered(overlay)]
    return [item for item, label in labels if (label not in names if none_of else label == names)]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_upgrade_applies_all_but_the_services_first_and_then_service_by_service(overlay: str) -> None:
    text = "\n".join(blocks())
    (before,) = re.findall(r"-l '(app\.kubernetes\.io/name notin .*)'", text)
    (order,) = re.findall(r"for s in (.*); do\n +kubectl apply -k <overlay> -l app\.kubernetes\.io/name=\$s", text)
    assert set(order.split()) == set(StageName)
    first = selected(overlay, before)
    assert "Deployment" not in {item["kind"] for item in first}
    assert {"Job", "ConfigMap", "NetworkPolicy", "ServiceAccount"} <= {item["kind"] for item in first}
    rest = [selected(overlay, f"app.kubernetes.io/name={ordering}") for ordering in order.split()]
    assert [[item["kind"] for item in part] for part in rest] == [["Deployment"]] * len(StageName)
    assert len(first) + len(rest) == len(rendered(overlay))
    assert f"job/{next(iter(of_kind(overlay, 'Job')))}" in text


def commands_in(page: Path) -> list[list[str]]:
    """Return each `querybus ...` that a page says to type: in blocks and between backticks."""
    text = page.read_text()
    inline = re.findall(r"`(querybus [^`]+)`", text.replace("\n", " "))
    typed = [line for block in re.findall(r"```.*?\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    lines = inline + [line.strip() for line in typed if line.strip().startswith("querybus ")]
    return [shlex.split(re.split(r" [#>|]", line)[0])[1:] for line in lines]


def wrong_in(words: list[str]) -> str:
    """Return what of a command is not known, or nothing."""
    command: Any = typer.main.get_command(app)
    for number, word in enumerate(words):
        if hasattr(command, "commands"):
            if word not in command.commands:
                return f"no command {word}"
            command = command.commands[word]
        else:
            known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
            unknown = [word for word in words[number:] if word.startswith("--") and word not in known]
            return f"no option {unknown[0]}" if unknown else ""
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_exists_with_its_options(page: Path) -> None:
    result = commands_in(page)
    assert result
    assert {" ".join(item): wrong_in(item) for item in result if wrong_in(item)} == {}


def test_every_line_of_a_log_that_a_page_names_is_written_somewhere() -> None:
    written: set[str] = set()
    for folder in ("libs/common/src", "services", "cli/src"):
        for file in (ROOT / folder).rglob("*.py"):
            written |= set(re.findall(r"_log\.\w+\(\s*\"([a-z_.]+)\"", file.read_text()))
    assert "stage.settled" in written
    areas = {text.partition(".")[0] for text in written}
    for page in PAGES:
        for area, event in re.findall(r"`([a-z]+)\.([a-z_]+|\*)`", page.read_text()):
            # What else has a point is a file or a field.
            if area in areas and event not in ("md", "yaml", "json", "py"):
                assert event == "*" or f"{area}.{event}" in written, f"{page.name}: {area}.{event}"
            elif event == "*":
                raise AssertionError(f"{page.name}: nothing writes {area}.*")


def test_every_panel_and_setting_that_the_handbook_names_exists() -> None:
    text = HANDBOOK.read_text()
    boards = [json.loads(file.read_text()) for file in (ROOT / "deploy/grafana/dashboards").glob("*.json")]
    titles = {board["title"].removeprefix("QueryBus / ") for board in boards}
    panels = {panel["title"] for board in boards for panel in board["panels"]}
    alerts = text[text.index("## Alerts") :]
    named = {re.sub(r"\s+", " ", match) for match in re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", alerts)}
    assert named
    assert {text for text in named if text.partition(" / ")[2] not in panels and text not in panels | titles} == set()
    settings = {f"QUERYBUS_{name.upper()}" for service in StageName for name in settings_of(service).model_fields}
    reported = set(re.findall(r"`?(QUERYBUS_[A-Z_]+[A-Z])\b", text))
    known = settings | NO_SETTINGS | set(re.findall(r"\b(QUERYBUS_[A-Z]+)\b", "\n".join(BACKED_UP)))
    passwords = {f"QUERYBUS_PASSWORD_{service_user.upper()}" for service_user in service_users()}
    streams = {stream.name for stream in topology().streams}
    assert reported - known - passwords - streams - {"QUERYBUS_PASSWORD", ISSUER_VARIABLE} == set()


def test_a_command_or_an_option_that_is_not_there_is_seen() -> None:
    assert wrong_in(["dead", "dead_letter", "1"])
    assert wrong_in(["backup", "there", "--gently"])
    assert not wrong_in(["dead", "list", "--stage", "generator"])
