"""The Kubernetes manifests: pods are restricted, reported only what their service knows, and reach only what they need."""

from __future__ import annotations

import copy
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_core import PydanticUndefined
from typer.testing import CliRunner

from querybus.bus.admin.permissions import BUS_ACCOUNT, service_users
from querybus.bus.serving import HTTP_CLOSE_SECONDS_MAX
from querybus.core.policy import ConnectionPolicy
from querybus.core.subjects import StageName
from querybus.core.topology import EVENTS, Sizes, topology
from querybus.llm import ModelServiceSettings
from querybus.ops.settings import ServiceSettings
from querybus_cli import app as querybus_app
from querybus_cli import runtime
from querybus_cli.commands.operate import backup as backup_commands
from querybus_cli.operations import backups
from querybus_gateway.grpc.server import SERVICES
from tests.deploy.rendered import (
    OVERLAYS,
    ROOT,
    Resource,
    environment,
    has_kubectl,
    of_kind,
    own_rendering,
    pod_of,
    rendered,
    rendered_text,
)

DATABASE_PORTS = {1433, 1521, 3306, 5432, 8123, 9000, 9440, 443}
VOLUMES_ALLOWED = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
# Read by the process before its settings, or by Python's TLS.
NO_SETTINGS = {"QUERYBUS_SECRETS_DIR", "SSL_CERT_FILE"}
GRPC_SERVICE = "querybus.v1.QueryService"
"""Asked for at the start of a gateway; `test_health_and_reflection_report_what_is_served` asks a running one."""
MIGRATE_VARIABLES = {"QUERYBUS_NATS_URL", "QUERYBUS_NATS_PASSWORD", "QUERYBUS_TENANTS"}


def settings_of(service: str) -> type[ServiceSettings]:
    return importlib.import_module(f"querybus_{service}.settings").Settings


def variables_of(service: str) -> set[str]:
    return {f"QUERYBUS_{name.upper()}" for name in settings_of(service).model_fields}


def workloads(overlay: str) -> dict[str, Resource]:
    return of_kind(overlay, "Deployment", "Job")


def breaches(workload: Resource) -> list[str]:
    """Return how a workload breaks the restricted profile or the rules of ours that go beyond it."""
    pod = pod_of(workload)
    wrong: list[str] = []
    pod_security = pod.get("securityContext", {})
    wrong += [key for key in ("hostNetwork", "hostPID", "hostIPC") if pod.get(key)]
    wrong += [
        f"volume {volume['name']}" for volume in pod.get("volumes", ()) if set(volume) - {"name"} - VOLUMES_ALLOWED
    ]
    if pod.get("automountServiceAccountToken") is not False:
        wrong.append("service account token")
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        own = container.get("securityContext", {})
        security = {**pod_security, **own}
        capabilities = own.get("capabilities", {})
        if own.get("allowPrivilegeEscalation") is not False or own.get("privileged"):
            wrong.append("privilege escalation")
        if "ALL" not in capabilities.get("drop", ()) or set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
            wrong.append("capabilities")
        if security.get("runAsNonRoot") is not True or security.get("runAsUser", 0) < 10_000:
            wrong.append("root")
        if security.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
            wrong.append("seccomp")
        if own.get("readOnlyRootFilesystem") is not True:
            wrong.append("writable root")
        if container.get("imagePullPolicy") != "IfNotPresent":
            wrong.append("pull policy")
        if any(port.get("hostPort") for port in container.get("ports", ())):
            wrong.append("host port")
        limits, requests = (container.get("resources", {}).get(key, {}) for key in ("limits", "requests"))
        if "memory" not in limits or "cpu" in limits or not {"cpu", "memory"} <= set(requests):
            wrong.append("resources")
        mounted = {mount["mountPath"]: mount["name"] for mount in container.get("volumeMounts", ())}
        sized = {volume["name"] for volume in pod.get("volumes", ()) if volume.get("emptyDir", {}).get("sizeLimit")}
        if mounted.get("/tmp") not in sized:
            wrong.append("no sized temp directory")
    return wrong


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_keeps_the_restricted_profile(overlay: str) -> None:
    result = workloads(overlay)
    assert set(StageName) <= set(result)
    assert {name: breaches(value) for name, value in result.items() if breaches(value)} == {}
    (namespace,) = of_kind(overlay, "Namespace").values()
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for account in of_kind(overlay, "ServiceAccount").values():
        assert account["automountServiceAccountToken"] is False


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("securityContext", "runAsUser"), 0),
        (("securityContext", "runAsNonRoot"), None),
        (("securityContext", "seccompProfile"), {"type": "Unconfined"}),
        (("hostNetwork",), True),
        (("automountServiceAccountToken",), True),
        (("containers", 0, "securityContext", "readOnlyRootFilesystem"), False),
        (("containers", 0, "securityContext", "allowPrivilegeEscalation"), True),
        (("containers", 0, "securityContext", "capabilities"), {"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
        (("containers", 0, "resources", "limits"), {}),
        (("volumes", 0), {"name": "tmp", "hostPath": {"path": "/"}}),
    ],
)
def test_the_check_of_the_profile_sees_each_breach(path: tuple[Any, ...], value: Any) -> None:
    workload = copy.deepcopy(workloads("prod")["validator"])
    place: Any = pod_of(workload)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert breaches(workload)


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("service", [str(stage) for stage in StageName])
def test_what_a_pod_is_reported_are_settings_of_its_service_and_all_that_it_needs(
    overlay: str, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = environment(overlay, workloads(overlay)[service])
    assert set(reported) - NO_SETTINGS <= variables_of(service)
    fields = settings_of(service).model_fields
    required = {f"QUERYBUS_{name.upper()}" for name, field in fields.items() if field.default is PydanticUndefined}
    needed = required | {"QUERYBUS_NATS_URL", "QUERYBUS_NATS_PASSWORD", "QUERYBUS_HTTP_HOST", "QUERYBUS_HTTP_PORT"}
    assert needed <= set(reported)
    if reported["QUERYBUS_ENVIRONMENT"] == "production":
        assert reported["QUERYBUS_NATS_MONITORING_URL"]
    # The settings themselves accept the values: a list is written as one, a number is in range.
    for name, value in reported.items():
        monkeypatch.setenv(name, value if value is not None else "secret")
    monkeypatch.delenv("QUERYBUS_SECRETS_DIR", raising=False)
    settings_of(service)()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_secrets_are_secrets_and_only_where_they_are_needed(overlay: str) -> None:
    holders: dict[str, set[str]] = {}
    for service in StageName:
        pod = pod_of(workloads(overlay)[service])
        (container,) = pod["containers"]
        for item in (volume["secret"] for volume in pod["volumes"] if "secret" in volume):
            holders.setdefault(item["secretName"], set()).add(service)
        for item in (source["secretRef"] for source in container["envFrom"] if "secretRef" in source):
            holders.setdefault(item["name"], set()).add(service)
        reported = environment(overlay, workloads(overlay)[service])
        secret = {
            f"QUERYBUS_{name.upper()}"
            for name, field in settings_of(service).model_fields.items()
            if "SecretStr" in str(field.annotation)
        }
        plain = {name for name in secret & set(reported) if reported[name] is not None}
        assert plain == set(), f"{service} has a secret in the open"
        assert ("QUERYBUS_SIGNING_KEY" in reported) == (service is StageName.VALIDATOR)
        assert ("QUERYBUS_LLM_API_KEY" in reported) == issubclass(settings_of(service), ModelServiceSettings)
    assert holders == {f"querybus-{service}": {service} for service in StageName} | {"querybus-databases": {"executor"}}
    assert of_kind(overlay, "Secret") == {}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_migration_is_reported_what_the_command_reads(overlay: str) -> None:
    (job,) = of_kind(overlay, "Job").values()
    reported = environment(overlay, job)
    assert set(reported) - NO_SETTINGS == MIGRATE_VARIABLES
    assert reported["QUERYBUS_NATS_PASSWORD"] is None
    gateway = environment(overlay, workloads(overlay)["gateway"])
    assert gateway["QUERYBUS_TENANTS"] == reported["QUERYBUS_TENANTS"] == "acme"
    assert "migrate" in service_users()


def test_the_nightly_backup_is_closed_is_reported_what_the_command_reads_and_keeps_only_its_own_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (cron,) = of_kind("prod", "CronJob").values()
    job = cron["spec"]["jobTemplate"]
    assert breaches(job) == []
    reported = environment("prod", job)
    (container,) = pod_of(job)["containers"]
    assert set(reported) - NO_SETTINGS == {"QUERYBUS_NATS_URL", "QUERYBUS_NATS_PASSWORD"}
    assert reported["QUERYBUS_NATS_PASSWORD"] is None
    assert [
        variable["valueFrom"]["secretKeyRef"]["name"]
        for variable in container["env"]
        if "secretKeyRef" in str(variable)
    ] == ["querybus-backup"]
    assert "backup" in service_users()
    # It writes to its own volume, and the command takes these words.
    (claim,) = of_kind("prod", "PersistentVolumeClaim")
    (mounted,) = [volume["name"] for volume in pod_of(job)["volumes"] if "persistentVolumeClaim" in volume]
    assert {"name": "backups", "mountPath": container["args"][2]} in container["volumeMounts"]
    assert (claim, mounted) == ("querybus-backups", "backups")
    received: list[Any] = []
    monkeypatch.setattr(backups, "back_up", lambda place, folder, _: received.append((place, folder)))
    monkeypatch.setattr(backups, "thin_out", lambda *given: received.append(given) or ())
    monkeypatch.setattr(backup_commands, "_show", lambda *_: None)
    monkeypatch.setattr(runtime, "run", lambda _: ())
    environ = {"QUERYBUS_NATS_URL": reported["QUERYBUS_NATS_URL"], "QUERYBUS_NATS_PASSWORD": "p"}
    done = CliRunner().invoke(querybus_app.app, container["args"], env=environ, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (_, folder), (parent, newest, keep) = received
    assert (parent, newest, keep) == (Path("/backups"), folder, 14)
    assert folder.parent == Path("/backups")


def test_the_operators_pod_is_closed_holds_no_password_and_finds_the_bus_and_the_backups() -> None:
    pod = yaml.safe_load((ROOT / "deploy/k8s/tools/operator.yaml").read_text())
    assert breaches({"spec": {"template": pod}}) == []
    (container,) = pod["spec"]["containers"]
    reported = {variable["name"]: variable["value"] for variable in container["env"]}
    cron = of_kind("prod", "CronJob")["backup"]["spec"]["jobTemplate"]
    mounts = {volumeMount["name"]: volumeMount for volumeMount in pod_of(cron)["containers"][0]["volumeMounts"]}
    assert reported["QUERYBUS_NATS_URL"] == environment("prod", cron)["QUERYBUS_NATS_URL"]
    assert "QUERYBUS_NATS_PASSWORD" not in reported
    assert container["image"] == pod_of(cron)["containers"][0]["image"]
    assert {volumeMount["name"] for volumeMount in container["volumeMounts"]} == set(mounts)
    assert reported["SSL_CERT_FILE"].startswith(mounts["authorities"]["mountPath"])
    # Every pod of the stack's namespace reaches the bus; no policy names this one, so it reaches nothing else.
    assert {where for where, _ in paths_out("prod", "operator")} == {"kube-system", "nats"}


@pytest.mark.requirement("002.25")
def test_a_cluster_of_three_keeps_three_copies() -> None:
    (job,) = of_kind("prod", "Job").values()
    arguments = pod_of(job)["containers"][0]["args"]
    values = yaml.safe_load((ROOT / "deploy/nats/values.yaml").read_text())["config"]
    assert int(arguments[arguments.index("--replicas") + 1]) == values["cluster"]["replicas"] == 3
    assert values["jetstream"]["merge"]["sync_interval"] == "always"
    assert values["nats"]["tls"]["enabled"]
    assert values["cluster"]["tls"]["enabled"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_pod_lives_longer_than_its_drain_and_the_drain_longer_than_the_longest_job(overlay: str) -> None:
    longest = {
        "executor": ConnectionPolicy.model_fields["statement_timeout_seconds"].default,
        "generator": ModelServiceSettings.model_fields["llm_total_timeout_seconds"].default,
    }
    for service in StageName:
        workload = workloads(overlay)[service]
        drain = float(environment(overlay, workload)["QUERYBUS_DRAIN_SECONDS"] or 0)
        pause = pod_of(workload)["containers"][0].get("lifecycle", {}).get("preStop", {}).get("sleep", {"seconds": 0})
        assert pod_of(workload)["terminationGracePeriodSeconds"] > drain + HTTP_CLOSE_SECONDS_MAX + pause["seconds"]
        assert drain > longest.get(service, 0)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_probes_ports_budgets_monitors_and_spread_are_those_of_the_service(overlay: str) -> None:
    for service in StageName:
        workload = workloads(overlay)[service]
        reported = environment(overlay, workload)
        (container,) = pod_of(workload)["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert ports["metrics"] == int(reported["QUERYBUS_HTTP_PORT"] or 0)
        assert ports.get("http", 0) == int(reported.get("QUERYBUS_API_PORT") or 0)
        assert ports.get("grpc", 0) == int(reported.get("QUERYBUS_GRPC_PORT") or 0)
        for probe, path in (("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
            assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
        startup = container["startupProbe"]
        if service is StageName.GATEWAY:
            # The kubelet speaks neither TLS nor keys, and knows no port by its name.
            assert startup["grpc"] == {"port": int(reported["QUERYBUS_GRPC_PORT"] or 0), "service": GRPC_SERVICE}
            assert reported["QUERYBUS_API_HOST"] == "0.0.0.0"
        else:
            assert startup["httpGet"] == {"path": "/livez", "port": "metrics"}
        assert startup["periodSeconds"] * startup["failureThreshold"] >= 60
        labels = workload["spec"]["template"]["metadata"]["labels"]
        selector = {"app.kubernetes.io/name": str(service)}
        assert selector.items() <= labels.items()
        assert workload["spec"]["selector"]["matchLabels"] == selector
        assert of_kind(overlay, "PodDisruptionBudget")[service]["spec"]["selector"]["matchLabels"] == selector
        monitor = of_kind(overlay, "PodMonitor")[f"querybus-{service}"]["spec"]
        assert monitor["selector"]["matchLabels"] == selector
        assert monitor["podMetricsEndpoints"][0]["port"] == "metrics"
        spread = pod_of(workload)["topologySpreadConstraints"]
        assert {item["topologyKey"] for item in spread} == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
        assert all(item["labelSelector"]["matchLabels"] == selector for item in spread)
        assert "replicas" not in workload["spec"]
        assert "/" not in container["image"]


def test_the_service_that_the_probe_asks_for_is_one_of_the_api() -> None:
    assert GRPC_SERVICE in SERVICES


@pytest.mark.requirement("card.16")
def test_keda_watches_the_durables_that_migrate_makes() -> None:
    durables = {(consumer.stream, consumer.name) for consumer in topology().consumers}
    scaled = of_kind("prod", "ScaledObject")
    assert set(scaled) == set(StageName) - {StageName.GATEWAY}
    values = yaml.safe_load((ROOT / "deploy/nats/values.yaml").read_text())["config"]
    for name, item in scaled.items():
        assert item["spec"]["scaleTargetRef"]["name"] == name
        (trigger,) = item["spec"]["triggers"]
        reported = trigger["metadata"]
        assert trigger["type"] == "nats-jetstream"
        assert all(isinstance(value, str) for value in reported.values())
        assert (reported["stream"], reported["consumer"]) in durables
        assert (reported["stream"], reported["consumer"], reported["account"]) == (EVENTS, name, BUS_ACCOUNT)
        host, _, port = reported["natsServerMonitoringEndpoint"].partition(":")
        assert host.split(".")[0].endswith("-headless")
        assert int(port) == values["monitor"]["port"]
        assert int(reported["lagThreshold"]) > 0
        spec = item["spec"]
        assert 1 <= spec["minReplicaCount"] < spec["maxReplicaCount"]
        slots = settings_of(name).model_fields["slots"].default
        assert spec["maxReplicaCount"] * slots * 4 <= Sizes().max_ack_pending
    scalers = of_kind("prod", "HorizontalPodAutoscaler")
    assert set(scalers).isdisjoint(scaled)
    assert {scaler["spec"]["scaleTargetRef"]["name"] for scaler in scalers.values()} == {"gateway"}


def selects(policy: Resource, service: str) -> bool:
    selector = policy["spec"]["podSelector"]
    labels = {"app.kubernetes.io/name": service}
    if not selector.get("matchLabels", {}).items() <= labels.items():
        return False
    return all(
        matchExpression["operator"] == "In" and labels.get(matchExpression["key"]) in matchExpression["values"]
        for matchExpression in selector.get("matchExpressions", ())
    )


def paths_out(overlay: str, service: str) -> list[tuple[str, int]]:
    """Return (where to, port) of every way out of a pod."""
    pairs: list[tuple[str, int]] = []
    for policy in of_kind(overlay, "NetworkPolicy").values():
        if selects(policy, service):
            for rule in policy["spec"].get("egress", ()):
                assert rule.get("to"), f"{policy['metadata']['name']} lets out to everywhere"
                assert rule.get("ports"), f"{policy['metadata']['name']} lets out on every port"
                for to in rule["to"]:
                    names = to.get("namespaceSelector", {}).get("matchLabels", {})
                    where = names.get("kubernetes.io/metadata.name") or to.get("ipBlock", {}).get("cidr", "anywhere")
                    pairs += [(where, port["port"]) for port in rule["ports"]]
    return pairs


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_way_out_exists_because_a_setting_needs_it(overlay: str) -> None:
    policies = of_kind(overlay, "NetworkPolicy")
    assert policies["default-deny"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    common = {("kube-system", 53), ("nats", 4222), ("nats", 8222)}
    for service in StageName:
        reported = environment(overlay, workloads(overlay)[service])
        ways = set(paths_out(overlay, service))
        wanted = set(common)
        assert reported["QUERYBUS_NATS_URL"] is not None
        assert reported["QUERYBUS_NATS_URL"].endswith(".nats.svc.cluster.local:4222")
        assert (reported["QUERYBUS_NATS_MONITORING_URL"] or "").endswith(".nats.svc.cluster.local:8222")
        if "QUERYBUS_OTLP_ENDPOINT" in variables_of(service):
            wanted.add(("observability", 4318))
        beyond = ways - wanted
        assert wanted <= ways
        assert "anywhere" not in {where for where, _ in ways}
        assert bool(beyond) == bool(variables_of(service) & {"QUERYBUS_CONNECTIONS_FILE", "QUERYBUS_LLM_BASE_URL"}), (
            f"{service}: {beyond}"
        )
    assert set(paths_out(overlay, "migrate")) == common


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_only_the_executor_reaches_a_database_and_only_who_words_the_model(overlay: str) -> None:
    shared = {"kube-system", "nats", "observability"}
    beyond = {
        service: {(where, port) for where, port in paths_out(overlay, service) if where not in shared}
        for service in (*StageName, "migrate")
    }
    assert {port for _, port in beyond["executor"]} & DATABASE_PORTS
    assert {port for _, port in beyond["generator"]} == {443}
    assert {where for where, _ in beyond["executor"]}.isdisjoint(where for where, _ in beyond["generator"])
    assert beyond["presenter"] == beyond["generator"]
    for service in ("gateway", "validator", "recovery", "migrate"):
        assert beyond[service] == set()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_only_prometheus_and_the_ingress_come_in(overlay: str) -> None:
    ways: dict[str, set[tuple[str, str]]] = {}
    for service in (*StageName, "migrate"):
        for policy in of_kind(overlay, "NetworkPolicy").values():
            if selects(policy, service):
                for rule in policy["spec"].get("ingress", ()):
                    (source,) = rule["from"]
                    where = source["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
                    ways.setdefault(service, set()).update((where, port["port"]) for port in rule["ports"])
    assert ways == {
        str(service): {("monitoring", "metrics")}
        | ({("ingress-nginx", "http"), ("ingress-nginx", "grpc")} if service == "gateway" else set())
        for service in StageName
    }


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_ingress_leads_every_service_of_the_grpc_contract_to_its_port(overlay: str) -> None:
    apis = of_kind(overlay, "Ingress")
    (service,) = of_kind(overlay, "Service").values()
    offered = {port["name"] for port in service["spec"]["ports"]}
    led: dict[str, dict[str, str]] = {}
    for name, api in apis.items():
        (rule,) = api["spec"]["rules"]
        assert rule["host"] in api["spec"]["tls"][0]["hosts"]
        led[name] = {path["path"]: path["backend"]["service"]["port"]["name"] for path in rule["http"]["paths"]}
        assert set(led[name].values()) <= offered
    contract = "\n".join(file.read_text() for file in (ROOT / "proto/querybus/v1").glob("*.proto"))
    services = set(re.findall(r"^service (\w+)", contract, re.MULTILINE))
    assert services
    assert led == {
        "gateway": {"/": "http"},
        "gateway-grpc": {f"/querybus.v1.{service}": "grpc" for service in services},
    }
    annotations = apis["gateway-grpc"]["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/backend-protocol"] == "GRPC"


def test_the_bus_lets_in_who_needs_it() -> None:
    policy = yaml.safe_load((ROOT / "deploy/nats/networkpolicies.yaml").read_text())["spec"]
    ports = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    assert ports == {4222, 8222, 7777, 6222}
    assert all(rule["from"] for rule in policy["ingress"])
    (ours, *_) = policy["ingress"]
    (namespaces,) = ours["from"][0]["namespaceSelector"]["matchExpressions"]
    assert set(namespaces["values"]) == {next(iter(of_kind(overlay, "Namespace"))) for overlay in OVERLAYS}


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.requirement("card.12")
def test_every_name_that_is_referred_to_exists_or_is_the_operators_to_make(overlay: str) -> None:
    config = set(of_kind(overlay, "ConfigMap")) | {"querybus-authorities"}
    accounts = set(of_kind(overlay, "ServiceAccount"))
    (namespace,) = of_kind(overlay, "Namespace")
    for workload in workloads(overlay).values():
        pod = pod_of(workload)
        assert pod["serviceAccountName"] in accounts
        assert {volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume} <= config
        mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}
    for item in rendered(overlay):
        assert item["metadata"].get("namespace", namespace) == namespace
        if item["kind"] in ("Deployment", "NetworkPolicy", "PodDisruptionBudget", "PodMonitor", "Job"):
            assert item["metadata"]["labels"]["app.kubernetes.io/part-of"] == "querybus"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_renderer_that_stands_in_gives_what_kubectl_gives(overlay: str) -> None:
    if not has_kubectl():
        pytest.skip("kubectl is missing or too old: install version 1.30 or newer")
    generated = re.compile(r"\b(querybus-(?:common|gateway|migrate|model|connections))-[a-z0-9]{10}\b")
    theirs = yaml.safe_load_all(generated.sub(r"\1", rendered_text(overlay)))
    ours = own_rendering(ROOT / "deploy/k8s/overlays" / overlay)

    def by_name(resources: Any) -> dict[tuple[str, str], Resource]:
        return {(resource["kind"], resource["metadata"]["name"]): resource for resource in resources if resource}

    assert by_name(ours) == by_name(theirs)


def test_every_dashboard_reaches_grafanas_sidecar() -> None:
    result = {
        key: item["metadata"]["labels"]
        for item in of_kind("prod", "ConfigMap").values()
        for key in item.get("data", {})
        if key.endswith(".json")
    }
    assert set(result) == {file.name for file in (ROOT / "deploy/grafana/dashboards").glob("*.json")}
    assert all(labels["grafana_dashboard"] == "1" for labels in result.values())


# The fields that we use of kinds that Kubernetes itself does not have; a leaf is the type that the operator reads.
_POLICY = {"type": str, "value": int, "periodSeconds": int}
_BEHAVIOUR = {"stabilizationWindowSeconds": int, "policies": [_POLICY]}
CUSTOM: dict[str, Any] = {
    "ScaledObject": {
        "scaleTargetRef": {"name": str},
        "pollingInterval": int,
        "cooldownPeriod": int,
        "minReplicaCount": int,
        "maxReplicaCount": int,
        "fallback": {"failureThreshold": int, "replicas": int},
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleUp": _BEHAVIOUR, "scaleDown": _BEHAVIOUR}}},
        "triggers": [
            {
                "type": str,
                "metadata": {
                    "natsServerMonitoringEndpoint": str,
                    "account": str,
                    "stream": str,
                    "consumer": str,
                    "lagThreshold": str,
                    "activationLagThreshold": str,
                    "useHttps": str,
                },
            }
        ],
    },
    "PodMonitor": {
        "selector": {"matchLabels": {"app.kubernetes.io/name": str}},
        "podMetricsEndpoints": [{"port": str, "path": str, "interval": str}],
    },
    "PrometheusRule": {
        "groups": [
            {
                "name": str,
                "interval": str,
                "rules": [
                    {
                        "record": str,
                        "alert": str,
                        "expr": str,
                        "for": str,
                        "labels": {"severity": str, "burn": str},
                        "annotations": {"summary": str, "runbook": str},
                    }
                ],
            }
        ]
    },
}


def strays(shape: Any, value: Any, at: str = "spec") -> list[str]:
    """Return what of a value is not in the shape, or of another type."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{at} is no object"]
        return [
            stray
            for key, element in value.items()
            for stray in (strays(shape[key], element, f"{at}.{key}") if key in shape else [f"{at}.{key} is unknown"])
        ]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{at} is no list"]
        return [stray for number, element in enumerate(value) for stray in strays(shape[0], element, f"{at}[{number}]")]
    return [] if type(value) is shape else [f"{at} is no {shape.__name__}"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_custom_resources_have_only_fields_that_their_operators_read(overlay: str) -> None:
    result = [item for item in rendered(overlay) if item["kind"] in CUSTOM]
    assert {
        item["kind"]: strays(CUSTOM[item["kind"]], item["spec"])
        for item in result
        if strays(CUSTOM[item["kind"]], item["spec"])
    } == {}
    core = {"v1", "apps/v1", "batch/v1", "policy/v1", "networking.k8s.io/v1", "autoscaling/v2"}
    assert {item["kind"] for item in rendered(overlay) if item["apiVersion"] not in core} <= set(CUSTOM)


def test_a_misspelt_field_and_a_numeric_threshold_are_seen() -> None:
    spec = copy.deepcopy(of_kind("prod", "ScaledObject")["generator"]["spec"])
    spec["maxReplicas"] = spec.pop("maxReplicaCount")
    spec["triggers"][0]["metadata"]["lagThreshold"] = 10
    assert len(strays(CUSTOM["ScaledObject"], spec)) == 2


def test_every_yaml_file_of_deploy_parses() -> None:
    for file in (ROOT / "deploy").rglob("*.yaml"):
        assert list(yaml.safe_load_all(file.read_text())), file


@pytest.mark.slow
@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.requirement("card.12")
def test_the_strict_schemas_of_kubernetes_accept_the_built_in_kinds(overlay: str, tmp_path: Path) -> None:
    tool = str(Path(sys.executable).parent / "kubernetes-validate")
    file = tmp_path / "rendered.yaml"
    for version in ("1.30", "1.37"):
        file.write_text(rendered_text(overlay))
        done = subprocess.run([tool, "--strict", "-k", version, str(file)], capture_output=True, text=True, check=False)
        assert "ERROR" not in done.stdout + done.stderr
        assert done.returncode == 0, done.stdout + done.stderr
        file.write_text(rendered_text(overlay).replace("periodSeconds: 5", "periodSecond: 5"))
        assert subprocess.run([tool, "--strict", "-k", version, str(file)], capture_output=True, check=False).returncode
